//! I2: the applied generation of a release never decreases, neither on its cluster nor in the database.

use std::collections::BTreeMap;

use super::{Action, ApiServerChange, DatabaseChange, History};

pub(super) fn check(history: &History) -> Vec<String> {
    let mut faults = cluster_faults(history);
    faults.extend(database_faults(history));
    faults
}

fn cluster_faults(history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    let mut newest: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for entry in &history.entries {
        let Action::Cluster { cluster, change } = &entry.action else { continue };
        match change {
            ApiServerChange::RecordWritten { release, generation, .. } => {
                let before = newest.insert((cluster, release), *generation).unwrap_or(*generation);
                if before > *generation {
                    faults.push(format!(
                        "the record of {release} on {cluster} went from generation {before} to {generation}"
                    ));
                }
            }
            ApiServerChange::RecordDeleted { release } => drop(newest.remove(&(&**cluster, &**release))),
            _ => {}
        }
    }
    faults
}

fn database_faults(history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    let (mut generations, mut revisions) = (BTreeMap::new(), BTreeMap::new());
    for change in &history.database {
        let (what, release, number, newest) = match change {
            DatabaseChange::GenerationWritten { release, generation } => {
                ("generation", release, *generation, &mut generations)
            }
            DatabaseChange::DesiredWritten { release, revision, .. } => {
                ("desired revision", release, *revision, &mut revisions)
            }
            _ => continue,
        };
        let before = newest.insert(release, number).unwrap_or(number);
        if before > number {
            faults.push(format!("the {what} of {release} in the database went from {before} to {number}"));
        }
    }
    faults
}
