//! Deletes a cluster.

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::release::Release;

use super::load_cluster;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Deletes a cluster that has no workload. With `force`, also one that still has workloads or is unreachable: what runs
    /// there is left running, and its agent is disconnected. If the cluster joins again, it removes what was there before.
    pub async fn delete_cluster(&self, actor: &Actor, name: &str, force: bool) -> Result<(), Error> {
        actor.authorize(UserAction::RemoveCluster)?;
        let mut tx = self.write_as(actor, UserAction::RemoveCluster).await?;
        let cluster = load_cluster(&mut tx, name).await?;
        // Its deletion deletes its registrations, which an acceptance locks before the heartbeat.
        store::registration::lock_by_cluster(&mut tx, cluster.id).await?;
        // In the order of the reports of its agent: the heartbeat, then the releases.
        store::cluster::get_report_position(&mut tx, cluster.id).await?;
        let releases = store::release::list_all_by_cluster(&mut tx, cluster.id).await?;
        let is_left = |(release, _): &&(Release, String)| !release.last_known_state().is_gone();
        let remaining = releases.iter().filter(is_left).count();
        if remaining > 0 && !force {
            let s = if remaining == 1 { "" } else { "s" };
            let why = format!(
                "Cluster {name} still has {remaining} workload{s}: remove them first, or delete the cluster with force; what \
                 runs there is then left running until it joins again."
            );
            return Err(Error::FailedPrecondition(ActionUnavailable(why)));
        }
        let now = self.clock().now();
        for (release, workload) in &releases {
            if let Some(tombstone) = release.to_tombstone((workload, name), &actor.name, now) {
                store::tombstone::insert(&mut tx, &tombstone).await?;
            }
        }
        let workloads = store::release::delete_by_cluster(&mut tx, cluster.id).await?;
        if workloads.len() != releases.len() {
            let why =
                format!("A workload was placed on cluster {name} in the meantime. Repeat the deletion.");
            return Err(Error::FailedPrecondition(ActionUnavailable(why)));
        }
        if !store::cluster::delete(&mut tx, cluster.id).await? {
            // Another deletion of it was committed while this one waited for its heartbeat.
            return Err(Error::not_found("cluster", name));
        }
        store::queue::PLACER.mark_all(&mut tx, now).await?;
        store::queue::PLACER.mark(&mut tx, &workloads, now).await?;
        store::queue::INCIDENTS.mark(&mut tx, &workloads, now).await?;
        let detail = EventDetail::ClusterDeleted { orphaned: u32::try_from(remaining).unwrap_or(u32::MAX) };
        let subject = EventSubject::cluster(cluster.id, name);
        let event = NewEvent::from_detail(detail, &actor.name, subject, now);
        let effects = CommitEffects {
            events: vec![event],
            changed_clusters: vec![cluster.id],
            wake_placer: true,
            ..CommitEffects::default()
        };
        self.commit(tx, effects.with_empty_response(actor, 204)).await
    }
}
