//! Changes labels, taints or schedulability of a cluster.

use domain::cluster::{Cluster, check_labels};
use domain::event::{ClusterChanges, EventDetail, EventSubject, NewEvent};
use domain::request::ClusterPatch;

use crate::hub::CommitEffects;
use crate::workload::check_if_match;
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
        let mut tx = self.write().await?;
        let found = store::cluster::get_by_name(&mut tx, name).await?;
        let mut cluster = found.ok_or_else(|| Error::not_found("cluster", name))?;
        check_if_match(cluster.revision, if_match)?;
        let before = cluster.clone();
        apply_edit(&mut cluster, edit);
        let findings = check_labels(&cluster.labels);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        if cluster == before {
            return Ok(cluster);
        }
        cluster.revision += 1;
        if !store::cluster::update(&mut tx, &cluster, before.revision).await? {
            return Err(Error::RevisionConflict { current: cluster.revision });
        }
        let now = self.clock().now();
        store::queue::PLACER.mark_all(&mut tx, now).await?;
        let detail = EventDetail::ClusterChanges(find_changes(&before, &cluster));
        let subject = EventSubject::cluster(cluster.id, name);
        let event = NewEvent::from_detail(detail, &actor.name, subject, now);
        self.commit(tx, CommitEffects::with_event_for_placer(event)).await?;
        Ok(cluster)
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
