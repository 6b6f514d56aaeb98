//! What the guard rails say of a rollout (G511, G512, G513).

use std::collections::HashMap;

use super::{Amount, RolloutStrategy, Span, Wave, assign};
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::name;
use crate::placement::ClusterGroup;

/// Most waves of one rollout.
pub const MAX_WAVES: usize = 50;

/// From so many clusters on, updating all of them at once is remarkable.
const MANY_CLUSTERS: usize = 6;

/// Checks what can be said without knowing any cluster (G511, G512, G513). Paths are relative to the workload's spec.
pub fn check(strategy: &RolloutStrategy) -> Vec<Finding> {
    let mut findings = Vec::new();
    if strategy.waves.len() > MAX_WAVES {
        let message = format!("The rollout has {} waves; {MAX_WAVES} are taken.", strategy.waves.len());
        findings.push(error(message, "Let a wave take more clusters.").at("/rollout/waves"));
    }
    for (at, wave) in strategy.waves.iter().enumerate().take(MAX_WAVES) {
        let place = format!("/rollout/waves/{at}");
        let told = check_wave(wave).into_iter().chain(check_name(&strategy.waves[..at], wave));
        findings.extend(told.map(|(field, finding)| finding.at(format!("{place}/{field}"))));
    }
    findings.extend(after_the_rest(&strategy.waves));
    if strategy.waves.is_empty() && !strategy.is_default() {
        let message = "The rollout says when, but has no wave: every cluster would be updated at once.";
        findings.push(error(message, "Add a wave, or take the rollout away.").at("/rollout/waves"));
    }
    findings.extend(
        strategy
            .fail_after
            .as_ref()
            .and_then(|span| bad_span("failAfter", span))
            .map(|finding| finding.at("/rollout/failAfter")),
    );
    findings.extend(strategy.window.iter().flat_map(super::Window::check));
    findings
}

fn error(message: impl Into<String>, hint: &str) -> Finding {
    Finding::error("G511", message, hint)
}

fn check_name(before: &[Wave], wave: &Wave) -> Option<(&'static str, Finding)> {
    let name = &wave.name;
    let finding = if !name::is_label(name) {
        error(
            format!("A wave is called {name:?}, which is no name."),
            "Use up to 63 small letters, digits and dashes, such as canary.",
        )
    } else if before.iter().any(|other| other.name == *name) {
        error(format!("Two waves are called {name:?}."), "Give each wave a name of its own.")
    } else {
        return None;
    };
    Some(("name", finding))
}

fn check_wave(wave: &Wave) -> Vec<(&'static str, Finding)> {
    let amounts = [
        ("take", &wave.take, 1),
        ("maxConcurrency", &wave.max_concurrency, 1),
        ("maxFailures", &wave.max_failures, 0),
    ];
    let mut findings: Vec<(&'static str, Finding)> = amounts
        .into_iter()
        .filter_map(|(field, amount, least)| Some((field, bad_amount(wave, field, amount.as_ref()?, least)?)))
        .collect();
    findings.extend(wave.soak.as_ref().and_then(|span| Some(("soak", bad_span("soak", span)?))));
    if let Some(Amount::Percent(100)) = &wave.max_failures {
        let message = format!(
            "Every cluster of the wave {:?} may fail without the rollout stopping: a bad revision goes everywhere.",
            wave.name
        );
        let hint = "Allow fewer failures, such as 0 or 10%.";
        findings.push(("maxFailures", Finding::warning("G512", message, hint)));
    }
    findings
}

fn bad_amount(wave: &Wave, field: &str, amount: &Amount, least: u32) -> Option<Finding> {
    let why = match amount {
        Amount::Unclear(text) => format!("{text:?} is neither a number nor a percentage"),
        Amount::Percent(percent) if !(least..=100).contains(percent) => {
            format!("{percent}% is not between {least}% and 100%")
        }
        Amount::Count(count) if *count < least => format!("{count} would let no cluster through"),
        _ => return None,
    };
    Some(error(
        format!("{field} of the wave {:?}: {why}.", wave.name),
        "Write a number of clusters such as 3, or a percentage such as 25%.",
    ))
}

fn bad_span(field: &str, span: &Span) -> Option<Finding> {
    span.millis().is_none().then(|| {
        error(
            format!("{field} is {:?}, which is no time span.", span.to_string()),
            "Write numbers with units, such as 90s, 10m, 1h30m or 2d; a year at most.",
        )
    })
}

/// A wave after one that takes every cluster that is left.
fn after_the_rest(waves: &[Wave]) -> Option<Finding> {
    let rest = waves.iter().position(|wave| wave.target.is_empty() && wave.take.is_none())?;
    let after = waves.get(rest + 1)?;
    let message = format!(
        "The wave {:?} takes every cluster that is left, so none is left for {:?}.",
        waves[rest].name, after.name
    );
    Some(
        error(
            message,
            "Say which clusters the earlier wave is for, or how many it takes; or move it to the end.",
        )
        .at(format!("/rollout/waves/{rest}/target")),
    )
}

/// Checks the waves against the clusters that the placement chooses, in the order of the decision (G511, G512).
pub fn check_fleet(strategy: &RolloutStrategy, chosen: &[&Cluster], groups: &[ClusterGroup]) -> Vec<Finding> {
    if chosen.is_empty() || strategy.waves.len() > MAX_WAVES {
        return Vec::new();
    }
    if all_at_once(strategy) {
        return at_once(chosen.len()).into_iter().collect();
    }
    let waves = assign(strategy, chosen, groups, &HashMap::new());
    let mut findings = Vec::new();
    let left: Vec<String> = chosen
        .iter()
        .zip(&waves)
        .filter(|(_, wave)| wave.is_none())
        .map(|(cluster, _)| cluster.name.clone())
        .collect();
    if !left.is_empty() {
        let message = "These clusters are in no wave, so they would never get this revision.";
        let hint = "Add a last wave without a target: it takes every cluster that is left.";
        findings.push(error(message, hint).on(left).at("/rollout/waves"));
    }
    // What comes after a wave that takes all the rest is said without the clusters already.
    let last = strategy.waves.iter().position(|wave| wave.target.is_empty() && wave.take.is_none());
    let told = last.map_or(strategy.waves.len(), |last| last + 1);
    for (at, wave) in strategy.waves.iter().enumerate().take(told) {
        let has = waves.iter().flatten().any(|one| *one as usize == at);
        if has {
            continue;
        }
        let taken = chosen.iter().any(|cluster| wave.is_for(cluster, groups));
        let (why, hint) = if taken {
            (
                ": earlier waves have all its clusters",
                "Take clusters from the waves before it, or take it away.",
            )
        } else {
            ("", "Correct its clusters, groups or labels, or take it away.")
        };
        let message = format!("The wave {:?} has none of the chosen clusters{why}.", wave.name);
        findings.push(error(message, hint).at(format!("/rollout/waves/{at}/target")));
    }
    findings
}

/// Whether nothing is tried before it goes everywhere: no wave, or one that lets everything through.
fn all_at_once(strategy: &RolloutStrategy) -> bool {
    match strategy.waves.as_slice() {
        [] => true,
        [only] => only.target.is_empty() && only.take.is_none() && only.max_concurrency.is_none(),
        _ => false,
    }
}

fn at_once(chosen: usize) -> Option<Finding> {
    (chosen >= MANY_CLUSTERS).then(|| {
        let message = format!("All {chosen} clusters would be updated at once.");
        let hint = "Add a wave that tries it on one cluster first.";
        Finding::warning("G512", message, hint).at("/rollout/waves")
    })
}
