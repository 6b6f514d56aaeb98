//! Removal notice: the delay before a workload is removed from a cluster that no longer matches (E-6).
//!
//! Labels and taints have many editors, and a mistake must not remove a workload immediately. Restoring the label within
//! the notice period cancels the removal, and a user can retain the workload on the cluster. A publish is an explicit
//! decision and removes without notice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Decision, RemovalWait};
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;

/// The notice period in minutes.
pub const REMOVAL_NOTICE_MINUTES: i64 = 15;
/// The notice period in milliseconds.
const REMOVAL_NOTICE_MILLIS: i64 = REMOVAL_NOTICE_MINUTES * 60_000;

/// A cluster that runs the workload and is no longer selected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PendingRemoval {
    /// The cluster.
    pub cluster: ClusterId,
    /// Its name.
    pub name: String,
    /// The earliest time of the removal.
    pub remove_after: Timestamp,
    /// Whether a publish requested it: then it needs no notice, and no limit withholds it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_requested: bool,
    /// What it waits for, when its time has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<RemovalWait>,
    /// The user who retains the workload there until the next publish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained_by: Option<String>,
}

impl PendingRemoval {
    /// Whether the removal must still wait at this time.
    pub fn is_deferred(&self, now: Timestamp) -> bool {
        self.retained_by.is_some() || self.remove_after > now
    }
}

/// Makes the removals of a decision immediate, because a publish requested them.
pub fn request_removals(decision: &mut Decision, now: Timestamp) {
    for removal in &mut decision.pending_removals {
        (removal.remove_after, removal.is_requested) = (now, true);
    }
}

/// Records in `decision` when each rejected cluster of `current` loses the workload, and who retains it there. The times
/// of the latest decision are carried over; a new entry gets the full notice period from `now`.
pub fn update_pending_removals(
    decision: &mut Decision,
    latest: Option<&Decision>,
    current: &[ClusterId],
    retained: &BTreeMap<ClusterId, String>,
    now: Timestamp,
) {
    let before = latest.map_or(&[][..], |latest| &latest.pending_removals);
    let removal = |evaluation: &super::ClusterEvaluation| {
        let earlier = before.iter().find(|entry| entry.cluster == evaluation.cluster);
        PendingRemoval {
            cluster: evaluation.cluster,
            name: evaluation.name.clone(),
            remove_after: earlier
                .map_or_else(|| now.plus_millis(REMOVAL_NOTICE_MILLIS), |entry| entry.remove_after),
            is_requested: earlier.is_some_and(|entry| entry.is_requested),
            waiting_for: None,
            retained_by: retained.get(&evaluation.cluster).cloned(),
        }
    };
    decision.pending_removals =
        decision.rejected().filter(|evaluation| current.contains(&evaluation.cluster)).map(removal).collect();
}

#[cfg(test)]
mod tests {
    use super::super::ClusterEvaluation;
    use super::*;

    fn decision_on_one_cluster(chosen: bool) -> Decision {
        let evaluation = ClusterEvaluation {
            cluster: ClusterId::from_parts(1, 1),
            name: "eu-1".into(),
            selected: chosen,
            filters: Vec::new(),
        };
        Decision { evaluations: vec![evaluation], ..Decision::default() }
    }

    fn nobody() -> BTreeMap<ClusterId, String> {
        BTreeMap::new()
    }

    fn minutes(minutes: i64) -> Timestamp {
        Timestamp::from_millis(minutes * 60_000)
    }

    #[test]
    fn e_6_the_workload_is_removed_15_minutes_after_its_cluster_first_stopped_matching() {
        let current = [ClusterId::from_parts(1, 1)];
        let mut first = decision_on_one_cluster(false);
        update_pending_removals(&mut first, None, &current, &nobody(), minutes(0));
        assert_eq!(first.pending_removals[0].remove_after, minutes(15));
        let mut later = decision_on_one_cluster(false);
        update_pending_removals(&mut later, Some(&first), &current, &nobody(), minutes(9));
        assert_eq!(later.pending_removals, first.pending_removals);
    }

    #[test]
    fn e_6_a_retained_workload_stays_until_the_next_publish() {
        let current = [ClusterId::from_parts(1, 1)];
        let mut first = decision_on_one_cluster(false);
        update_pending_removals(&mut first, None, &current, &nobody(), minutes(0));
        assert!(
            first.pending_removals[0].is_deferred(minutes(14))
                && !first.pending_removals[0].is_deferred(minutes(15))
        );
        let retained = [(current[0], "ann".to_owned())].into();
        for latest in [Some(&first), None] {
            let mut later = decision_on_one_cluster(false);
            update_pending_removals(&mut later, latest, &current, &retained, minutes(600));
            assert!(later.pending_removals[0].is_deferred(minutes(1200)), "also without the latest decision");
        }
        let mut published = decision_on_one_cluster(false);
        update_pending_removals(&mut published, Some(&first), &current, &nobody(), minutes(600));
        assert!(!published.pending_removals[0].is_deferred(minutes(600)));
    }

    #[test]
    fn e_6_a_cluster_that_matches_again_or_never_ran_the_workload_has_no_pending_removal() {
        let current = [ClusterId::from_parts(1, 1)];
        let mut rejected = decision_on_one_cluster(false);
        update_pending_removals(&mut rejected, None, &current, &nobody(), minutes(0));
        let mut back = decision_on_one_cluster(true);
        update_pending_removals(&mut back, Some(&rejected), &current, &nobody(), minutes(1));
        assert_eq!(back.pending_removals, []);
        let mut never = decision_on_one_cluster(false);
        update_pending_removals(&mut never, None, &[], &nobody(), minutes(0));
        assert_eq!(never.pending_removals, []);
    }
}
