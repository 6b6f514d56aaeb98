//! Sync: requests an immediate comparison on clusters (S1-21). Never adds targets (S1-9b).

use domain::actions::{self, ActionUnavailable};
use domain::authorization::UserAction;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::operation::{OperationKind, OperationStatus, OperationTarget};
use domain::release::Release;
use domain::rollout::{Rollout, RolloutAction};
use domain::workload::{Intent, WorkloadHead};
use domain::{ClusterId, OperationId, Timestamp, WorkloadId};
use serde_json::json;
use store::Tx;

use crate::hub::CommitEffects;
use crate::idempotency::IN_PROGRESS;
use crate::operation::OperationRequest;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Requests the given clusters (all if empty) to compare now and to reset their back-offs. Returns their number.
    pub async fn sync_workload(&self, actor: &Actor, name: &str, clusters: &[String]) -> Result<u32, Error> {
        actor.authorize(UserAction::Sync)?;
        let mut tx = self.write_as(actor, UserAction::Sync).await?;
        let workload = self.lock_workload_head(&mut tx, name).await?;
        let mut selected = Vec::new();
        for cluster in clusters {
            let found = store::cluster::get_by_name(&mut tx, cluster).await?;
            selected.push(found.ok_or_else(|| Error::not_found("cluster", cluster))?.id);
        }
        let (_, effects) = self.stage_sync(&mut tx, actor, &workload, &selected).await?;
        let count = u32::try_from(effects.changed_clusters.len()).unwrap_or(u32::MAX);
        let response = json!({ "requested": count });
        self.commit(tx, effects.with_response(actor, IN_PROGRESS, &response)).await?;
        Ok(count)
    }

    /// Requests a sync of a workload, whose row is locked, on these clusters (all if empty); the caller commits. Returns the operation.
    pub(crate) async fn stage_sync(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        workload: &WorkloadHead,
        selected: &[ClusterId],
    ) -> Result<(OperationId, CommitEffects), Error> {
        actions::check_sync(workload)?;
        let name = workload.name.as_str();
        // Locked before the releases, as in the steps of rollouts.
        let rollout = match workload.published.filter(|_| workload.intent == Intent::Published) {
            Some(number) => store::rollout::get(tx, workload.id, number).await?,
            None => None,
        };
        let rollout = rollout.filter(Rollout::rolls_back_clusters);
        let releases = store::release::list_all_by_workload(tx, workload.id).await?;
        check_suspensions(name, &releases, selected)?;
        self.close_operations(tx, workload.id, &releases).await?;
        let now = self.clock().now();
        let request = OperationRequest {
            workload: workload.id,
            name,
            kind: OperationKind::Sync,
            revision: None,
            restored_revision: None,
            started_at: now,
        };
        let operation = self.begin_operation(tx, actor, request).await?;
        if !selected.is_empty() {
            limit_operation(tx, workload.id, operation, selected).await?;
        }
        let is_selected = |release: &Release| selected.is_empty() || selected.contains(&release.cluster());
        let (mut synced, mut is_retried) = (Vec::new(), false);
        for mut release in releases {
            // A suspended one would be reverted or tried again by its resume, whatever its drift policy is.
            if release.is_suspended() || !is_selected(&release) {
                continue;
            }
            if may_retry(rollout.as_ref(), &release) && release.retry_rolled_back(now) {
                store::release::update(tx, &release).await?;
                synced.push(release.cluster());
                is_retried = true;
            } else if release.desired_release(name).is_some() {
                release.request_sync();
                store::release::update(tx, &release).await?;
                synced.push(release.cluster());
            }
        }
        let count = u32::try_from(synced.len()).unwrap_or(u32::MAX);
        store::queue::PLACER.mark_requested(tx, workload.id, now).await?;
        let (detail, subject) =
            (EventDetail::SyncRequested { clusters: count }, EventSubject::workload(workload.id, name));
        let event = NewEvent::from_detail(detail, &actor.name, subject, now);
        let mut effects = CommitEffects {
            events: vec![event],
            changed_clusters: synced,
            wake_placer: true,
            ..CommitEffects::default()
        };
        if is_retried {
            effects.dirty_rollouts.insert(workload.id);
            resume_retried(tx, actor, rollout, now).await?;
        }
        Ok((operation, effects))
    }
}

/// Whether a sync delivers the revision again that was rolled back: `rollout` delivers it and rolls back clusters one by one, and this one
/// is still selected. What was rolled back with its waves waits for the next publish.
fn may_retry(rollout: Option<&Rollout>, release: &Release) -> bool {
    rollout.is_some_and(|rollout| release.revision() == Some(rollout.revision)) && release.wave().is_some()
}

/// Resumes a rollout that failures have paused, if it has no waves of a user: it would gate what is tried again, and nothing else.
async fn resume_retried(
    tx: &mut Tx,
    actor: &Actor,
    rollout: Option<Rollout>,
    now: Timestamp,
) -> Result<(), Error> {
    let paused = rollout.filter(|one| one.is_auto_paused() && one.strategy.has_only_rollback());
    if let Some(mut rollout) = paused {
        rollout.apply_action(RolloutAction::Resume, &actor.name, now)?;
        store::rollout::update(tx, &rollout).await?;
    }
    Ok(())
}

/// Rejects a sync of suspended releases only: nothing would be compared.
fn check_suspensions(name: &str, releases: &[Release], selected: &[ClusterId]) -> Result<(), Error> {
    let mut concerned = releases
        .iter()
        .filter(|release| selected.is_empty() || selected.contains(&release.cluster()))
        .filter(|release| release.desired_release(name).is_some())
        .peekable();
    let Some(reason) = concerned.peek().and_then(|release| release.suspension_reason()).map(str::to_owned)
    else {
        return Ok(());
    };
    if concerned.all(Release::is_suspended) {
        return Err(ActionUnavailable(format!("{name} is not synced while it is suspended. {reason}")).into());
    }
    Ok(())
}

/// Limits the outcome of a sync to the clusters that it was requested for: the others do not report on it.
async fn limit_operation(
    tx: &mut Tx,
    workload: WorkloadId,
    operation: OperationId,
    selected: &[ClusterId],
) -> Result<(), Error> {
    let names = store::operation::list_cluster_names(tx, workload).await?;
    let targets: Vec<OperationTarget> = names
        .into_iter()
        .filter(|(cluster, _)| selected.contains(cluster))
        .map(|(cluster_id, cluster_name)| OperationTarget {
            cluster_id,
            cluster_name,
            status: OperationStatus::Pending,
            healthy: false,
            error: None,
        })
        .collect();
    Ok(store::operation::set_scope(tx, operation, &targets).await?)
}
