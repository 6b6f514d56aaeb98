//! Takes a workload back from every cluster; the draft and its history stay.

use domain::can;
use domain::event::{EventKind, NewEvent};
use domain::workload::{Intent, Workload};

use super::Removal;
use crate::hub::Done;
use crate::{Actor, Error, Hub};

/// How a workload leaves, and what the log says about it.
pub(super) struct Leaving {
    pub removal: Removal,
    pub event: NewEvent,
}

impl Hub {
    /// Takes it back from every cluster; the draft stays.
    pub async fn workload_unpublish(
        &self,
        actor: &Actor,
        name: &str,
        removal: Removal,
    ) -> Result<Workload, Error> {
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        if !(removal.force && workload.intent == Intent::Unpublished) {
            can::unpublish(&workload)?;
        }
        workload.intent = Intent::Unpublished;
        let event =
            NewEvent::new(EventKind::WorkloadUnpublished, &actor.name, format!("{name} was unpublished."))
                .workload(workload.id, name);
        self.take_back(tx, actor, workload, Leaving { removal, event }).await
    }

    /// Stores the intent to be gone and begins the removal of every release, in one transaction: after a crash the
    /// placer finds either all of it or nothing.
    pub(super) async fn take_back(
        &self,
        mut tx: store::Tx,
        actor: &Actor,
        mut workload: Workload,
        Leaving { removal, event }: Leaving,
    ) -> Result<Workload, Error> {
        let now = self.clock().now();
        self.store_workload(&mut tx, actor, &mut workload).await?;
        self.end_rollout(&mut tx, workload.id).await?;
        let mut done = Done::dirty_with(event);
        let why = format!("{} was taken back from every cluster.", workload.name);
        for mut release in store::release::all_of_workload(&mut tx, workload.id).await? {
            let deletion = removal.deletion.unwrap_or(release.policies.deletion);
            let mut changed = release.remove(deletion, &why, now);
            if removal.force && release.reach != domain::cluster::Reach::Online {
                changed |= release.abandon(now);
            }
            if changed {
                store::release::update(&mut tx, &release).await?;
                done.wants_of.push(release.cluster);
            }
        }
        store::queue::PLACER.mark(&mut tx, &[workload.id], now).await?;
        self.commit(tx, done.answering(actor, 202, &workload)).await?;
        Ok(workload)
    }
}
