//! Changes labels, taints or schedulability of a cluster.

use domain::cluster::{Cluster, check_labels};
use domain::event::{EventKind, NewEvent};

use super::ClusterEdit;
use crate::hub::CommitEffects;
use crate::workload::check_if_match;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Changes labels, taints or schedulability; every published workload is placed again.
    pub async fn edit_cluster(
        &self,
        actor: &Actor,
        name: &str,
        edit: ClusterEdit,
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
        store::queue::PLACER.mark_all(&mut tx, self.clock().now()).await?;
        let message = format!("Cluster {name} was changed: {}.", describe_changes(&before, &cluster));
        let event =
            NewEvent::new(EventKind::ClusterEdited, &actor.name, message).with_cluster(cluster.id, name);
        self.commit(tx, CommitEffects::with_event_for_placer(event)).await?;
        Ok(cluster)
    }
}

fn apply_edit(cluster: &mut Cluster, edit: ClusterEdit) {
    for (key, value) in edit.labels {
        match value {
            Some(value) => cluster.labels.insert(key, value),
            None => cluster.labels.remove(&key),
        };
    }
    cluster.taints = edit.taints.unwrap_or(std::mem::take(&mut cluster.taints));
    cluster.schedulable = edit.schedulable.unwrap_or(cluster.schedulable);
}

/// The changes as text: `env=prod, -legacy, taints, unschedulable`.
fn describe_changes(before: &Cluster, after: &Cluster) -> String {
    let set = after.labels.iter().filter(|(key, value)| before.labels.get(*key) != Some(value));
    let mut parts: Vec<String> = set.map(|(key, value)| format!("{key}={value}")).collect();
    parts.extend(
        before.labels.keys().filter(|key| !after.labels.contains_key(*key)).map(|key| format!("-{key}")),
    );
    if before.taints != after.taints {
        parts.push("taints".to_owned());
    }
    if before.schedulable != after.schedulable {
        parts.push(if after.schedulable { "schedulable" } else { "unschedulable" }.to_owned());
    }
    parts.join(", ")
}
