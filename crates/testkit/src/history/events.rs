//! I7: every change of a state has an event.

use std::collections::BTreeMap;

use super::{DatabaseChange, History, revision_reads};

pub(super) fn check(history: &History) -> Vec<String> {
    let mut faults = publish_faults(history);
    faults.extend(state_faults(history));
    faults
}

/// Every revision has exactly one event.
fn publish_faults(history: &History) -> Vec<String> {
    let mut events: BTreeMap<(&str, u32), u32> = BTreeMap::new();
    for change in &history.database {
        if let DatabaseChange::EventWritten { workload, published: Some(revision), .. } = change {
            *events.entry((workload, *revision)).or_default() += 1;
        }
    }
    let mut revisions = BTreeMap::new();
    for read in revision_reads(history) {
        revisions.extend(read.revisions.iter().map(|shown| ((read.workload, shown.number), ())));
    }
    let counts = revisions.into_keys().map(|key| (key, events.get(&key).copied().unwrap_or_default()));
    counts
        .filter(|(_, count)| *count != 1)
        .map(|((workload, revision), count)| {
            format!("revision {revision} of {workload} has {count} events, and should have one")
        })
        .collect()
}

/// Between a change of a release's state and the next one there is an event about the release, its workload or its cluster:
/// events are written at the end of the transaction that they describe.
fn state_faults(history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    // The last change of each release that no event follows yet.
    let mut open: BTreeMap<&str, (&str, &str, String)> = BTreeMap::new();
    for change in &history.database {
        match change {
            DatabaseChange::StateChanged { release, workload, cluster, from, to } => {
                let text = format!("{workload} on {cluster} went from {from:?} to {to:?} without an event");
                faults.extend(open.insert(release, (workload, cluster, text)).map(|(_, _, text)| text));
            }
            DatabaseChange::EventWritten { workload, cluster, release, .. } => {
                open.retain(|id, (of, on, _)| {
                    let is_about_release = *id == release;
                    let is_about_workload = *of == workload && (cluster.is_empty() || *on == cluster);
                    let is_about_cluster = workload.is_empty() && *on == cluster;
                    !(is_about_release || is_about_workload || is_about_cluster)
                });
            }
            _ => {}
        }
    }
    faults.extend(open.into_values().map(|(_, _, text)| text));
    faults
}
