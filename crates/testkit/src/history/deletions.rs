//! I5: nothing is deleted that no record on the cluster lists, by uid, or by name if the record was not written since the object
//! was created or created again: then the object has the label of the release.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, ApiServerChange, History, ListedObject};

/// What is known of the clusters at one position of the history. Every key begins with the cluster.
#[derive(Default)]
struct Clusters<'h> {
    /// The listed objects by release.
    records: BTreeMap<(&'h str, &'h str), &'h [ListedObject]>,
    /// The release whose label an object has, by uid.
    owners: BTreeMap<(&'h str, &'h str), &'h str>,
    /// Names of objects that the run itself deletes.
    by_users: BTreeSet<(&'h str, &'h str)>,
}

pub(super) fn check(history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    let mut clusters = Clusters::default();
    for entry in &history.entries {
        let Action::Cluster { cluster, change } = &entry.action else { continue };
        match change {
            ApiServerChange::RecordWritten { release, objects, .. } => {
                clusters.records.insert((cluster, release), objects);
            }
            ApiServerChange::RecordDeleted { release } => {
                clusters.records.remove(&(&**cluster, &**release));
            }
            ApiServerChange::UserDeletes { name } => {
                clusters.by_users.insert((cluster, name));
            }
            ApiServerChange::ObjectWritten { uid, owner, .. } => {
                clusters.owners.insert((cluster, uid), owner);
            }
            ApiServerChange::ObjectDeleted { uid, name } => {
                // A user's deletion explains one deletion.
                let is_by_user = clusters.by_users.remove(&(&**cluster, &**name));
                if !is_by_user && !clusters.is_listed(cluster, uid, name) {
                    faults.push(format!("{name} ({uid}) on {cluster} was deleted, and no record lists it"));
                }
            }
        }
    }
    faults
}

impl Clusters<'_> {
    fn is_listed(&self, cluster: &str, uid: &str, name: &str) -> bool {
        let owner = self.owners.get(&(cluster, uid));
        self.records.iter().filter(|((at, _), _)| *at == cluster).any(|((_, release), objects)| {
            objects.iter().any(|listed| match &*listed.uid {
                "" => listed.name == name && owner == Some(release),
                listed => listed == uid,
            })
        })
    }
}
