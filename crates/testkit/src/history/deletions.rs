//! I5: nothing is deleted that no record on the cluster lists by uid.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, ClusterChange, History};

pub(super) fn check(history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    let mut records: BTreeMap<(&str, &str), &[String]> = BTreeMap::new();
    let mut by_users: BTreeSet<(&str, &str)> = BTreeSet::new();
    for entry in &history.entries {
        let Action::Cluster { cluster, change } = &entry.action else { continue };
        match change {
            ClusterChange::RecordWritten { release, uids, .. } => {
                records.insert((cluster, release), uids);
            }
            ClusterChange::RecordDeleted { release } => {
                records.remove(&(&**cluster, &**release));
            }
            ClusterChange::UserDeletes { name } => {
                by_users.insert((cluster, name));
            }
            ClusterChange::ObjectWritten { .. } => {}
            ClusterChange::ObjectDeleted { uid, name } => {
                let is_listed = records.iter().any(|((at, _), uids)| at == cluster && uids.contains(uid));
                // A user's deletion explains one deletion.
                let is_by_user = by_users.remove(&(&**cluster, &**name));
                if !is_listed && !is_by_user {
                    faults.push(format!("{name} ({uid}) on {cluster} was deleted, and no record lists it"));
                }
            }
        }
    }
    faults
}
