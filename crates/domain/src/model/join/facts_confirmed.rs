//! The condition `FactsConfirmed`: whether placement uses the facts that a cluster reports.

use super::{ClusterCondition, ClusterConditionType, new_condition};
use crate::model::cluster::{Cluster, format_pending_facts};

/// The condition of this cluster.
pub(super) fn condition(cluster: &Cluster) -> ClusterCondition {
    let condition = |status: Option<bool>, reason, message| {
        new_condition(ClusterConditionType::FactsConfirmed, status, reason, message)
    };
    if !cluster.facts.is_reported() {
        return condition(None, "NotReported", "Its agent has not reported its facts yet.".to_owned());
    }
    let pending = cluster.pending_facts();
    if pending.is_empty() {
        return condition(Some(true), "Confirmed", "Placement uses the facts that it reports.".to_owned());
    }
    let message =
        format!("It reports {}. Placement uses the confirmed facts.", format_pending_facts(&pending));
    if pending.iter().all(|one| one.routine) {
        return condition(Some(true), "RoutineChange", message);
    }
    condition(Some(false), "Pending", message)
}
