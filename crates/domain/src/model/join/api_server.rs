//! The condition that the API server of a cluster responds to its agent: not a matter of connectivity, because agent and hub
//! are up.

use super::{ClusterCondition, ClusterConditionType, new_condition};
use crate::model::cluster::{Cluster, Connectivity};

/// Whether the API server of a cluster responds to its agent.
pub(super) fn condition(cluster: &Cluster) -> ClusterCondition {
    let condition = |status: Option<bool>, reason, message: String| {
        new_condition(ClusterConditionType::ApiServerReachable, status, reason, message)
    };
    match (&cluster.api_server_outage, cluster.connectivity) {
        (Some(outage), _) => {
            let message = format!("Its agent gets no response from its API server: {}", outage.message);
            ClusterCondition {
                since: Some(outage.since),
                ..condition(Some(false), "ApiServerUnreachable", message)
            }
        }
        (None, Connectivity::Online) => {
            condition(Some(true), "ApiServerResponds", "Its API server responds to its agent.".to_owned())
        }
        (None, reach) => condition(None, reach.as_str(), "Its agent does not report.".to_owned()),
    }
}

/// What a user can do about it, by the reason of the condition.
pub(super) fn hint(reason: &str) -> &'static str {
    match reason {
        "ApiServerUnreachable" => {
            "Check its API server and the network between it and the agent; what was published is applied once it responds."
        }
        _ => "Restore its connection first.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::ClusterId;
    use crate::kubernetes::time::Timestamp;
    use crate::model::cluster::{ApiServerOutage, ClusterKind};
    use crate::model::condition::ConditionStatus;
    use crate::model::join::cluster_conditions;

    #[test]
    fn a_cluster_whose_api_server_is_down_is_reachable_and_neither_healthy_nor_unhealthy() {
        let created = Timestamp::from_millis(0);
        let mut cluster = Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, created);
        cluster.connectivity = Connectivity::Online;
        cluster.facts.kubernetes_version = "v1.36.3".to_owned();
        let since = Timestamp::from_millis(6);
        cluster.api_server_outage = Some(ApiServerOutage { since, message: "connection refused".to_owned() });
        let all = cluster_conditions(&cluster, None);
        let found: Vec<_> = all.iter().map(|one| (one.kind, one.status)).collect();
        assert_eq!(
            found,
            [
                (ClusterConditionType::Reachable, ConditionStatus::True),
                (ClusterConditionType::ApiServerReachable, ConditionStatus::False),
                (ClusterConditionType::Healthy, ConditionStatus::Unknown),
                (ClusterConditionType::FactsConfirmed, ConditionStatus::True),
            ]
        );
        assert_eq!(all[1].since, Some(since));
        assert!(all[1].message.contains("connection refused") && !all[1].hint.is_empty());
    }
}
