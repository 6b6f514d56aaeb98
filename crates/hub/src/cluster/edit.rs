//! Changes labels, annotations, values, taints, schedulability or owners of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use domain::Finding;
use domain::authorization::UserAction;
use domain::cluster::{Cluster, check_annotations, check_labels, check_taints, check_values};
use domain::event::{ClusterChanges, EventDetail};
use domain::labels::Labels;
use domain::owner::{check_owners, unique_owners};
use domain::request::ClusterPatch;

use super::ClusterChange;
use super::size::check_all_clusters;
use crate::group::check_label_change;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Changes labels, annotations, values, taints, schedulability or owners; every published workload is placed again.
    pub async fn edit_cluster(
        &self,
        actor: &Actor,
        name: &str,
        edit: ClusterPatch,
        if_match: Option<i64>,
    ) -> Result<Cluster, Error> {
        actor.authorize(UserAction::EditCluster)?;
        let mut tx = self.write_as(actor, UserAction::EditCluster).await?;
        if !edit.labels.is_empty() {
            // Labels make it a member of groups: no exclusive one is added or changed until this is stored.
            store::group::lock_changes(&mut tx).await?;
        }
        let mut change = ClusterChange::begin(tx, name, if_match).await?;
        let mut cluster = change.before.clone();
        apply_edit(&mut cluster, edit);
        let findings = check_edit(&mut change.tx, &change.before, &cluster).await?;
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

/// Why a change of a cluster is rejected. For labels the caller that stores them has locked the changes of groups.
pub(super) async fn check_edit(
    tx: &mut store::Tx,
    before: &Cluster,
    after: &Cluster,
) -> Result<Vec<Finding>, Error> {
    // What an earlier version stored stays possible where it is not changed.
    let mut findings = Vec::new();
    if after.labels != before.labels {
        findings.extend(check_labels(&after.labels));
    }
    if after.annotations != before.annotations {
        findings.extend(check_annotations(&after.annotations));
    }
    if after.values != before.values {
        findings.extend(check_values(&after.values));
    }
    if after.owners != before.owners {
        findings.extend(check_owners(&after.owners));
    }
    findings.extend(check_taints(&after.taints));
    findings.extend(check_all_clusters(tx, before, after).await?);
    if after.labels != before.labels {
        findings.extend(check_label_change(tx, before, after).await?);
    }
    Ok(findings)
}

pub(super) fn apply_edit(cluster: &mut Cluster, edit: ClusterPatch) {
    apply_changes(&mut cluster.labels, edit.labels);
    apply_changes(&mut cluster.annotations, edit.annotations);
    if let Some(values) = edit.values {
        cluster.values = values;
    }
    cluster.taints = edit.taints.unwrap_or(std::mem::take(&mut cluster.taints));
    cluster.schedulable = edit.schedulable.unwrap_or(cluster.schedulable);
    if let Some(owners) = edit.owners {
        cluster.owners = unique_owners(&owners);
    }
}

fn apply_changes(current: &mut Labels, changes: BTreeMap<String, Option<String>>) {
    for (key, value) in changes {
        match value {
            Some(value) => current.insert(key, value),
            None => current.remove(&key),
        };
    }
}

fn find_changes(before: &Cluster, after: &Cluster) -> ClusterChanges {
    let is_set = |(key, value): &(&String, &String)| before.labels.get(*key) != Some(*value);
    let set = after.labels.iter().filter(is_set).map(|(key, value)| (key.clone(), value.clone()));
    let keys: BTreeSet<&String> = before.annotations.keys().chain(after.annotations.keys()).collect();
    let is_changed = |key: &&&String| before.annotations.get(**key) != after.annotations.get(**key);
    let removed = before.labels.keys().filter(|key| !after.labels.contains_key(*key));
    ClusterChanges {
        set_labels: set.collect(),
        removed_labels: removed.cloned().collect(),
        annotations: keys.iter().filter(is_changed).map(|key| (*key).clone()).collect(),
        values: before.values != after.values,
        taints: (before.taints != after.taints).then(|| after.taints.clone()),
        schedulable: (before.schedulable != after.schedulable).then_some(after.schedulable),
        owners: before.owners != after.owners,
        more: 0,
    }
}
