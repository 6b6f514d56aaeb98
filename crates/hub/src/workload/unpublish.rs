//! Unpublishes a workload: removes it from every cluster; the draft and its history stay.

use domain::actions;
use domain::authorization::UserAction;
use domain::cluster::Connectivity;
use domain::event::{EventKind, NewEvent};
use domain::operation::OperationKind;
use domain::release::Release;
use domain::request::RemovalOptions;
use domain::workload::{Intent, RemovedWorkload, WorkloadHead};

use crate::hub::CommitEffects;
use crate::idempotency::IN_PROGRESS;
use crate::operation::OperationRequest;
use crate::{Actor, Error, Hub};

/// The intent after a removal, its options and its event.
pub(crate) struct RemovalRequest {
    pub intent: Intent,
    pub options: RemovalOptions,
    pub event: NewEvent,
}

impl Hub {
    /// Removes it from every cluster; the draft stays, and is not read.
    pub async fn unpublish_workload(
        &self,
        actor: &Actor,
        name: &str,
        removal: RemovalOptions,
    ) -> Result<RemovedWorkload, Error> {
        actor.authorize(UserAction::Unpublish)?;
        let mut tx = self.write_as(actor, UserAction::Unpublish).await?;
        let workload = self.lock_workload_head(&mut tx, name).await?;
        if !(removal.force && workload.intent == Intent::Unpublished) {
            actions::check_unpublish(&workload)?;
        }
        let event =
            NewEvent::new(EventKind::WorkloadUnpublished, &actor.name, format!("{name} was unpublished."))
                .with_workload(workload.id, name);
        let request = RemovalRequest { intent: Intent::Unpublished, options: removal, event };
        let effects = self.stage_removal(&mut tx, actor, &workload, request).await?;
        self.commit_removal(tx, actor, (workload, Intent::Unpublished), effects).await
    }

    /// Commits a removal; `workload` is what it was before, and its intent now.
    pub(super) async fn commit_removal(
        &self,
        mut tx: store::Tx,
        actor: &Actor,
        (workload, intent): (WorkloadHead, Intent),
        effects: CommitEffects,
    ) -> Result<RemovedWorkload, Error> {
        let removed = load_removed(&mut tx, workload, intent).await?;
        self.commit(tx, effects.with_response(actor, IN_PROGRESS, &removed).with_etag(removed.revision()))
            .await?;
        Ok(removed)
    }

    /// Stores the intent and starts the removal of every release; the caller commits: after a crash the placer finds either all
    /// of it or nothing.
    pub(crate) async fn stage_removal(
        &self,
        tx: &mut store::Tx,
        actor: &Actor,
        workload: &WorkloadHead,
        RemovalRequest { intent, options: removal, event }: RemovalRequest,
    ) -> Result<CommitEffects, Error> {
        let now = self.clock().now();
        if !store::workload::set_intent(tx, workload, intent, (&actor.name, now)).await? {
            return Err(Error::RevisionConflict { current: workload.revision });
        }
        self.supersede_rollout(tx, workload.id).await?;
        // What it follows, and what its loops do, concerns nobody any more, also if it has no release whose change would tell that.
        store::incident::note_cause(tx, workload.id, false, now);
        let mut effects = CommitEffects::with_event_for_placer(event);
        let why = format!("{} was unpublished from every cluster.", workload.name);
        let releases = store::release::list_all_by_workload(tx, workload.id).await?;
        if removal.force && intent == Intent::Deleting {
            self.check_forced_deletion(tx, workload, &releases).await?;
        }
        if !removal.ignore_dependents {
            self.check_has_no_dependents(tx, workload, &releases).await?;
        }
        self.mark_dependents(tx, workload.id).await?;
        self.close_operations(tx, workload.id, &releases).await?;
        let kind = if intent == Intent::Deleting { OperationKind::Delete } else { OperationKind::Unpublish };
        let request = OperationRequest {
            workload: workload.id,
            name: &workload.name,
            kind,
            revision: None,
            restored_revision: None,
            started_at: now,
        };
        self.begin_operation(tx, actor, request).await?;
        for mut release in releases {
            let deletion = removal.deletion.unwrap_or(release.policies().deletion);
            let mut changed = release.remove(deletion, &why, now);
            if removal.force && release.connectivity() != Connectivity::Online {
                let name = store::cluster::get_name(tx, release.cluster()).await?;
                let cluster = name.unwrap_or_default();
                let tombstone = release.to_tombstone((&workload.name, &cluster), &actor.name, now);
                if release.abandon(now) {
                    changed = true;
                    // The cluster removes it when it returns.
                    if let Some(tombstone) = tombstone {
                        store::tombstone::insert(tx, &tombstone).await?;
                    }
                }
            }
            if changed {
                store::release::update(tx, &release).await?;
                effects.changed_clusters.push(release.cluster());
            }
        }
        store::queue::PLACER.mark_requested(tx, workload.id, now).await?;
        Ok(effects)
    }

    /// Rejects the removal of a workload from clusters where others depend on it (G313). These are read in the transaction of the removal.
    async fn check_has_no_dependents(
        &self,
        tx: &mut store::Tx,
        workload: &WorkloadHead,
        releases: &[Release],
    ) -> Result<(), Error> {
        let present = releases.iter().filter(|release| release.is_present());
        let lost = present.map(Release::cluster).collect();
        let hint = "Remove those workloads or their dependency first, or confirm the removal with ignoreDependents (--ignore-dependents), that of a deployment with force.";
        match self.find_dependents(tx, (workload.id, &workload.name), &lost, hint).await? {
            Some(finding) => Err(Error::ConfirmationRequired(Box::new(finding))),
            None => Ok(()),
        }
    }
}

/// The workload as it is stored now, or what is readable of it.
async fn load_removed(
    tx: &mut store::Tx,
    before: WorkloadHead,
    intent: Intent,
) -> Result<RemovedWorkload, Error> {
    match store::workload::get_by_id(tx, before.id).await {
        Ok(Some(workload)) => Ok(RemovedWorkload::Full(Box::new(workload))),
        Err(store::Error::InvalidRow { .. }) => {
            Ok(RemovedWorkload::Head(WorkloadHead { intent, revision: before.revision + 1, ..before }))
        }
        Ok(None) => Err(Error::not_found("workload", before.name)),
        Err(error) => Err(error.into()),
    }
}
