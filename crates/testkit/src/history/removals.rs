//! I4: while a workload is unpublished, nothing of it that was removed from a cluster is applied there again.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, ApiServerChange, ClientOperation, History, Outcome};

/// The object of a workload that every revision has; others are pruned and created by revisions.
fn is_main_object(workload: &str, name: &str) -> bool {
    workload == name
}

pub(super) fn check(history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    // Unpublishes without a completion yet, by number of the operation.
    let mut open: BTreeMap<u64, &str> = BTreeMap::new();
    let mut unpublished: BTreeSet<&str> = BTreeSet::new();
    // Cluster and name of what was removed since.
    let mut removed: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut by_users: BTreeSet<(&str, &str)> = BTreeSet::new();
    for entry in &history.entries {
        match &entry.action {
            Action::Invoked { id, operation: ClientOperation::Unpublish { workload } } => {
                open.insert(*id, workload);
            }
            Action::Completed { id, outcome: Outcome::Unpublished } => {
                unpublished.extend(open.remove(id));
            }
            Action::Invoked { operation: ClientOperation::Publish { workload, .. }, .. } => {
                unpublished.remove(&**workload);
                removed.retain(|(_, name)| !is_main_object(workload, name));
            }
            Action::Cluster { cluster, change: ApiServerChange::UserDeletes { name } } => {
                by_users.insert((cluster, name));
            }
            Action::Cluster { cluster, change: ApiServerChange::ObjectDeleted { name, .. } } => {
                // The agent may restore what a user deletes before it receives the removal.
                let is_by_user = by_users.remove(&(&**cluster, &**name));
                if !is_by_user && unpublished.contains(&**name) {
                    removed.insert((cluster, name));
                }
            }
            Action::Cluster { cluster, change: ApiServerChange::ObjectWritten { name, .. } }
                if removed.contains(&(&**cluster, &**name)) =>
            {
                faults.push(format!("{name} on {cluster} was applied again while it was unpublished"));
            }
            _ => {}
        }
    }
    faults
}
