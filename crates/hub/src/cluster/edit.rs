//! Changes labels, taints or schedulability of a cluster; every published workload is placed anew.

use domain::cluster::{Cluster, check_labels};
use domain::event::{EventKind, NewEvent};

use super::ClusterEdit;
use crate::hub::Done;
use crate::workload::check_match;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Changes labels, taints or schedulability; every published workload is placed anew.
    pub async fn cluster_edit(
        &self,
        actor: &Actor,
        name: &str,
        edit: ClusterEdit,
        if_match: Option<i64>,
    ) -> Result<Cluster, Error> {
        let mut tx = self.write().await?;
        let found = store::cluster::by_name(&mut tx, name).await?;
        let mut cluster = found.ok_or_else(|| Error::not_found("cluster", name))?;
        check_match(cluster.revision, if_match)?;
        let before = cluster.clone();
        apply(&mut cluster, edit);
        let findings = check_labels(&cluster.labels);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        if cluster == before {
            return Ok(cluster);
        }
        cluster.revision += 1;
        if !store::cluster::update(&mut tx, &cluster, before.revision).await? {
            return Err(Error::Changed { current: cluster.revision });
        }
        store::queue::PLACER.mark_everything(&mut tx, self.clock().now()).await?;
        let message = format!("Cluster {name} was changed: {}.", changes(&before, &cluster));
        let event = NewEvent::new(EventKind::ClusterEdited, &actor.name, message).cluster(cluster.id, name);
        self.commit(tx, Done::dirty_with(event)).await?;
        Ok(cluster)
    }
}

fn apply(cluster: &mut Cluster, edit: ClusterEdit) {
    for (key, value) in edit.labels {
        match value {
            Some(value) => cluster.labels.insert(key, value),
            None => cluster.labels.remove(&key),
        };
    }
    cluster.taints = edit.taints.unwrap_or(std::mem::take(&mut cluster.taints));
    cluster.schedulable = edit.schedulable.unwrap_or(cluster.schedulable);
}

/// What changed, in words: `env=prod, -legacy, taints, unschedulable`.
fn changes(before: &Cluster, after: &Cluster) -> String {
    let set = after.labels.iter().filter(|(key, value)| before.labels.get(*key) != Some(value));
    let mut words: Vec<String> = set.map(|(key, value)| format!("{key}={value}")).collect();
    words.extend(
        before.labels.keys().filter(|key| !after.labels.contains_key(*key)).map(|key| format!("-{key}")),
    );
    if before.taints != after.taints {
        words.push("taints".to_owned());
    }
    if before.schedulable != after.schedulable {
        words.push(if after.schedulable { "schedulable" } else { "unschedulable" }.to_owned());
    }
    words.join(", ")
}
