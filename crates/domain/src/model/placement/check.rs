//! Checks of a policy that need no clusters (G502).

use super::remedy::find_label_changes;
use super::{
    INVALID_GROUP, MAX_WEIGHT, NewMembers, Placement, Predicate, Score, ScoreName, Spread, Toleration,
    TolerationOperator, check_limits,
};
use crate::kubernetes::labels::{self, LabelTerm, Labels};
use crate::text::finding::{Finding, Severity};

/// Checks the policy itself, without clusters (G502). Paths are relative to the workload's spec.
pub fn check(placement: &Placement) -> Vec<Finding> {
    let mut findings = check_limits(placement);
    if !findings.is_empty() {
        return findings;
    }
    for (at, toleration) in placement.tolerations.iter().enumerate() {
        findings.extend(check_toleration(toleration).map(|finding| {
            let path = format!("/placement/tolerations/{at}{}", finding.path);
            finding.with_path(path)
        }));
    }
    for (at, predicate) in placement.predicates.iter().enumerate() {
        let path = format!("/placement/predicates/{at}");
        let everything = predicate.is_everything().then(|| describe_everything(placement.new_members));
        findings.extend(everything.map(|finding| finding.with_path(&path)));
        findings.extend(
            check_label_selector(predicate).map(|finding| finding.with_path(format!("{path}/labelSelector"))),
        );
        findings.extend(
            check_field_selector(predicate).map(|finding| finding.with_path(format!("{path}/fieldSelector"))),
        );
    }
    for (at, score) in placement.score.iter().enumerate() {
        let path = format!("/placement/score/{at}");
        findings.extend(check_score(score).map(|(field, finding)| finding.with_path(path + field)));
    }
    for (at, spread) in placement.spread.iter().enumerate() {
        let is_duplicate = placement.spread[..at].iter().any(|other| other.key == spread.key);
        let path = format!("/placement/spread/{at}");
        findings.extend(
            check_spread(spread, is_duplicate).map(|(field, finding)| finding.with_path(path + field)),
        );
    }
    findings.extend(check_minimum(placement));
    if placement.number_of_clusters == Some(0) {
        findings.push(
            Finding::error(
                INVALID_GROUP,
                "The placement requests 0 clusters, so it would select none.",
                "Request at least 1 cluster, or omit the number to select every matching cluster.",
            )
            .with_path("/placement/numberOfClusters"),
        );
    }
    findings
}

/// A predicate without conditions is allowed, but may be what is left of a deleted or misspelt selector.
fn describe_everything(new_members: NewMembers) -> Finding {
    let future = match new_members {
        NewMembers::Auto => "also those that register later",
        NewMembers::Manual => "with the next publish also those that register later",
    };
    Finding::new(
        INVALID_GROUP,
        Severity::Note,
        format!("The placement selects every cluster, {future}: a predicate has no condition."),
        "To select some clusters, add names, groups, a label selector or a field selector.",
    )
}

fn check_toleration(toleration: &Toleration) -> Option<Finding> {
    let exists = toleration.operator == TolerationOperator::Exists;
    if exists && !toleration.value.is_empty() {
        let key = &toleration.key;
        return Some(
            Finding::error(
                INVALID_GROUP,
                format!(
                    "The toleration of {key:?} has the operator Exists and the value {:?}.",
                    toleration.value
                ),
                "If the operator is Exists, leave the value empty; to compare the value, use Equal.",
            )
            .with_path("/value"),
        );
    }
    (toleration.key.is_empty() && !exists).then(|| {
        Finding::error(
            INVALID_GROUP,
            "A toleration without a key tolerates nothing unless its operator is Exists.",
            "Name the taint's key, or use the operator Exists to tolerate every taint.",
        )
        .with_path("/key")
    })
}

/// A selector such as `env=prod,env=dev` can never match; `env in (prod,dev)` is probably meant.
fn check_label_selector(predicate: &Predicate) -> Option<Finding> {
    let terms: Vec<&LabelTerm> = predicate.label_selector.terms.iter().collect();
    find_label_changes(&terms, &Labels::new()).is_none().then(|| {
        Finding::warning(
            INVALID_GROUP,
            format!(
                "The selector {} can match no cluster: its terms contradict each other.",
                predicate.label_selector
            ),
            "All terms must match together; write key in (a,b) to match one of several values.",
        )
    })
}

fn check_field_selector(predicate: &Predicate) -> Option<Finding> {
    predicate.field_selector.is_contradictory().then(|| {
        Finding::warning(
            INVALID_GROUP,
            format!(
                "The selector {} can match no cluster: its terms contradict each other.",
                predicate.field_selector
            ),
            "All terms must match together; write fact in (a,b) to match one of several values.",
        )
    })
}

fn check_score(score: &Score) -> Option<(&'static str, Finding)> {
    if score.weight.abs() > MAX_WEIGHT {
        let message = format!("A score has the weight {}; the largest is {MAX_WEIGHT}.", score.weight);
        return Some(("/weight", Finding::error(INVALID_GROUP, message, "Use a weight from -10 to 10.")));
    }
    match (score.name, score.selector.is_empty()) {
        (ScoreName::Label, true) => {
            let message = "The score label has no selector, so it would score every cluster.";
            Some(("/selector", Finding::error(INVALID_GROUP, message, "Add a selector such as tier=edge.")))
        }
        (ScoreName::Label, false) | (_, true) => None,
        (name, false) => {
            let message = format!("The score {} has a selector, which has no effect.", name.as_str());
            Some((
                "/selector",
                Finding::warning(INVALID_GROUP, message, "Remove the selector, or use the score label."),
            ))
        }
    }
}

fn check_spread(spread: &Spread, is_duplicate: bool) -> Option<(&'static str, Finding)> {
    if !labels::is_label_key(&spread.key) {
        let message = format!("{:?} is not a valid key for a spread.", spread.key);
        return Some((
            "/key",
            Finding::error(INVALID_GROUP, message, "Use region, zone, provider or the key of a label."),
        ));
    }
    if spread.max_skew == 0 {
        let message =
            format!("The spread over {} allows no skew, so it could select no cluster.", spread.key);
        return Some(("/maxSkew", Finding::error(INVALID_GROUP, message, "Use a skew of 1 or more.")));
    }
    is_duplicate.then(|| {
        let message = format!("The placement has two spreads over {}.", spread.key);
        (
            "/key",
            Finding::error(INVALID_GROUP, message, "Keep one of them; the smaller skew is the stricter one."),
        )
    })
}

fn check_minimum(placement: &Placement) -> Option<Finding> {
    let minimum = placement.min_clusters?;
    let number = placement.number_of_clusters.filter(|number| *number > 0 && *number < minimum)?;
    let message = format!("The placement requires at least {minimum} clusters and at most {number}.");
    Some(
        Finding::error(INVALID_GROUP, message, "Lower the minimum, or request more clusters.")
            .with_path("/placement/minClusters"),
    )
}
