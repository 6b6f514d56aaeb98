//! I6: a status that is shown was reported. A release that was never delivered to its cluster is removed without a report.

use std::collections::BTreeMap;

use super::{
    Action, ApiServerChange, ClientOperation, History, Outcome, SentReport, ShownRelease, completions,
};

pub(super) fn check(history: &History) -> Vec<String> {
    let (completions, sent, delivered) = (completions(history), reports(history), deliveries(history));
    let mut faults = Vec::new();
    for entry in &history.entries {
        let Action::Invoked { id, operation: ClientOperation::ReadReleases { workload } } = &entry.action
        else {
            continue;
        };
        let Some((completed, Outcome::Releases(releases))) = completions.get(id) else { continue };
        for shown in releases {
            let all = sent.get(&(&*shown.cluster, &*shown.release)).map(Vec::as_slice).unwrap_or_default();
            let before = &all[..all.partition_point(|(position, _)| position < completed)];
            let delivery = delivered.get(&(&*shown.cluster, &*shown.release));
            if shown.state == "Removed" && delivery.is_none_or(|position| position > completed) {
                continue;
            }
            let fault = shown_fault(shown, before);
            faults.extend(fault.map(|fault| format!("{workload} on {}: {fault}", shown.cluster)));
        }
    }
    faults
}

/// The reports of each cluster about each release, with their positions.
fn reports(history: &History) -> BTreeMap<(&str, &str), Vec<(usize, &SentReport)>> {
    let mut reports: BTreeMap<(&str, &str), Vec<(usize, &SentReport)>> = BTreeMap::new();
    for (position, entry) in history.entries.iter().enumerate() {
        if let Action::ReportSent(report) = &entry.action {
            reports.entry((&report.cluster, &report.release)).or_default().push((position, report));
        }
    }
    reports
}

/// The position of the first record of each release on each cluster, which an agent writes before the first object.
fn deliveries(history: &History) -> BTreeMap<(&str, &str), usize> {
    let mut deliveries = BTreeMap::new();
    for (position, entry) in history.entries.iter().enumerate() {
        if let Action::Cluster { cluster, change: ApiServerChange::RecordWritten { release, .. } } =
            &entry.action
        {
            deliveries.entry((&**cluster, &**release)).or_insert(position);
        }
    }
    deliveries
}

/// What is shown although no report that was sent before says so. The other states are the hub's own, such as `Pending`.
fn shown_fault(shown: &ShownRelease, before: &[(usize, &SentReport)]) -> Option<String> {
    let is_reported =
        |matches: &dyn Fn(&SentReport) -> bool| before.iter().any(|(_, report)| matches(report));
    if shown.applied.is_some() && !is_reported(&|report| report.applied == shown.applied) {
        return Some(format!("the bundle {:?} is shown as applied, and no report says so", shown.applied));
    }
    if shown.state == "Healthy" {
        let says_healthy = |report: &SentReport| {
            report.generation == shown.generation
                && report.applied == shown.applied
                && (&*report.sync, &*report.health) == ("Synced", "Healthy")
        };
        return (!is_reported(&says_healthy))
            .then(|| format!("generation {} is shown as Healthy, and no report says so", shown.generation));
    }
    if matches!(&*shown.state, "Removed" | "Orphaned") {
        return (!is_reported(&|report| report.removed))
            .then(|| format!("it is shown as {}, and no report says so", shown.state));
    }
    let is_own = matches!(&*shown.health, "" | "Unknown");
    (!is_own && !is_reported(&|report| report.health == shown.health))
        .then(|| format!("its health is shown as {}, and no report says so", shown.health))
}
