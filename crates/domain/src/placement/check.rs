//! What can be said of a policy without knowing any cluster (G502).

use super::remedy::relabel;
use super::{Placement, Predicate, Toleration, TolerationOperator};
use crate::finding::Finding;
use crate::labels::{Labels, Term};

/// Checks the policy's grammar without knowing any cluster (G502). Paths are relative to the workload's spec.
pub fn check(placement: &Placement) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, toleration) in placement.tolerations.iter().enumerate() {
        findings.extend(check_toleration(toleration).map(|finding| {
            let path = format!("/placement/tolerations/{at}{}", finding.path);
            finding.at(path)
        }));
    }
    for (at, predicate) in placement.predicates.iter().enumerate() {
        findings.extend(
            check_predicate(predicate)
                .map(|finding| finding.at(format!("/placement/predicates/{at}/labelSelector"))),
        );
    }
    if placement.number_of_clusters == Some(0) {
        findings.push(
            Finding::error(
                "G502",
                "The placement asks for 0 clusters, so it would choose none.",
                "Ask for at least 1 cluster, or leave the number out to choose every cluster that matches.",
            )
            .at("/placement/numberOfClusters"),
        );
    }
    findings
}

fn check_toleration(toleration: &Toleration) -> Option<Finding> {
    let exists = toleration.operator == TolerationOperator::Exists;
    if exists && !toleration.value.is_empty() {
        let key = &toleration.key;
        return Some(
            Finding::error(
                "G502",
                format!(
                    "The toleration of {key:?} has the operator Exists and the value {:?}.",
                    toleration.value
                ),
                "If the operator is Exists, leave the value empty; to compare the value, use Equal.",
            )
            .at("/value"),
        );
    }
    (toleration.key.is_empty() && !exists).then(|| {
        Finding::error(
            "G502",
            "A toleration without a key tolerates nothing unless its operator is Exists.",
            "Name the taint's key, or use the operator Exists to tolerate every taint.",
        )
        .at("/key")
    })
}

/// A selector such as `env=prod,env=dev` can never match; whoever wrote it meant `env in (prod,dev)`.
fn check_predicate(predicate: &Predicate) -> Option<Finding> {
    let terms: Vec<&Term> = predicate.label_selector.terms.iter().collect();
    relabel(&terms, &Labels::new()).is_none().then(|| {
        Finding::warning(
            "G502",
            format!(
                "The selector {} can match no cluster: its terms contradict each other.",
                predicate.label_selector
            ),
            "All terms must hold at once; write key in (a,b) for one of several values.",
        )
    })
}
