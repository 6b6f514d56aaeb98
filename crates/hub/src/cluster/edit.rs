//! Changes labels, taints or schedulability of a cluster.

use domain::cluster::{Cluster, check_labels};
use domain::event::{ClusterChanges, EventDetail};
use domain::request::ClusterPatch;

use super::ClusterChange;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Changes labels, taints or schedulability; every published workload is placed again.
    pub async fn edit_cluster(
        &self,
        actor: &Actor,
        name: &str,
        edit: ClusterPatch,
        if_match: Option<i64>,
    ) -> Result<Cluster, Error> {
        let change = ClusterChange::begin(self, name, if_match).await?;
        let mut cluster = change.before.clone();
        apply_edit(&mut cluster, edit);
        let findings = check_labels(&cluster.labels);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        if cluster == change.before {
            return Ok(cluster);
        }
        let detail = EventDetail::ClusterChanges(find_changes(&change.before, &cluster));
        change.commit(self, actor, cluster, detail).await
    }
}

fn apply_edit(cluster: &mut Cluster, edit: ClusterPatch) {
    for (key, value) in edit.labels {
        match value {
            Some(value) => cluster.labels.insert(key, value),
            None => cluster.labels.remove(&key),
        };
    }
    cluster.taints = edit.taints.unwrap_or(std::mem::take(&mut cluster.taints));
    cluster.schedulable = edit.schedulable.unwrap_or(cluster.schedulable);
}

fn find_changes(before: &Cluster, after: &Cluster) -> ClusterChanges {
    let is_set = |(key, value): &(&String, &String)| before.labels.get(*key) != Some(*value);
    let set = after.labels.iter().filter(is_set).map(|(key, value)| (key.clone(), value.clone()));
    let removed = before.labels.keys().filter(|key| !after.labels.contains_key(*key));
    ClusterChanges {
        set_labels: set.collect(),
        removed_labels: removed.cloned().collect(),
        taints: (before.taints != after.taints).then(|| after.taints.clone()),
        schedulable: (before.schedulable != after.schedulable).then_some(after.schedulable),
    }
}
