//! The data of a fleet that placement needs, compact enough to be sent for ten thousand clusters.

use domain::ClusterId;
use domain::cluster::{Cluster, ClusterFacts, ClusterKind, ConfirmedFacts, Connectivity, NodePool, Taint};
use domain::labels::Labels;
use domain::placement::ClusterGroup;
use domain::quantity::Quantity;
use serde::{Deserialize, Serialize};

/// Clusters and groups as they are sent to the browser. Rows are serialized as arrays: field names would be repeated for each
/// of ten thousand clusters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    rows: Vec<CandidateRow>,
    groups: Vec<ClusterGroup>,
}

/// Name, labels, taints; whether it is schedulable, whether it has this workload; connectivity; confirmed facts,
/// and reported facts if they differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CandidateRow(
    String,
    Labels,
    Vec<Taint>,
    bool,
    bool,
    Connectivity,
    CandidateFacts,
    Option<CandidateFacts>,
);

/// Provider, region, zones, Kubernetes version; allocatable CPU and memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CandidateFacts(String, String, Vec<String>, String, Quantity, Quantity);

impl From<ConfirmedFacts> for CandidateFacts {
    fn from(facts: ConfirmedFacts) -> Self {
        let ConfirmedFacts { provider, region, zones, kubernetes_version, cpu, memory } = facts;
        Self(provider, region, zones, kubernetes_version, cpu, memory)
    }
}

impl From<CandidateFacts> for ConfirmedFacts {
    fn from(facts: CandidateFacts) -> Self {
        let CandidateFacts(provider, region, zones, kubernetes_version, cpu, memory) = facts;
        Self { provider, region, zones, kubernetes_version, cpu, memory }
    }
}

impl CandidateFacts {
    /// As a cluster reports them.
    fn into_reported(self) -> ClusterFacts {
        let Self(provider, region, zones, kubernetes_version, cpu, memory) = self;
        let node_pools = vec![NodePool { cpu, memory, ..NodePool::default() }];
        ClusterFacts { provider, region, zones, kubernetes_version, node_pools, ..ClusterFacts::default() }
    }
}

/// The fleet as input of placement.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    /// Every cluster. The ids identify clusters only within this value; they are not the stored ids.
    pub clusters: Vec<Cluster>,
    /// Every group.
    pub groups: Vec<ClusterGroup>,
    /// The clusters that have the workload now, by the ids of `clusters`.
    pub current: Vec<ClusterId>,
}

impl Candidates {
    /// Packs the hub's clusters and groups.
    #[cfg(feature = "ssr")]
    pub fn new(clusters: Vec<Cluster>, groups: Vec<ClusterGroup>, current: &[ClusterId]) -> Self {
        let current: std::collections::HashSet<&ClusterId> = current.iter().collect();
        let row = |cluster: Cluster| {
            let reported = ConfirmedFacts::from_reported(&cluster.facts);
            let differs = reported != cluster.confirmed_facts;
            let is_current = current.contains(&cluster.id);
            CandidateRow(
                cluster.name,
                cluster.labels,
                cluster.taints,
                cluster.schedulable,
                is_current,
                cluster.connectivity,
                CandidateFacts::from(cluster.confirmed_facts),
                differs.then(|| CandidateFacts::from(reported)),
            )
        };
        Self { rows: clusters.into_iter().map(row).collect(), groups }
    }

    /// Unpacks the fleet.
    pub fn into_fleet(self) -> Fleet {
        let mut fleet = Fleet { groups: self.groups, ..Fleet::default() };
        for (at, row) in (1_u128..).zip(self.rows) {
            let CandidateRow(name, labels, taints, schedulable, is_current, reach, confirmed, reported) = row;
            let id = ClusterId::from_parts(0, at);
            let facts = reported.unwrap_or_else(|| confirmed.clone()).into_reported();
            let cluster = Cluster::new(id, name, ClusterKind::default(), domain::Timestamp::default());
            fleet.clusters.push(Cluster {
                labels,
                taints,
                schedulable,
                connectivity: reach,
                facts,
                confirmed_facts: confirmed.into(),
                ..cluster
            });
            if is_current {
                fleet.current.push(id);
            }
        }
        fleet
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::placement::{Placement, Predicate, Score, ScoreName, decide};

    use super::*;

    #[test]
    fn a_decision_on_unpacked_candidates_equals_the_hub_s() {
        let cluster = |n: u32| {
            let id = ClusterId::from_parts(9, u128::from(100 - n));
            let pool = NodePool { cpu: Quantity::from_units(n), ..NodePool::default() };
            let facts =
                ClusterFacts { provider: "aws".into(), node_pools: vec![pool], ..ClusterFacts::default() };
            let made = Cluster::new(id, format!("c-{n}"), ClusterKind::Agent, domain::Timestamp::default());
            // Half of them report facts that are not confirmed.
            let confirmed_facts = if n.is_multiple_of(2) {
                ConfirmedFacts::default()
            } else {
                ConfirmedFacts::from_reported(&facts)
            };
            Cluster { facts, confirmed_facts, ..made }
        };
        let clusters: Vec<Cluster> = (1..6).map(cluster).collect();
        let policy = Placement {
            predicates: vec![Predicate {
                field_selector: "provider=aws".parse().unwrap(),
                ..Predicate::default()
            }],
            score: vec![Score { name: ScoreName::AllocatableCpu, weight: 1, ..Score::default() }],
            number_of_clusters: Some(2),
            ..Placement::default()
        };
        let current = [clusters[0].id];
        let hub = decide(&policy, &clusters, &[], &current);
        let sent = serde_json::to_string(&Candidates::new(clusters, Vec::new(), &current)).unwrap();
        let fleet = serde_json::from_str::<Candidates>(&sent).unwrap().into_fleet();
        let browser = decide(&policy, &fleet.clusters, &fleet.groups, &fleet.current);
        let evaluate = |decision: domain::placement::Decision| -> Vec<_> {
            decision
                .evaluations
                .into_iter()
                .map(|evaluation| (evaluation.name, evaluation.selected, evaluation.filters))
                .collect()
        };
        assert_eq!(evaluate(browser), evaluate(hub));
    }
}
