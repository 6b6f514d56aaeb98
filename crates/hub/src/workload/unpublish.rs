//! Unpublishes a workload: removes it from every cluster; the draft and its history stay.

use domain::actions;
use domain::cluster::Connectivity;
use domain::event::{EventKind, NewEvent};
use domain::request::RemovalOptions;
use domain::workload::{Intent, Workload};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

/// The options of a removal and its event.
pub(super) struct RemovalRequest {
    pub options: RemovalOptions,
    pub event: NewEvent,
}

impl Hub {
    /// Removes it from every cluster; the draft stays.
    pub async fn unpublish_workload(
        &self,
        actor: &Actor,
        name: &str,
        removal: RemovalOptions,
    ) -> Result<Workload, Error> {
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        if !(removal.force && workload.intent == Intent::Unpublished) {
            actions::check_unpublish(&workload)?;
        }
        workload.intent = Intent::Unpublished;
        let event =
            NewEvent::new(EventKind::WorkloadUnpublished, &actor.name, format!("{name} was unpublished."))
                .with_workload(workload.id, name);
        self.remove_everywhere(tx, actor, workload, RemovalRequest { options: removal, event }).await
    }

    /// Stores the intent and starts the removal of every release in one transaction: after a crash the placer finds
    /// either all of it or nothing.
    pub(super) async fn remove_everywhere(
        &self,
        mut tx: store::Tx,
        actor: &Actor,
        mut workload: Workload,
        RemovalRequest { options: removal, event }: RemovalRequest,
    ) -> Result<Workload, Error> {
        let now = self.clock().now();
        self.store_workload(&mut tx, actor, &mut workload).await?;
        self.supersede_rollout(&mut tx, workload.id).await?;
        let mut effects = CommitEffects::with_event_for_placer(event);
        let why = format!("{} was unpublished from every cluster.", workload.name);
        for mut release in store::release::list_all_by_workload(&mut tx, workload.id).await? {
            let deletion = removal.deletion.unwrap_or(release.policies().deletion);
            let mut changed = release.remove(deletion, &why, now);
            if removal.force && release.connectivity() != Connectivity::Online {
                let names = store::cluster::get_by_id(&mut tx, release.cluster()).await?;
                let cluster = names.map(|cluster| cluster.name).unwrap_or_default();
                let tombstone = release.to_tombstone((&workload.name, &cluster), &actor.name, now);
                if release.abandon(now) {
                    changed = true;
                    // The cluster removes it when it returns.
                    if let Some(tombstone) = tombstone {
                        store::tombstone::insert(&mut tx, &tombstone).await?;
                    }
                }
            }
            if changed {
                store::release::update(&mut tx, &release).await?;
                effects.changed_clusters.push(release.cluster());
            }
        }
        store::queue::PLACER.mark(&mut tx, &[workload.id], now).await?;
        self.commit(tx, effects.with_response(actor, 202, &workload)).await?;
        Ok(workload)
    }
}
