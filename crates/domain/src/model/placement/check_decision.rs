//! Findings on a decision as a whole: an unsatisfied spread (G503), fewer clusters than requested (G504).

use std::collections::BTreeMap;

use super::spread::SpreadCounts;
use super::{ClusterEvaluation, Decision, Placement, PlacementFilter, Spread, saturating_u32};
use crate::kubernetes::id::ClusterId;
use crate::model::cluster::Cluster;
use crate::text::finding::Finding;

/// Checks a decision as a whole; `clusters` are those that it was computed for. Returns no findings for a decision that
/// selects no cluster: G501 reports it.
pub fn check_decision(placement: &Placement, decision: &Decision, clusters: &[Cluster]) -> Vec<Finding> {
    let selected_count = decision.selected().count();
    if selected_count == 0 {
        return Vec::new();
    }
    let by_id: BTreeMap<ClusterId, &Cluster> = clusters.iter().map(|cluster| (cluster.id, cluster)).collect();
    let find = |evaluation: &ClusterEvaluation| by_id.get(&evaluation.cluster).copied();
    let matching: Vec<&Cluster> =
        decision.evaluations.iter().filter(|evaluation| is_matching(evaluation)).filter_map(find).collect();
    let selected: Vec<&Cluster> = decision.selected().filter_map(find).collect();
    let mut findings = Vec::new();
    for (index, spread) in placement.spread.iter().enumerate() {
        let finding = check_spread(spread, &matching, &selected);
        findings.extend(finding.map(|finding| finding.with_path(format!("/placement/spread/{index}"))));
    }
    findings.extend(check_number(placement, matching.len(), selected_count));
    findings.extend(check_minimum(placement, selected_count));
    findings
}

/// Whether it passed every filter on the single cluster.
fn is_matching(evaluation: &ClusterEvaluation) -> bool {
    evaluation
        .filters
        .iter()
        .any(|step| matches!(step.filter, PlacementFilter::Spread | PlacementFilter::Number))
}

fn check_spread(spread: &Spread, matching: &[&Cluster], selected: &[&Cluster]) -> Option<Finding> {
    let key = &spread.key;
    let mut axis = SpreadCounts::new(spread, matching.iter().copied());
    let values = saturating_u32(axis.values.len());
    if let Some(required) = spread.min_groups.filter(|required| values < *required) {
        let found = match values {
            0 => "none".to_owned(),
            _ => format!("{values} ({})", super::remedy::format_list(&axis.values, "and")),
        };
        let message = format!(
            "The placement requires {required} values of {key}; the {} matching clusters have {found}.",
            matching.len(),
        );
        let hint = format!("Match clusters with other values of {key}, or require fewer values.");
        return Some(match spread.is_strict() {
            true => Finding::error("G503", message, hint),
            false => Finding::warning("G503", message, hint),
        });
    }
    if values < 2 {
        let reason = axis.values.first().map_or_else(
            || format!("no matching cluster has a {key}"),
            |value| format!("every matching cluster is in {value}"),
        );
        let message = format!("The spread over {key} has no effect: {reason}.");
        return Some(Finding::warning(
            "G503",
            message,
            format!("Match clusters with other values of {key}, or remove the spread."),
        ));
    }
    for cluster in selected {
        if let Some(position) = axis.position(cluster) {
            axis.add(position);
        }
    }
    let most = axis.counts.iter().max().copied().unwrap_or(0);
    let skew = most - axis.min_count();
    (skew > spread.max_skew).then(|| uneven_finding(&axis, most, skew))
}

/// The skew exceeds the limit: clusters that run the workload are not removed, or no other cluster matches.
fn uneven_finding(axis: &SpreadCounts<'_>, most: u32, skew: u32) -> Finding {
    let value = |count: u32| {
        axis.counts.iter().position(|other| *other == count).map_or("", |index| axis.values[index].as_str())
    };
    let (key, fewest) = (&axis.spread.key, axis.min_count());
    let message = format!(
        "The skew over {key} is {skew}, and at most {} is allowed: {} has {most} clusters and {} has {fewest}.",
        axis.spread.max_skew,
        value(most),
        value(fewest),
    );
    Finding::warning("G503", message, format!("Add clusters to {}, or allow a larger skew.", value(fewest)))
}

/// G504: fewer clusters are selected than requested.
fn check_number(placement: &Placement, matching: usize, selected: usize) -> Option<Finding> {
    let requested = placement.number_of_clusters.filter(|requested| saturating_u32(selected) < *requested)?;
    let (message, hint) = if matching > selected {
        (
            format!(
                "The placement requests {requested} clusters and {matching} match; the spread allows {selected}."
            ),
            "Allow a larger skew, or add clusters to the values that have few.",
        )
    } else {
        (
            format!(
                "The placement requests {requested} clusters and {matching} match. The workload runs on those until more match."
            ),
            "Loosen the placement, or request fewer clusters.",
        )
    };
    Some(Finding::warning("G504", message, hint).with_path("/placement/numberOfClusters"))
}

/// G504: fewer than the minimum.
fn check_minimum(placement: &Placement, selected: usize) -> Option<Finding> {
    let minimum = placement.min_clusters.filter(|minimum| saturating_u32(selected) < *minimum)?;
    let message = format!("The placement requires at least {minimum} clusters and would select {selected}.");
    let hint = "Loosen the placement, or lower the minimum.";
    Some(Finding::error("G504", message, hint).with_path("/placement/minClusters"))
}
