//! What a decision means for what was asked of it: a spread that can't be had (G503), fewer clusters than asked for (G504).

use std::collections::BTreeMap;

use super::spread::Axis;
use super::{Decision, Placement, Spread, Step, Verdict};
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::id::ClusterId;

/// What is to be said of a decision as a whole; `clusters` are those it was made for. Nothing is said of a decision that
/// chose nobody: that is told already (G501).
pub fn outlook(placement: &Placement, decision: &Decision, clusters: &[Cluster]) -> Vec<Finding> {
    let chosen = decision.chosen().count();
    if chosen == 0 {
        return Vec::new();
    }
    let by_id: BTreeMap<ClusterId, &Cluster> = clusters.iter().map(|cluster| (cluster.id, cluster)).collect();
    let find = |verdict: &Verdict| by_id.get(&verdict.cluster).copied();
    let matching: Vec<&Cluster> =
        decision.verdicts.iter().filter(|verdict| matches(verdict)).filter_map(find).collect();
    let taken: Vec<&Cluster> = decision.chosen().filter_map(find).collect();
    let mut findings = Vec::new();
    for (at, spread) in placement.spread.iter().enumerate() {
        let said = check_spread(spread, &matching, &taken);
        findings.extend(said.map(|finding| finding.at(format!("/placement/spread/{at}"))));
    }
    findings.extend(fewer(placement, matching.len(), chosen));
    findings.extend(too_few(placement, chosen));
    findings
}

/// Whether it passed every step that looks at one cluster alone.
fn matches(verdict: &Verdict) -> bool {
    verdict.steps.iter().any(|step| matches!(step.step, Step::Spread | Step::Number))
}

fn check_spread(spread: &Spread, matching: &[&Cluster], taken: &[&Cluster]) -> Option<Finding> {
    let key = &spread.key;
    let mut axis = Axis::new(spread, matching.iter().copied());
    let values = count(axis.values.len());
    if let Some(wanted) = spread.min_groups.filter(|wanted| values < *wanted) {
        let message = format!(
            "You ask for {wanted} values of {key}; the {} matching clusters have {values} ({}).",
            matching.len(),
            super::remedy::listed(&axis.values, "and"),
        );
        let hint = format!("Let clusters of another {key} match, or ask for fewer.");
        return Some(match spread.is_strict() {
            true => Finding::error("G503", message, hint),
            false => Finding::warning("G503", message, hint),
        });
    }
    if values < 2 {
        let where_they_are = axis.values.first().map_or_else(
            || format!("no matching cluster has a {key}"),
            |value| format!("every matching cluster is in {value}"),
        );
        let message = format!("The spread over {key} changes nothing: {where_they_are}.");
        return Some(Finding::warning(
            "G503",
            message,
            format!("Let clusters of another {key} match, or leave it out."),
        ));
    }
    for cluster in taken {
        if let Some(at) = axis.position(cluster) {
            axis.add(at);
        }
    }
    let most = axis.counts.iter().max().copied().unwrap_or(0);
    let skew = most - axis.fewest();
    (skew > spread.max_skew).then(|| uneven(&axis, most, skew))
}

/// The skew is larger than asked for: clusters that have the workload are not sent away, or nobody else matches.
fn uneven(axis: &Axis<'_>, most: u32, skew: u32) -> Finding {
    let value = |count: u32| {
        axis.counts.iter().position(|one| *one == count).map_or("", |at| axis.values[at].as_str())
    };
    let (key, fewest) = (&axis.spread.key, axis.fewest());
    let message = format!(
        "The skew over {key} is {skew}, and {} is asked for: {} has {most} clusters and {} has {fewest}.",
        axis.spread.max_skew,
        value(most),
        value(fewest),
    );
    Finding::warning("G503", message, format!("Add clusters to {}, or allow a larger skew.", value(fewest)))
}

/// G504: fewer clusters are chosen than were asked for.
fn fewer(placement: &Placement, matching: usize, chosen: usize) -> Option<Finding> {
    let wanted = placement.number_of_clusters.filter(|wanted| count(chosen) < *wanted)?;
    let (message, hint) = if matching > chosen {
        (
            format!(
                "{wanted} clusters are asked for and {matching} match; the spread lets {chosen} be chosen."
            ),
            "Allow a larger skew, or add clusters where there are few.",
        )
    } else {
        (
            format!(
                "{wanted} clusters are asked for and {matching} match. It runs on those, and grows when more join."
            ),
            "Loosen the placement, or ask for fewer.",
        )
    };
    Some(Finding::warning("G504", message, hint).at("/placement/numberOfClusters"))
}

/// G504: fewer than the minimum.
fn too_few(placement: &Placement, chosen: usize) -> Option<Finding> {
    let minimum = placement.min_clusters.filter(|minimum| count(chosen) < *minimum)?;
    let message = format!("At least {minimum} clusters are asked for, and {chosen} would be chosen.");
    let hint = "Loosen the placement, or lower the minimum.";
    Some(Finding::error("G504", message, hint).at("/placement/minClusters"))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
