//! A workload that only runs jobs is complete once all of them ran to their end; after the time its policy gives it, what
//! is left of it is cleaned away (`ttlSecondsAfterFinished`).
//!
//! That it ran is recorded before anything is deleted: whatever moment the engine dies in, nothing runs a second time.

use domain::Timestamp;
use domain::health::HealthStatus;
use serde_json::Value;

use super::conclude;
use super::pass::Pass;
use super::preflight::owns_pods;
use super::remove::sweep;

/// Whether everything in the bundle that runs containers is a job that ran to its end, and the rest is well.
pub(crate) fn is_complete(pass: &Pass<'_>) -> bool {
    let mut jobs = 0;
    for target in &pass.targets {
        let kind = &pass.prepared.objects[target.index].object.kind;
        if owns_pods(kind) {
            if kind != "Job" || !target.completed {
                return false;
            }
            jobs += 1;
        }
        if !target.applied || target.health.status != HealthStatus::Healthy {
            return false;
        }
    }
    jobs > 0
}

/// Cleans away what is complete, when its time has come.
pub(crate) async fn run(pass: &mut Pass<'_>) {
    let Some(ttl) = pass.policies.ttl_seconds_after_finished else { return };
    if !is_complete(pass) {
        return;
    }
    let begun = pass.entries.iter().all(|entry| entry.completed);
    if !begun {
        let Some(finished) = finished(pass) else { return };
        let due = finished.plus_millis(i64::from(ttl) * 1_000);
        if let Ok(left @ 1..) = u64::try_from(due.millis().saturating_sub(pass.now.millis())) {
            pass.wake_in(std::time::Duration::from_millis(left));
            return;
        }
    }
    let is_left =
        |index: usize| pass.targets[index].live(&pass.prepared.objects[pass.targets[index].index]).is_some();
    if !(0..pass.targets.len()).any(is_left) {
        return;
    }
    pass.targets.iter_mut().for_each(|target| target.completed = true);
    conclude::write_record(pass).await;
    let recorded = pass.cx.records.get(pass.slot.id);
    let is_recorded = recorded.is_some_and(|record| record.resources.iter().all(|entry| entry.completed));
    if !is_recorded {
        return;
    }
    let entries = pass.entries.clone();
    sweep(pass, &entries).await;
    pass.leftovers.clear();
}

/// When the last of its jobs ended; `None` once no job is there any more.
fn finished(pass: &Pass<'_>) -> Option<Timestamp> {
    let ends = pass.targets.iter().filter_map(|target| {
        let wanted = &pass.prepared.objects[target.index];
        let live = target.live(wanted).filter(|live| wanted.object.kind == "Job" && !live.deleting)?;
        let value = live.value();
        value.pointer("/status/completionTime").and_then(Value::as_str)?.parse().ok()
    });
    ends.max()
}
