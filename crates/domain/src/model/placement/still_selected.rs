//! Whether a cluster that runs a workload is still selected, without evaluating the whole fleet where that is not needed.

use super::{ClusterGroup, Placement, decide};
use crate::kubernetes::id::ClusterId;
use crate::model::cluster::Cluster;

/// Whether `clusters[at]`, one of the clusters `current` that run the workload, is selected.
///
/// A sticky policy ranks `current` before all others, and a spread does not remove them: only filters of the cluster itself
/// can reject it, unless more clusters run the workload than the policy allows.
pub fn is_still_selected(
    placement: &Placement,
    (clusters, at): (&[Cluster], usize),
    groups: &[ClusterGroup],
    current: &[ClusterId],
) -> bool {
    let is_limited = placement.number_of_clusters.is_some_and(|most| (most as usize) < current.len());
    let evaluated = if placement.sticky && !is_limited { &clusters[at..=at] } else { clusters };
    let id = clusters[at].id;
    decide(placement, evaluated, groups, current).selected().any(|one| one.cluster == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::time::Timestamp;
    use crate::model::cluster::{ClusterKind, Taint, TaintEffect};
    use crate::model::placement::Predicate;

    fn cluster(number: u64, env: &str) -> Cluster {
        let name = format!("c{number}");
        Cluster {
            labels: [("env".to_owned(), env.to_owned())].into(),
            ..Cluster::new(
                ClusterId::from_parts(number, 1),
                name,
                ClusterKind::Agent,
                Timestamp::from_millis(0),
            )
        }
    }

    #[test]
    fn e_6_a_cluster_stays_selected_as_the_evaluation_of_the_whole_fleet_says() {
        let taint = |effect| Taint { key: "gpu".into(), value: String::new(), effect };
        let mut clusters =
            vec![cluster(1, "prod"), cluster(2, "dev"), cluster(3, "prod"), cluster(4, "prod")];
        clusters[2].taints = vec![taint(TaintEffect::NoSelect)];
        clusters[3].taints = vec![taint(TaintEffect::NoSelectIfNew)];
        clusters[3].schedulable = false;
        let current: Vec<ClusterId> = clusters.iter().map(|cluster| cluster.id).collect();
        let prod = Predicate { label_selector: "env=prod".parse().unwrap(), ..Predicate::default() };
        for sticky in [true, false] {
            for number_of_clusters in [None, Some(1), Some(4)] {
                let policy = Placement {
                    predicates: vec![prod.clone()],
                    sticky,
                    number_of_clusters,
                    ..Placement::default()
                };
                let whole = decide(&policy, &clusters, &[], &current);
                for at in 0..clusters.len() {
                    let expected = whole.selected().any(|one| one.cluster == clusters[at].id);
                    let found = is_still_selected(&policy, (&clusters, at), &[], &current);
                    assert_eq!(found, expected, "{} {sticky} {number_of_clusters:?}", clusters[at].name);
                }
            }
        }
    }
}
