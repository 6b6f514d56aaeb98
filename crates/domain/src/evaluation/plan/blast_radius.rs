//! Blast radius: how many clusters would lose a workload, and when a user has to confirm it (G505, E-6).

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::kubernetes::id::ClusterId;
use crate::model::placement::Decision;
use crate::text::finding::Finding;
use crate::text::name_list::join_first;

/// Share of the clusters that a publish may remove a workload from without confirmation, in percent.
const UNCONFIRMED_PERCENT: usize = 20;
/// Most names of clusters that a message lists.
const MAX_NAMED_CLUSTERS: usize = 5;

/// Most clusters that one automatic pass may remove a workload from: one, or a tenth of those that run it.
pub const fn removal_limit(current: usize) -> usize {
    let tenth = current / 10;
    if tenth > 1 { tenth } else { 1 }
}

/// The clusters that a publish removes a workload from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BlastRadius {
    /// Names of the clusters that lose it, sorted.
    pub losing: Vec<String>,
    /// Number of clusters that run it now.
    pub current: u32,
    /// As many of the selected clusters have to run it before another loses it (P28).
    pub min_available: u32,
}

impl BlastRadius {
    /// The rejected clusters among those that run the workload.
    pub fn from_decision(decision: &Decision, current: &HashSet<ClusterId>) -> Self {
        let lost = decision.rejected().filter(|evaluation| current.contains(&evaluation.cluster));
        let mut losing: Vec<String> = lost.map(|evaluation| evaluation.name.clone()).collect();
        losing.sort();
        Self { losing, current: u32::try_from(current.len()).unwrap_or(u32::MAX), min_available: 0 }
    }

    /// How the removals are carried out, as a sentence.
    fn order(&self) -> String {
        let at_a_time = removal_limit(self.current as usize);
        let clusters = |n: usize| format!("{n} cluster{}", if n == 1 { "" } else { "s" });
        match self.min_available as usize {
            0 => format!("They lose it {} at a time.", clusters(at_a_time)),
            least => format!(
                "They lose it {} at a time, and only while {} run it.",
                clusters(at_a_time),
                clusters(least)
            ),
        }
    }

    /// The number that has to be confirmed before the publish; `None` if it is within the limit.
    ///
    /// The limit is a fifth of the clusters that run the workload, but at least one cluster. Removal from the only one, or
    /// from all, always needs confirmation.
    pub fn confirmation(&self) -> Option<u32> {
        let (losing, current) = (self.losing.len(), self.current as usize);
        let is_within_limit = losing * 100 <= current * UNCONFIRMED_PERCENT || (losing == 1 && current > 1);
        (losing > 0 && !is_within_limit).then(|| u32::try_from(losing).unwrap_or(u32::MAX))
    }

    /// G505, if any cluster loses it: a warning with the number to confirm.
    pub fn finding(&self, workload: &str) -> Option<Finding> {
        let losing = self.losing.len();
        if losing == 0 {
            return None;
        }
        let message = format!(
            "Publishing removes {workload} from {losing} of the {} clusters that run it: {}. {}",
            self.current,
            join_first(&self.losing, MAX_NAMED_CLUSTERS),
            self.order()
        );
        let hint = match self.confirmation() {
            Some(number) => format!("Type {number} to confirm, or select these clusters again."),
            None => "If this is not intended, select these clusters again.".to_owned(),
        };
        Some(Finding::warning("G505", message, hint).with_clusters(self.losing.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radius(losing: usize, current: u32) -> BlastRadius {
        BlastRadius { losing: (0..losing).map(|n| format!("edge-{n}")).collect(), current, min_available: 3 }
    }

    #[test]
    fn g505_more_than_a_fifth_of_the_clusters_needs_confirmation() {
        assert_eq!(radius(0, 12).confirmation(), None);
        assert_eq!(radius(2, 12).confirmation(), None);
        assert_eq!(radius(3, 12).confirmation(), Some(3));
        assert_eq!(radius(9, 12).confirmation(), Some(9));
    }

    #[test]
    fn g505_one_of_a_few_clusters_is_within_the_limit_and_the_last_one_is_not() {
        assert_eq!(radius(1, 3).confirmation(), None);
        assert_eq!(radius(1, 1).confirmation(), Some(1));
        assert_eq!(radius(2, 2).confirmation(), Some(2));
    }

    #[test]
    fn g505_lists_the_number_the_clusters_and_what_to_type() {
        let finding = radius(9, 12).finding("web").unwrap();
        assert!(finding.message.contains("web from 9 of the 12 clusters"), "{}", finding.message);
        assert!(
            finding.message.contains("edge-0") && finding.message.contains("4 more"),
            "{}",
            finding.message
        );
        let order = "They lose it 1 cluster at a time, and only while 3 clusters run it.";
        assert!(finding.message.ends_with(order), "{}", finding.message);
        assert!(finding.hint.contains("Type 9"), "{}", finding.hint);
        assert_eq!(radius(0, 12).finding("web"), None);
    }

    #[test]
    fn an_automatic_pass_may_remove_one_cluster_or_a_tenth() {
        assert_eq!([1, 5, 19, 20, 100].map(removal_limit), [1, 1, 1, 2, 10]);
    }
}
