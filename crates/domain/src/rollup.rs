//! Roll-up: counts per state, never one word that lies (`health.md` C.5, S1-19).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::release::State;

/// How many releases are in each state. States without a release are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Counts(pub BTreeMap<State, u32>);

impl Counts {
    /// The count of one state.
    pub fn of(&self, state: State) -> u32 {
        self.0.get(&state).copied().unwrap_or(0)
    }

    /// Adds `n` releases in `state`.
    pub fn add(&mut self, state: State, n: u32) {
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

    /// Releases that run or should run: all but those that are gone.
    pub fn targeted(&self) -> u32 {
        self.total() - self.gone()
    }

    /// Releases that are operational.
    pub fn healthy(&self) -> u32 {
        self.of(State::Healthy)
    }

    /// Releases that need somebody to look.
    pub fn failing(&self) -> u32 {
        self.sum(State::is_failing)
    }

    /// Releases on their way somewhere.
    pub fn moving(&self) -> u32 {
        self.sum(State::is_moving)
    }

    /// Releases that are no longer on their cluster.
    pub fn gone(&self) -> u32 {
        self.sum(State::is_gone)
    }

    /// The worst state present: for sorting and for the one icon that fits into a row.
    pub fn worst(&self) -> Option<State> {
        self.0.keys().max().copied()
    }

    /// States with their counts, worst first.
    pub fn worst_first(&self) -> impl Iterator<Item = (State, u32)> + '_ {
        self.0.iter().rev().map(|(state, n)| (*state, *n))
    }

    fn sum(&self, wanted: impl Fn(State) -> bool) -> u32 {
        self.0.iter().filter(|(state, _)| wanted(**state)).map(|(_, n)| n).sum()
    }
}

impl FromIterator<State> for Counts {
    fn from_iter<I: IntoIterator<Item = State>>(states: I) -> Self {
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
    fn s1_19_a_workload_is_told_by_counts_and_sorted_by_its_worst() {
        let counts: Counts =
            [State::Healthy, State::Healthy, State::Degraded, State::Unknown].into_iter().collect();
        assert_eq!((counts.total(), counts.healthy(), counts.failing()), (4, 2, 1));
        assert_eq!(counts.worst(), Some(State::Degraded));
        assert_eq!(serde_json::to_string(&counts).unwrap(), r#"{"Healthy":2,"Unknown":1,"Degraded":1}"#);
    }
}
