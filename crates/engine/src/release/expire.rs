//! Cleanup of completed workloads: one that runs only jobs is complete once all of them completed. Its remaining
//! objects are deleted after the policy's `ttlSecondsAfterFinished`.
//!
//! Completion is recorded before any deletion, so that no job runs a second time after a crash at any point.

use domain::Timestamp;
use domain::bundle::owns_pods;
use serde_json::Value;

use super::reconciliation::Reconciliation;
use super::remove::delete_by_rank;
use super::report;

/// Whether everything in the bundle that runs containers is a completed job, and the other objects are healthy.
pub(crate) fn is_complete(pass: &Reconciliation<'_>) -> bool {
    let mut jobs = 0;
    for target in &pass.targets {
        let kind = &target.desired.object.kind;
        if owns_pods(kind) {
            if kind != "Job" || !target.completed {
                return false;
            }
            jobs += 1;
        }
        if !target.applied || !target.health.status.is_operational() {
            return false;
        }
    }
    jobs > 0
}

/// Deletes the objects of a complete workload once its TTL has expired.
pub(crate) async fn run(pass: &mut Reconciliation<'_>) {
    let Some(ttl) = pass.policies.ttl_seconds_after_finished else { return };
    if !is_complete(pass) {
        return;
    }
    let is_cleanup_started = pass.inventory.iter().all(|entry| entry.completed);
    if !is_cleanup_started {
        let Some(finished) = finished_at(pass) else { return };
        let due = finished.plus_millis(i64::from(ttl) * 1_000);
        if let Ok(remaining @ 1..) = u64::try_from(due.millis().saturating_sub(pass.now.millis())) {
            pass.wake_in(std::time::Duration::from_millis(remaining));
            return;
        }
    }
    if !pass.targets.iter().any(|target| target.live_object().is_some()) {
        return;
    }
    pass.targets.iter_mut().for_each(|target| target.completed = true);
    report::write_record(pass).await;
    let record = pass.cx.applied_releases.get(pass.worker.id);
    let is_recorded = record.is_some_and(|record| record.resources.iter().all(|entry| entry.completed));
    if !is_recorded {
        return;
    }
    let entries = pass.inventory.clone();
    delete_by_rank(pass, &entries).await;
    pass.prune_items.clear();
}

/// When the last job completed; `None` if no job exists any more.
fn finished_at(pass: &Reconciliation<'_>) -> Option<Timestamp> {
    let completion_times = pass.targets.iter().filter_map(|target| {
        let live =
            target.live_object().filter(|live| target.desired.object.kind == "Job" && !live.deleting)?;
        let value = live.value();
        value.pointer("/status/completionTime").and_then(Value::as_str)?.parse().ok()
    });
    completion_times.max()
}
