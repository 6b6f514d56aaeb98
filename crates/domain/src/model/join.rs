//! Joining of clusters: join tokens, registrations that wait for acceptance, conditions of a cluster.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::id::{ClusterId, JoinTokenId};
use crate::kubernetes::labels::Labels;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{Cluster, ClusterFacts, ClusterKind, Connectivity};
use crate::model::condition::ConditionStatus;

mod agent;
mod api_server;
mod facts_confirmed;
mod onboarding;
mod token;

pub use agent::{
    CertificateState, CertificateValidity, ClusterAgent, ClusterCertificate, certificate_renewal_at,
    evaluate_cluster_agent,
};
pub use onboarding::{
    Onboarding, OnboardingRecords, OnboardingStage, OnboardingStageName, OnboardingState, evaluate_onboarding,
};
pub use token::{
    DEFAULT_TOKEN_MINUTES, JoinToken, JoinTokenState, MAX_TOKEN_MINUTES, MAX_TOKEN_USES, NewJoinToken,
};

/// The state of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum RegistrationState {
    /// It waits for a user's decision.
    Pending,
    /// It was accepted.
    Accepted,
    /// A user rejected it, or its cluster's certificates were revoked.
    Rejected,
}

impl RegistrationState {
    /// The name stored in the database, the same as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The registration request of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// The requested cluster name.
    pub name: String,
    /// SHA-256 of its public key, in hex; a user compares it with the one that the agent prints.
    pub fingerprint: String,
    /// Its state.
    pub state: RegistrationState,
    /// The join token that it used.
    pub token: JoinTokenId,
    /// Labels that the cluster will have.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::kubernetes::labels::LabelMap))]
    pub labels: Labels,
    /// Facts that it reported about its cluster, without the list of kinds.
    #[serde(default)]
    pub facts: ClusterFacts,
    /// When it was requested.
    pub requested_at: Timestamp,
    /// The resulting cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// Who accepted or rejected it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

/// The type of a cluster condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ClusterConditionType {
    /// A user accepted it, or a token with automatic acceptance.
    Accepted,
    /// Its agent has connected and its certificate is valid.
    Joined,
    /// The hub receives its heartbeats.
    Reachable,
    /// Its API server responds to its agent.
    ApiServerReachable,
    /// Its facts are reported, and a node is schedulable.
    Healthy,
    /// The facts that it reports are those that placement uses.
    FactsConfirmed,
    /// The schema of the kinds of its API server is known. Only a cluster of which it is not known has this condition.
    KindsKnown,
}

impl ClusterConditionType {
    /// The displayed name.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One condition of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterCondition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ClusterConditionType,
    /// Whether the condition holds, as far as it is known.
    pub status: ConditionStatus,
    /// CamelCase reason, for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// What a user can do about it; empty while the condition holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// Since when, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl ClusterCondition {
    /// Whether the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }
}

/// When and how a cluster joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JoinStatus {
    /// Who accepted it.
    pub accepted_by: String,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// When its agent connected for the first time.
    pub joined_at: Option<Timestamp>,
    /// The version that its agent reported.
    pub agent_version: String,
    /// When its certificates were revoked, if they are.
    pub revoked_at: Option<Timestamp>,
}

/// The conditions of a cluster, in the order in which they become true.
pub fn cluster_conditions(cluster: &Cluster, joining: Option<&JoinStatus>) -> Vec<ClusterCondition> {
    let mut all = match joining {
        Some(joining) => vec![accepted_condition(joining), joined_condition(joining)],
        None if cluster.kind == ClusterKind::Agent => Vec::new(),
        None => vec![served_condition(cluster)],
    };
    all.push(reachable_condition(cluster));
    all.push(api_server::condition(cluster));
    all.push(healthy_condition(cluster));
    all.push(facts_confirmed::condition(cluster));
    for condition in &mut all {
        condition.hint = if condition.is_true() { String::new() } else { hint_for(condition, cluster) };
    }
    all
}

/// What a user can do about a condition that does not hold, by its reason.
fn hint_for(condition: &ClusterCondition, cluster: &Cluster) -> String {
    let name = &cluster.name;
    match (condition.kind, &*condition.reason) {
        (ClusterConditionType::Accepted | ClusterConditionType::Joined, "Revoked") => {
            format!(
                "Generate new manifests with flotilla cluster install-manifest {name}, apply them, then accept it again."
            )
        }
        (ClusterConditionType::Joined, _) => {
            "Check the agent's log: kubectl -n flotilla-agent logs deployment/flotilla-agent.".to_owned()
        }
        (ClusterConditionType::Reachable, _) if cluster.kind == ClusterKind::Agent => {
            "Check whether its agent runs and can reach this server: kubectl -n flotilla-agent logs \
             deployment/flotilla-agent. It applies what was published meanwhile once it is connected."
                .to_owned()
        }
        (ClusterConditionType::Reachable, _) => {
            "Check whether the server can reach its API server with the kubeconfig.".to_owned()
        }
        (ClusterConditionType::ApiServerReachable, reason) => api_server::hint(reason).to_owned(),
        (ClusterConditionType::Healthy | ClusterConditionType::FactsConfirmed, "NotReported") => {
            "No action is needed: its agent reports once it is connected.".to_owned()
        }
        (ClusterConditionType::Healthy, "Offline" | "ApiServerUnreachable") => {
            "Restore its connection first.".to_owned()
        }
        // Its reason has a hint of its own.
        (ClusterConditionType::KindsKnown, _) => condition.hint.clone(),
        (ClusterConditionType::FactsConfirmed, _) => {
            format!("Only if they are right, confirm them: flotilla cluster confirm-facts {name}.")
        }
        (ClusterConditionType::Healthy, _) => "Check its nodes: kubectl get nodes.".to_owned(),
        (ClusterConditionType::Accepted, _) => format!("Accept it: flotilla cluster accept {name}."),
    }
}

/// The condition of a cluster of whose kinds the schema is not known.
pub fn kinds_unknown(
    status: ConditionStatus,
    reason: &str,
    message: String,
    hint: String,
) -> ClusterCondition {
    ClusterCondition { hint, ..new_condition(ClusterConditionType::KindsKnown, status, reason, message) }
}

fn new_condition(
    kind: ClusterConditionType,
    status: impl Into<ConditionStatus>,
    reason: &str,
    message: String,
) -> ClusterCondition {
    ClusterCondition {
        kind,
        status: status.into(),
        reason: reason.to_owned(),
        message,
        hint: String::new(),
        since: None,
    }
}

fn reachable_condition(cluster: &Cluster) -> ClusterCondition {
    let status = cluster.connectivity == Connectivity::Online;
    let since = if status { None } else { cluster.last_seen };
    let lease = cluster.lease_seconds;
    let message = match (status, since) {
        (true, _) => format!("Its heartbeats arrive within its lease of {lease} s."),
        (false, Some(_)) => format!("Its last heartbeat is older than its lease of {lease} s."),
        (false, None) => "It has not sent a heartbeat yet.".to_owned(),
    };
    let reachable =
        new_condition(ClusterConditionType::Reachable, status, cluster.connectivity.as_str(), message);
    ClusterCondition { since, ..reachable }
}

fn healthy_condition(cluster: &Cluster) -> ClusterCondition {
    let healthy = |status: Option<bool>, reason, message| {
        new_condition(ClusterConditionType::Healthy, status, reason, message)
    };
    let facts = &cluster.facts;
    if !facts.is_reported() {
        return healthy(None, "NotReported", "Its agent has not reported its facts yet.".to_owned());
    }
    if cluster.api_server_outage.is_some() {
        let message = "Its health is unknown while its API server does not respond.";
        return healthy(None, "ApiServerUnreachable", message.to_owned());
    }
    if cluster.connectivity == Connectivity::Offline {
        return healthy(None, "Offline", "Its health is unknown while it is offline.".to_owned());
    }
    let (nodes, ready) =
        facts.node_pools.iter().fold((0, 0), |(nodes, ready), pool| (nodes + pool.nodes, ready + pool.ready));
    match (facts.nodes, ready) {
        (None, _) => healthy(
            Some(true),
            "ApiServerReachable",
            "Its API server responds; its agent may not list its nodes.".to_owned(),
        ),
        (Some(0), _) => healthy(Some(false), "NoNodes", "It has no nodes.".to_owned()),
        (Some(_), 0) => {
            healthy(Some(false), "NoSchedulableNodes", format!("None of its {nodes} nodes is schedulable."))
        }
        (Some(_), _) => {
            healthy(Some(true), "NodesSchedulable", format!("{ready} of {nodes} nodes are schedulable."))
        }
    }
}

fn accepted_condition(joining: &JoinStatus) -> ClusterCondition {
    let revoked = joining.revoked_at.is_some();
    let message = if revoked {
        "Its certificates were revoked: it must register again.".to_owned()
    } else {
        format!("Accepted by {}.", joining.accepted_by)
    };
    ClusterCondition {
        kind: ClusterConditionType::Accepted,
        status: ConditionStatus::from(!revoked),
        reason: if revoked { "Revoked" } else { "Accepted" }.to_owned(),
        message,
        hint: String::new(),
        since: joining.revoked_at.or(Some(joining.accepted_at)),
    }
}

fn joined_condition(joining: &JoinStatus) -> ClusterCondition {
    let status = joining.joined_at.is_some() && joining.revoked_at.is_none();
    let (reason, message) = match joining.joined_at {
        _ if joining.revoked_at.is_some() => ("Revoked", "Its agent is no longer admitted.".to_owned()),
        Some(_) => ("AgentConnected", format!("Its agent has version {}.", joining.agent_version)),
        None => ("Waiting", "Its agent has not connected yet.".to_owned()),
    };
    ClusterCondition {
        since: joining.joined_at,
        ..new_condition(ClusterConditionType::Joined, status, reason, message)
    }
}

fn served_condition(cluster: &Cluster) -> ClusterCondition {
    ClusterCondition {
        kind: ClusterConditionType::Accepted,
        status: ConditionStatus::True,
        reason: "ServedByServer".to_owned(),
        message: "It is served by the agent inside the server.".to_owned(),
        hint: String::new(),
        since: Some(cluster.created_at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_that_does_not_hold_says_what_to_do() {
        use ConditionStatus::{False, True, Unknown};
        let mut cluster =
            Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0));
        let summary =
            |cluster: &Cluster, joining: &JoinStatus| -> Vec<(&'static str, ConditionStatus, String)> {
                let all = cluster_conditions(cluster, Some(joining));
                assert!(all.iter().all(|one| one.is_true() == one.hint.is_empty()), "{all:?}");
                all.into_iter().map(|one| (one.kind.as_str(), one.status, one.reason)).collect()
            };
        let mut joining = JoinStatus { accepted_by: "ana".to_owned(), ..JoinStatus::default() };
        let expected = |name: &'static str, status, reason: &str| (name, status, reason.to_owned());
        assert_eq!(
            summary(&cluster, &joining),
            [
                expected("Accepted", True, "Accepted"),
                expected("Joined", False, "Waiting"),
                expected("Reachable", False, "Offline"),
                expected("ApiServerReachable", Unknown, "Offline"),
                expected("Healthy", Unknown, "NotReported"),
                expected("FactsConfirmed", Unknown, "NotReported")
            ]
        );
        joining.joined_at = Some(Timestamp::from_millis(5));
        cluster.connectivity = Connectivity::Online;
        cluster.facts.kubernetes_version = "v1.36.3".to_owned();
        cluster.facts.nodes = Some(2);
        cluster.facts.node_pools = vec![crate::model::cluster::NodePool { nodes: 2, ..Default::default() }];
        assert_eq!(summary(&cluster, &joining)[4], expected("Healthy", False, "NoSchedulableNodes"));
        cluster.facts.node_pools[0].ready = 1;
        assert!(summary(&cluster, &joining).iter().all(|(_, status, _)| *status == True));
        cluster.lease_seconds = 40;
        let message = |cluster: &Cluster| cluster_conditions(cluster, None)[0].message.clone();
        assert_eq!(message(&cluster), "Its heartbeats arrive within its lease of 40 s.");
        cluster.connectivity = Connectivity::Offline;
        assert_eq!(message(&cluster), "It has not sent a heartbeat yet.");
        cluster.last_seen = Some(Timestamp::from_millis(7));
        assert_eq!(message(&cluster), "Its last heartbeat is older than its lease of 40 s.");
        cluster.last_seen = None;
        assert_eq!(
            summary(&cluster, &joining)[2..],
            [
                expected("Reachable", False, "Offline"),
                expected("ApiServerReachable", Unknown, "Offline"),
                expected("Healthy", Unknown, "Offline"),
                expected("FactsConfirmed", True, "RoutineChange")
            ]
        );
        joining.revoked_at = Some(Timestamp::from_millis(9));
        assert_eq!(summary(&cluster, &joining)[0], expected("Accepted", False, "Revoked"));
    }
}
