//! What can be said of a policy without knowing any cluster (G502).

use super::remedy::relabel;
use super::{MAX_WEIGHT, Placement, Predicate, Score, ScoreName, Spread, Toleration, TolerationOperator};
use crate::finding::Finding;
use crate::labels::{self, Labels, Term};

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
        let place = format!("/placement/predicates/{at}");
        findings
            .extend(check_predicate(predicate).map(|finding| finding.at(format!("{place}/labelSelector"))));
        findings.extend(check_facts(predicate).map(|finding| finding.at(format!("{place}/fieldSelector"))));
    }
    for (at, score) in placement.score.iter().enumerate() {
        let place = format!("/placement/score/{at}");
        findings.extend(check_score(score).map(|(field, finding)| finding.at(place + field)));
    }
    for (at, spread) in placement.spread.iter().enumerate() {
        let again = placement.spread[..at].iter().any(|other| other.key == spread.key);
        let place = format!("/placement/spread/{at}");
        findings.extend(check_spread(spread, again).map(|(field, finding)| finding.at(place + field)));
    }
    findings.extend(check_minimum(placement));
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

fn check_facts(predicate: &Predicate) -> Option<Finding> {
    predicate.field_selector.is_contradictory().then(|| {
        Finding::warning(
            "G502",
            format!(
                "The selector {} can match no cluster: its terms contradict each other.",
                predicate.field_selector
            ),
            "All terms must hold at once; write fact in (a,b) for one of several values.",
        )
    })
}

fn check_score(score: &Score) -> Option<(&'static str, Finding)> {
    if score.weight.abs() > MAX_WEIGHT {
        let message = format!("A score weighs {}; {MAX_WEIGHT} is the heaviest.", score.weight);
        return Some(("/weight", Finding::error("G502", message, "Use a weight from -10 to 10.")));
    }
    match (score.name, score.selector.is_empty()) {
        (ScoreName::Label, true) => {
            let message = "A score by label names no label, so it would score every cluster.";
            Some(("/selector", Finding::error("G502", message, "Give it a selector such as tier=edge.")))
        }
        (ScoreName::Label, false) | (_, true) => None,
        (name, false) => {
            let message = format!("The score {} has a selector, which it does not look at.", name.name());
            Some((
                "/selector",
                Finding::warning("G502", message, "Leave the selector out, or score by label."),
            ))
        }
    }
}

fn check_spread(spread: &Spread, again: bool) -> Option<(&'static str, Finding)> {
    if !labels::is_key(&spread.key) {
        let message = format!("{:?} is nothing to spread over.", spread.key);
        return Some((
            "/key",
            Finding::error("G502", message, "Use region, zone, provider or the key of a label."),
        ));
    }
    if spread.max_skew == 0 {
        let message = format!("The spread over {} allows no skew, so it could choose nothing.", spread.key);
        return Some(("/maxSkew", Finding::error("G502", message, "Use a skew of 1 or more.")));
    }
    again.then(|| {
        let message = format!("The placement is spread over {} twice.", spread.key);
        ("/key", Finding::error("G502", message, "Keep one of them; the smaller skew is the stricter one."))
    })
}

fn check_minimum(placement: &Placement) -> Option<Finding> {
    let minimum = placement.min_clusters?;
    let number = placement.number_of_clusters.filter(|number| *number > 0 && *number < minimum)?;
    let message = format!("At least {minimum} clusters are asked for and at most {number}.");
    Some(
        Finding::error("G502", message, "Lower the minimum, or ask for more clusters.")
            .at("/placement/minClusters"),
    )
}
