//! Guard rails for rollouts (G511, G512, G513).

use std::collections::HashMap;

use super::{Approver, CountOrPercent, OnFailure, RolloutStrategy, TimeSpan, Wave, assign_waves};
use crate::kubernetes::name;
use crate::model::cluster::Cluster;
use crate::model::placement::ClusterGroup;
use crate::text::finding::Finding;

/// Maximum number of waves of one rollout.
pub const MAX_WAVES: usize = 50;

/// Number of clusters from which G512 warns about updating all of them at once.
const MANY_CLUSTERS: usize = 6;

/// The checks that need no clusters (G511, G512, G513). Paths are relative to the workload's spec.
pub fn check(strategy: &RolloutStrategy) -> Vec<Finding> {
    let mut findings = Vec::new();
    if strategy.waves.len() > MAX_WAVES {
        let message =
            format!("The rollout has {} waves; at most {MAX_WAVES} are allowed.", strategy.waves.len());
        findings.push(g511(message, "Use fewer waves with more clusters each.").with_path("/rollout/waves"));
    }
    for (at, wave) in strategy.waves.iter().enumerate().take(MAX_WAVES) {
        let path = format!("/rollout/waves/{at}");
        let fields = check_wave(wave).into_iter().chain(check_name(&strategy.waves[..at], wave));
        findings.extend(fields.map(|(field, finding)| finding.with_path(format!("{path}/{field}"))));
    }
    findings.extend(check_reachable_waves(&strategy.waves));
    if strategy.waves.is_empty() && !strategy.is_default() {
        let message = "The rollout has settings but no wave, so every cluster would be updated at once.";
        findings.push(g511(message, "Add a wave, or remove the rollout.").with_path("/rollout/waves"));
    }
    if strategy.approver == Approver::AnotherUser && !strategy.waves.iter().any(Wave::requires_approval) {
        let message =
            "The rollout requires the approval of another user, but no wave of it requires an approval.";
        let hint = "Set approval or approvalAfter on a wave, or remove approver.";
        findings.push(g511(message, hint).with_path("/rollout/approver"));
    }
    findings.extend(
        strategy
            .fail_after
            .as_ref()
            .and_then(|span| check_span("failAfter", span))
            .map(|finding| finding.with_path("/rollout/failAfter")),
    );
    findings.extend(strategy.window.iter().flat_map(super::RolloutWindow::check));
    if strategy.on_failure == OnFailure::Continue {
        let message = "The rollout continues whatever number of clusters fails: a broken revision would reach all clusters.";
        let hint = "Pause or roll back on failure, and allow a number of failures per wave (maxFailures).";
        findings.push(Finding::warning("G512", message, hint).with_path("/rollout/onFailure"));
    }
    findings
}

fn g511(message: impl Into<String>, hint: &str) -> Finding {
    Finding::error("G511", message, hint)
}

fn check_name(before: &[Wave], wave: &Wave) -> Option<(&'static str, Finding)> {
    let name = &wave.name;
    let finding = if !name::is_label(name) {
        g511(
            format!("The wave name {name:?} is not valid."),
            "Use up to 63 lower-case letters, digits and dashes, such as canary.",
        )
    } else if before.iter().any(|other| other.name == *name) {
        g511(format!("Two waves have the name {name:?}."), "Give each wave a unique name.")
    } else {
        return None;
    };
    Some(("name", finding))
}

fn check_wave(wave: &Wave) -> Vec<(&'static str, Finding)> {
    let amounts = [
        ("maxClusters", &wave.max_clusters, 1),
        ("maxConcurrency", &wave.max_concurrency, 1),
        ("maxFailures", &wave.max_failures, 0),
        ("maxDeferred", &wave.max_deferred, 0),
    ];
    let mut findings: Vec<(&'static str, Finding)> = amounts
        .into_iter()
        .filter_map(|(field, amount, least)| {
            Some((field, check_amount(wave, field, amount.as_ref()?, least)?))
        })
        .collect();
    findings.extend(wave.soak.as_ref().and_then(|span| Some(("soak", check_span("soak", span)?))));
    if let Some(CountOrPercent::Percent(100)) = &wave.max_failures {
        let message = format!(
            "Every cluster of the wave {:?} may fail without pausing the rollout: a broken revision would reach all clusters.",
            wave.name
        );
        let hint = "Allow fewer failures, such as 0 or 10%.";
        findings.push(("maxFailures", Finding::warning("G512", message, hint)));
    }
    findings
}

fn check_amount(wave: &Wave, field: &str, amount: &CountOrPercent, least: u32) -> Option<Finding> {
    let why = match amount {
        CountOrPercent::Invalid(text) => format!("{text:?} is neither a number nor a percentage"),
        CountOrPercent::Percent(percent) if !(least..=100).contains(percent) => {
            format!("{percent}% is not between {least}% and 100%")
        }
        CountOrPercent::Count(count) if *count < least => format!("{count} would admit no cluster"),
        _ => return None,
    };
    Some(g511(
        format!("{field} of the wave {:?}: {why}.", wave.name),
        "Write a number of clusters such as 3, or a percentage such as 25%.",
    ))
}

fn check_span(field: &str, span: &TimeSpan) -> Option<Finding> {
    span.millis().is_none().then(|| {
        g511(
            format!("{field} is {:?}, which is not a time span.", span.to_string()),
            "Write numbers with units, such as 90s, 10m, 1h30m or 2d; a year at most.",
        )
    })
}

/// G511: a wave after one that contains every remaining cluster.
fn check_reachable_waves(waves: &[Wave]) -> Option<Finding> {
    let rest = waves.iter().position(|wave| wave.target.is_empty() && wave.max_clusters.is_none())?;
    let after = waves.get(rest + 1)?;
    let message = format!(
        "The wave {:?} contains every remaining cluster, so none is left for {:?}.",
        waves[rest].name, after.name
    );
    Some(
        g511(
            message,
            "Give the earlier wave a target or a number of clusters (maxClusters), or move it to the end.",
        )
        .with_path(format!("/rollout/waves/{rest}/target")),
    )
}

/// The checks against the clusters that the placement selects, in the order of the decision (G511, G512).
pub fn check_fleet(strategy: &RolloutStrategy, chosen: &[&Cluster], groups: &[ClusterGroup]) -> Vec<Finding> {
    if chosen.is_empty() || strategy.waves.len() > MAX_WAVES {
        return Vec::new();
    }
    if is_at_once(strategy) {
        return check_at_once(chosen.len()).into_iter().collect();
    }
    let waves = assign_waves(strategy, chosen, groups, &HashMap::new());
    let mut findings = Vec::new();
    let unassigned: Vec<String> = chosen
        .iter()
        .zip(&waves)
        .filter(|(_, wave)| wave.is_none())
        .map(|(cluster, _)| cluster.name.clone())
        .collect();
    if !unassigned.is_empty() {
        let message = "These clusters are in no wave, so they would never get this revision.";
        let hint = "Add a last wave without a target: it contains every remaining cluster.";
        findings.push(g511(message, hint).with_clusters(unassigned).with_path("/rollout/waves"));
    }
    // `check` reports the waves after one that contains every remaining cluster.
    let last = strategy.waves.iter().position(|wave| wave.target.is_empty() && wave.max_clusters.is_none());
    let reachable = last.map_or(strategy.waves.len(), |last| last + 1);
    for (at, wave) in strategy.waves.iter().enumerate().take(reachable) {
        let has_clusters = waves.iter().flatten().any(|one| *one as usize == at);
        if has_clusters {
            continue;
        }
        let is_matching = chosen.iter().any(|cluster| wave.is_matching(cluster, groups));
        let (why, hint) = if is_matching {
            (
                ": earlier waves contain all its clusters",
                "Let earlier waves contain fewer clusters, or remove the wave.",
            )
        } else {
            ("", "Correct its clusters, groups or labels, or remove the wave.")
        };
        let message = format!("The wave {:?} contains none of the selected clusters{why}.", wave.name);
        findings.push(g511(message, hint).with_path(format!("/rollout/waves/{at}/target")));
    }
    findings
}

/// Whether all clusters are updated at once: no wave, or a single one without a limit.
fn is_at_once(strategy: &RolloutStrategy) -> bool {
    match strategy.waves.as_slice() {
        [] => true,
        [only] => only.target.is_empty() && only.max_clusters.is_none() && only.max_concurrency.is_none(),
        _ => false,
    }
}

fn check_at_once(chosen: usize) -> Option<Finding> {
    (chosen >= MANY_CLUSTERS).then(|| {
        let message = format!("All {chosen} clusters would be updated at once.");
        let hint = "Add a first wave with one cluster (a canary).";
        Finding::warning("G512", message, hint).with_path("/rollout/waves")
    })
}
