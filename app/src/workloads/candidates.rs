//! What placement needs of a fleet, in a form that is small enough to be sent of ten thousand clusters.

use domain::ClusterId;
use domain::cluster::{Cluster, ClusterFacts, ClusterKind, NodePool, Reach, Taint};
use domain::labels::Labels;
use domain::placement::ClusterGroup;
use domain::quantity::Quantity;
use serde::{Deserialize, Serialize};

/// Clusters and groups on their way to the browser. Fields have no names: there would be ten thousand of each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    rows: Vec<Row>,
    groups: Vec<ClusterGroup>,
}

/// Name, labels, taints; whether it takes new workloads, whether it has this one; reach; facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row(String, Labels, Vec<Taint>, bool, bool, Reach, Facts);

/// Provider, region, zones, version; cores and bytes that pods can have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Facts(String, String, Vec<String>, String, Quantity, Quantity);

/// The fleet as placement asks it.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    /// Every cluster. The ids are only good among themselves: they are not the clusters' own.
    pub clusters: Vec<Cluster>,
    /// Every group.
    pub groups: Vec<ClusterGroup>,
    /// The clusters that have the workload now.
    pub current: Vec<ClusterId>,
}

impl Candidates {
    /// Packs what the hub knows.
    #[cfg(feature = "ssr")]
    pub fn of(clusters: Vec<Cluster>, groups: Vec<ClusterGroup>, current: &[ClusterId]) -> Self {
        let current: std::collections::HashSet<&ClusterId> = current.iter().collect();
        let row = |cluster: Cluster| {
            let facts = cluster.facts;
            let cpu = facts.node_pools.iter().map(|pool| pool.cpu).sum();
            let memory = facts.node_pools.iter().map(|pool| pool.memory).sum();
            let facts =
                Facts(facts.provider, facts.region, facts.zones, facts.kubernetes_version, cpu, memory);
            let is_current = current.contains(&cluster.id);
            Row(
                cluster.name,
                cluster.labels,
                cluster.taints,
                cluster.schedulable,
                is_current,
                cluster.reach,
                facts,
            )
        };
        Self { rows: clusters.into_iter().map(row).collect(), groups }
    }

    /// Unpacks them.
    pub fn fleet(self) -> Fleet {
        let mut fleet = Fleet { groups: self.groups, ..Fleet::default() };
        for (at, row) in (1_u128..).zip(self.rows) {
            let Row(name, labels, taints, schedulable, is_current, reach, facts) = row;
            let Facts(provider, region, zones, kubernetes_version, cpu, memory) = facts;
            let id = ClusterId::from_parts(0, at);
            let pool = NodePool { cpu, memory, ..NodePool::default() };
            let facts = ClusterFacts {
                provider,
                region,
                zones,
                kubernetes_version,
                node_pools: vec![pool],
                ..ClusterFacts::default()
            };
            let cluster = Cluster::new(id, name, ClusterKind::default(), domain::Timestamp::default());
            fleet.clusters.push(Cluster { labels, taints, schedulable, reach, facts, ..cluster });
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
    fn what_is_unpacked_is_decided_as_the_hub_decides() {
        let cluster = |n: u32| {
            let id = ClusterId::from_parts(9, u128::from(100 - n));
            let pool = NodePool { cpu: Quantity::whole(n), ..NodePool::default() };
            let facts =
                ClusterFacts { provider: "aws".into(), node_pools: vec![pool], ..ClusterFacts::default() };
            let made = Cluster::new(id, format!("c-{n}"), ClusterKind::Agent, domain::Timestamp::default());
            Cluster { facts, ..made }
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
        let sent = serde_json::to_string(&Candidates::of(clusters, Vec::new(), &current)).unwrap();
        let fleet = serde_json::from_str::<Candidates>(&sent).unwrap().fleet();
        let browser = decide(&policy, &fleet.clusters, &fleet.groups, &fleet.current);
        let told = |decision: domain::placement::Decision| -> Vec<_> {
            decision
                .verdicts
                .into_iter()
                .map(|verdict| (verdict.name, verdict.chosen, verdict.steps))
                .collect()
        };
        assert_eq!(told(browser), told(hub));
    }
}
