//! Roll-up: counts per state instead of a single state for many releases (S1-19).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::release::ReleaseState;

/// How many releases are in each state. States without a release are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct ReleaseCounts(pub BTreeMap<ReleaseState, u32>);

impl ReleaseCounts {
    /// The count of one state.
    pub fn count(&self, state: ReleaseState) -> u32 {
        self.0.get(&state).copied().unwrap_or(0)
    }

    /// Adds `n` releases in `state`.
    pub fn add(&mut self, state: ReleaseState, n: u32) {
        if n > 0 {
            *self.0.entry(state).or_default() += n;
        }
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (state, n) in &other.0 {
            self.add(*state, *n);
        }
    }

    /// All releases.
    pub fn total(&self) -> u32 {
        self.0.values().sum()
    }

    /// Releases that run or should run: all but those that are removed.
    pub fn targeted(&self) -> u32 {
        self.total() - self.gone()
    }

    /// Releases that are operational.
    pub fn healthy(&self) -> u32 {
        self.count(ReleaseState::Healthy)
    }

    /// Releases that need attention.
    pub fn failing(&self) -> u32 {
        self.sum_where(ReleaseState::is_failing)
    }

    /// Releases in transition to another state.
    pub fn in_progress(&self) -> u32 {
        self.sum_where(ReleaseState::is_in_transition)
    }

    /// Releases that are no longer on their cluster.
    pub fn gone(&self) -> u32 {
        self.sum_where(ReleaseState::is_gone)
    }

    /// The worst state present, for sorting and for the icon of a row.
    pub fn worst(&self) -> Option<ReleaseState> {
        self.0.keys().max().copied()
    }

    /// States with their counts, worst first.
    pub fn iter_by_severity(&self) -> impl Iterator<Item = (ReleaseState, u32)> + '_ {
        self.0.iter().rev().map(|(state, n)| (*state, *n))
    }

    fn sum_where(&self, matches: impl Fn(ReleaseState) -> bool) -> u32 {
        self.0.iter().filter(|(state, _)| matches(**state)).map(|(_, n)| n).sum()
    }
}

impl FromIterator<ReleaseState> for ReleaseCounts {
    fn from_iter<I: IntoIterator<Item = ReleaseState>>(states: I) -> Self {
        let mut counts = Self::default();
        for state in states {
            counts.add(state, 1);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_19_a_workload_is_summarized_by_counts_and_sorted_by_its_worst_state() {
        let counts: ReleaseCounts =
            [ReleaseState::Healthy, ReleaseState::Healthy, ReleaseState::Degraded, ReleaseState::Unknown]
                .into_iter()
                .collect();
        assert_eq!((counts.total(), counts.healthy(), counts.failing()), (4, 2, 1));
        assert_eq!(counts.worst(), Some(ReleaseState::Degraded));
        assert_eq!(serde_json::to_string(&counts).unwrap(), r#"{"Healthy":2,"Unknown":1,"Degraded":1}"#);
    }
}
