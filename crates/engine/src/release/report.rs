//! Reports to the hub, then updates the record.
//!
//! The report comes first: it must not wait for the second write of the record, which is needed only after a restart.

use std::time::Duration;

use domain::failure_cause::FailureCause;
use domain::finding::Finding;
use domain::health::{Health, HealthStatus};
use domain::policy::UpdateStrategy;
use domain::release::stage::StageReason;
use domain::release::{StageName, StageState, SyncStatus};
use domain::report::{DesiredPhase, ReleaseReport, ResourceStatus, StageReport};
use tokio::time::Instant;

use super::drift::field_paths;
use super::field_revert::find_answer;
use super::reconciliation::{Reconciliation, TargetObject};
use super::retry::RetryState;
use super::{preflight, status};
use crate::applied_release::{AppliedRelease, InventoryEntry};

/// Passes and bundle pulls report progress only after this time: shorter ones are not perceptible, and in bursts of
/// hundreds of releases their progress reports would cost the hub more than the final ones.
const PROGRESS_AFTER: Duration = Duration::from_millis(250);

/// Reports the pass and writes the record.
pub(crate) async fn run(pass: &mut Reconciliation<'_>) {
    let complete = pass.is_over(StageName::Pruned);
    if complete {
        pass.state.applied = Some(pass.prepared.digest.clone());
        pass.hook_progress.iter_mut().for_each(|progress| progress.installed = true);
    }
    if !is_applied_by_record(pass) && !is_recently_pulling(pass) {
        let report = build_report(pass, sync_status(pass, complete));
        send_report(pass, report);
    }
    if pass.request.prepared.is_some()
        && !pass.is_suspended()
        && pass.is_over(StageName::Preflight)
        && pass.cx.applied_releases.get(pass.worker.id).is_some()
    {
        write_record(pass).await;
    }
}

/// Whether the record contains the desired bundle as applied while the bundle is not pulled yet. After a restart
/// nothing else is known, and a report would be less precise than that of the previous process.
fn is_applied_by_record(pass: &Reconciliation<'_>) -> bool {
    pass.state.last_report.is_none()
        && pass.request.prepared.is_none()
        && pass.request.pull_stage.reason().is_none()
        && pass.state.applied.as_ref() == Some(&pass.prepared.digest)
}

/// Whether the pull of the bundle started recently; most pulls end before progress would be reported.
fn is_recently_pulling(pass: &mut Reconciliation<'_>) -> bool {
    let request = pass.request.clone();
    let report_at = request.received_at + PROGRESS_AFTER;
    let is_pulling = request.prepared.is_none() && matches!(request.pull_stage, StageState::Running { .. });
    let is_recent = is_pulling && Instant::now() < report_at;
    if is_recent {
        pass.wake_at(report_at);
    }
    is_recent
}

/// Reports the progress of a long pass. A pass without writes over an applied bundle reports none.
pub(crate) fn report_progress(pass: &mut Reconciliation<'_>) {
    let is_noop = !pass.has_written && pass.state.applied.as_ref() == Some(&pass.prepared.digest);
    if is_noop || pass.started_at.elapsed() < PROGRESS_AFTER {
        return;
    }
    let done = pass.targets.iter().filter(|target| target.applied).count();
    let message = format!("{done} of {} objects are applied.", pass.targets.len());
    pass.set_stage(StageName::Applied, StageState::Running { message });
    let report = build_report(pass, sync_status(pass, false));
    send_report(pass, report);
}

/// Handles an unreachable API server: the last report stays valid, because nothing else is known. Only a new desired
/// release is acknowledged; the outage itself is visible through the cluster's lease.
pub(crate) fn report_unreachable(pass: &mut Reconciliation<'_>) {
    // The first report after the outage is sent even if it is unchanged, because it is current again.
    pass.state.is_reported = false;
    let Some(report) = build_acknowledgement(pass) else { return };
    if pass.state.last_report.as_ref() != Some(&report) {
        pass.state.last_report = Some(report.clone());
        pass.cx.reports.push(report);
    }
}

/// The last report with current notified and pulled stages; `None` if there is nothing to acknowledge.
fn build_acknowledgement(pass: &mut Reconciliation<'_>) -> Option<ReleaseReport> {
    let generation = pass.request.desired.generation;
    let is_removal = matches!(pass.request.desired.phase, DesiredPhase::Absent { .. });
    pass.stages.clear();
    pass.set_stage(StageName::Notified, StageState::Done);
    if !is_removal {
        let pulled = preflight::pull_stage(pass);
        pass.set_stage(StageName::Pulled, pulled);
    }
    let stages = pass.stages.clone();
    let Some(last) = &pass.state.last_report else {
        // Reports of a previous process may only be replaced after the cluster was read.
        let is_new = !is_removal && pass.cx.applied_releases.get(pass.worker.id).is_none();
        pass.targets.clear();
        return is_new.then(|| build_report(pass, SyncStatus::Pending));
    };
    let is_past_pull = last.stages.iter().any(|stage| stage.name > StageName::Pulled);
    let is_applied = !is_removal && last.applied.as_ref() == Some(&pass.prepared.digest);
    if is_applied || last.generation == generation && is_past_pull {
        return None;
    }
    Some(ReleaseReport { generation, stages, drift: Vec::new(), ..last.clone() })
}

/// Reports a removal in progress.
pub(crate) fn report_removing(pass: &mut Reconciliation<'_>) {
    let report = build_report(pass, SyncStatus::Removing);
    send_report(pass, report);
}

/// Reports a completed removal.
pub(crate) fn report_removed(pass: &mut Reconciliation<'_>) {
    pass.prune_items.clear();
    for name in [StageName::Pruned, StageName::ImagesPulled, StageName::Operational] {
        pass.set_stage(name, StageState::Done);
    }
    let pruned = pass.state.describe_retained(StageState::Done);
    pass.set_stage(StageName::Pruned, pruned);
    let mut report = build_report(pass, SyncStatus::Removed);
    report.removed = true;
    send_report(pass, report);
}

fn sync_status(pass: &Reconciliation<'_>, complete: bool) -> SyncStatus {
    let is_drifted = |target: &TargetObject| {
        let object = &target.desired.object;
        !target.drifted_fields.is_empty()
            || target.applied
                && !pass.is_read_only(object)
                && !target.completed
                && target.cache.is_some()
                && target.live_object().is_none()
            || pass
                .state
                .objects
                .get(object)
                .is_some_and(|object_state| object_state.reported_drift.is_some())
    };
    if complete {
        let drifted = pass.targets.iter().any(is_drifted);
        return if drifted { SyncStatus::Drifted } else { SyncStatus::Synced };
    }
    if pass.state.applied.is_some() {
        SyncStatus::Stale
    } else if pass.has_written || pass.targets.iter().any(|target| target.applied) {
        SyncStatus::Applying
    } else {
        SyncStatus::Pending
    }
}

fn build_report(pass: &mut Reconciliation<'_>, sync: SyncStatus) -> ReleaseReport {
    let mut stages: Vec<StageReport> = pass.stages.clone();
    stages.sort_by_key(|stage| stage.name);
    let health =
        if pass.targets.is_empty() { health_without_targets(pass) } else { status::overall_health(pass) };
    ReleaseReport {
        release: pass.release(),
        generation: pass.request.desired.generation,
        applied: pass.state.applied.clone(),
        stages,
        sync,
        health,
        resources: resource_statuses(pass),
        drift: std::mem::take(&mut pass.state.drift_notes),
        drift_omitted: 0,
        removed: false,
    }
}

/// Health without targets, before the pull or during a removal: the last known one.
fn health_without_targets(pass: &Reconciliation<'_>) -> Health {
    match &pass.state.last_report {
        Some(last) => last.health.clone(),
        None if pass.state.applied.is_some() => {
            Health::new(HealthStatus::Unknown, "NotSeenYet", "The applied objects were not read yet.")
        }
        None => Health::new(HealthStatus::Progressing, "NotApplied", "Nothing is applied yet."),
    }
}

/// The reported status of one target (S3-5).
fn resource_status(pass: &mut Reconciliation<'_>, at: usize) -> ResourceStatus {
    let target = &pass.targets[at];
    let desired = &target.desired;
    let live = target.live_object();
    let blocked_by = target.blocked_by.as_ref().and_then(StageState::reason);
    let to_warning =
        |reason: &StageReason| Finding::warning(reason.reason.as_str(), reason.message.clone(), "");
    let available = target.cache.is_some().then_some(live.is_some());
    let (applied, drifted) = (target.applied, !target.drifted_fields.is_empty());
    let object_state = pass.state.object_mut(&desired.object);
    let since = object_state.last_reported.update(applied, available, drifted, pass.now);
    ResourceStatus {
        ordinal: desired.ordinal,
        object: desired.object.clone(),
        resource: target.kind.as_ref().map(|resource| resource.plural.clone()).unwrap_or_default(),
        applied,
        available,
        health: target.health.clone(),
        drifted: field_paths(&target.drifted_fields),
        drifted_fields: target.drifted_fields.clone(),
        causes: target.causes.iter().map(FailureCause::message).collect(),
        failure_causes: target.causes.clone(),
        problem: target.problem.clone().or_else(|| {
            blocked_by.map(to_warning).map(|finding| finding.with_object(desired.object.to_string()))
        }),
        feedback: if live.is_some() { object_state.feedback.clone() } else { Vec::new() },
        field_revert: find_answer(&pass.request.field_reverts, object_state),
        since,
        conditions: Vec::new(),
    }
}

fn resource_statuses(pass: &mut Reconciliation<'_>) -> Vec<ResourceStatus> {
    let mut resources: Vec<ResourceStatus> =
        (0..pass.targets.len()).map(|at| resource_status(pass, at)).collect();
    resources.sort_by_key(|resource| resource.ordinal);
    let first = resources.iter().map(|resource| resource.ordinal + 1).max().unwrap_or(0);
    resources.extend((first..).zip(&pass.prune_items).map(|(ordinal, item)| ResourceStatus {
        ordinal,
        object: item.object.clone(),
        resource: item.plural.clone(),
        available: Some(true),
        health: item.health.clone(),
        problem: item.problem.clone(),
        ..ResourceStatus::default()
    }));
    resources
}

/// Queues the report if it differs from the last one.
fn send_report(pass: &mut Reconciliation<'_>, report: ReleaseReport) {
    if pass.state.last_report.as_ref() == Some(&report) && pass.state.is_reported {
        return;
    }
    pass.state.is_reported = true;
    pass.state.last_report = Some(ReleaseReport { drift: Vec::new(), ..report.clone() });
    pass.cx.reports.push(report);
}

/// Writes the current state to the record, if its content changed.
pub(crate) async fn write_record(pass: &mut Reconciliation<'_>) {
    for at in 0..pass.targets.len() {
        if pass.is_read_only(&pass.targets[at].desired.object) {
            continue;
        }
        let fresh = inventory_entry(pass, at);
        match pass.inventory.iter_mut().find(|entry| entry.object.is_same_object(&fresh.object)) {
            Some(entry) => *entry = fresh,
            None => pass.inventory.push(fresh),
        }
    }
    let Some(known) = pass.cx.applied_releases.get(pass.worker.id) else { return };
    let known = AppliedRelease {
        resources: pass.inventory.clone(),
        hooks: pass.hook_progress.clone(),
        ..(*known).clone()
    };
    let record = match &pass.request.desired.phase {
        DesiredPhase::Absent { .. } => known,
        DesiredPhase::Present { .. } => AppliedRelease {
            workload: pass.request.desired.workload.clone(),
            revision: pass.revision,
            generation: pass.request.desired.generation,
            bundle: Some(pass.prepared.digest.clone()),
            applied: pass.state.applied.clone(),
            left_fields_recorded: true,
            removal_hooks: pass.prepared.removal_hooks(),
            contested: pass.state.contested_fields(),
            eviction_start: None,
            ..known
        },
    };
    if pass.state.record_failure.as_ref().is_some_and(|failure| !failure.is_due()) {
        return;
    }
    match pass.cx.applied_releases.write(record).await {
        Ok(_) => pass.state.record_failure = None,
        Err(error) => {
            tracing::warn!(release = %pass.worker.id, reason = %error.reason(), "the record could not be written; it is retried");
            let failure = RetryState::after(pass.state.record_failure.as_ref(), error, &pass.cx.options);
            pass.wake_at(failure.due);
            pass.state.record_failure = Some(failure);
        }
    }
}

/// The record entry of a target.
fn inventory_entry(pass: &Reconciliation<'_>, at: usize) -> InventoryEntry {
    let target = &pass.targets[at];
    let desired = &target.desired;
    let old = pass.inventory_entry(&desired.object).cloned().unwrap_or_default();
    let old_hash = old.hash.clone();
    let live = target.live_object().filter(|live| live.is_applied_by(pass.worker.id, &old.uid));
    // A scaler that wrote the number of the manifest stays an owner of it, and no conflict shows that it is gone.
    let is_owned_by_scaler = live.as_ref().is_some_and(|live| !live.scaler.is_empty());
    // An existing object that is only created keeps its content: another policy may write it later.
    let is_written =
        target.applied && pass.policies.update_strategy(&desired.object) == UpdateStrategy::ServerSideApply;
    let missing = live.is_none() && old.missing;
    let policy = pass.object_policy(&desired.object);
    InventoryEntry {
        object: desired.object.clone(),
        resource: target.kind.as_ref().map_or(old.resource, |resource| resource.plural.clone()),
        uid: live.as_ref().map_or(old.uid, |live| live.uid.clone()),
        hash: live.map_or(old.hash, |live| if is_written { desired.hash.clone() } else { live.hash.clone() }),
        // An object that could not be applied has still to take back what former policies left to others.
        left_fields: if target.applied { policy.left_fields } else { old.left_fields },
        // As long as the revision that drops its scaler is not applied, or the scaler still owns the number, that is a conflict.
        scaled: if target.applied {
            desired.autoscaled || old.scaled && is_owned_by_scaler
        } else {
            old.scaled
        },
        shared: old.shared || target.shared,
        // Dependencies of a completed object were cleaned up with it and are not re-created either.
        missing,
        completed: target.completed || old.completed && old_hash == desired.hash,
    }
}
