//! Rollouts: admits clusters, wave by wave (docs/rollouts.md).
//!
//! The placer renders a bundle for every cluster and gates its release. This loop counts the states of the admitted
//! releases, computes the next step with the domain and applies it. It loads only the releases that it writes; the counts
//! are one index scan. It runs at most ten times a second, however many clusters report.

use std::time::Duration;

use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::release::{DesiredRevision, Release, RenderOutcome};
use domain::rollout::{Admission, Rollout, RolloutEvent, RolloutState, RolloutStep};
use domain::workload::{Intent, WorkloadHead};
use domain::{ClusterId, Timestamp, WorkloadId};
use store::Tx;
use store::queue::ROLLOUTS;
use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::failpoint::{failpoint, panicpoint};
use crate::hub::CommitEffects;
use crate::supervise::catch_panic;
use crate::{Error, Hub};

mod rollback;

/// Rollouts claimed in one pass.
const BATCH: u32 = 16;
/// Lifetime of a claim, in milliseconds.
const CLAIM_MILLIS: i64 = 30_000;
/// Selects the gated releases of all waves.
const EVERY_WAVE: Admission = Admission { wave: u32::MAX, limit: 0 };
/// Maximum releases admitted in one transaction.
const RELEASES_PER_COMMIT: u32 = 200;
/// Minimum pause between two passes: reports in between are handled in one step.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// Poll interval of the queue without a signal: soak times and windows end by time.
const POLL_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    let mut failed_passes = PassFailures::new("rollouts");
    while !cancel.is_cancelled() {
        let advanced = run_pass(&hub).await;
        let pause = failed_passes.record(&hub, &advanced);
        if let Some(pause) = pause.or_else(|| advanced.is_ok_and(|n| n > 0).then_some(MIN_PAUSE)) {
            sleep_unless_cancelled(pause, &cancel).await;
            continue;
        }
        tokio::select! {
            () = hub.signals().rollouts.notified() => drop(sleep_unless_cancelled(MIN_PAUSE, &cancel).await),
            () = tokio::time::sleep(jitter(POLL_EVERY)) => {}
            () = cancel.cancelled() => return,
        }
    }
}

/// Advances what is due; returns the number of rollouts. In an outage of the database the pass ends: the claims expire.
async fn run_pass(hub: &Hub) -> Result<usize, Error> {
    let now = hub.clock().now();
    // Checked without the write lock: most of the time nothing is due.
    let mut tx = hub.read().await?;
    if !ROLLOUTS.has_due(&mut tx, now).await? {
        return Ok(0);
    }
    drop(tx);
    let mut tx = hub.write().await?;
    let due = ROLLOUTS.claim(&mut tx, BATCH, now, now.plus_millis(CLAIM_MILLIS)).await?;
    tx.commit().await?;
    failpoint("rollouts.claimed");
    for (workload, epoch) in &due {
        let result = catch_panic(advance_rollout(hub, *workload, *epoch)).await;
        if let Err(error) = result.map_err(Error::from).flatten() {
            record_failure(hub, (*workload, *epoch), error).await?;
        }
    }
    Ok(due.len())
}

/// Shows a failure on its workload; the rollout is due again after a pause. Others are not affected.
///
/// # Errors
/// The failure is an outage of the database: nothing can be recorded, and the claim expires.
async fn record_failure(hub: &Hub, claim: (WorkloadId, i64), error: Error) -> Result<(), Error> {
    let workload = claim.0;
    let Some(reason) = error.workload_failure() else { return Err(error) };
    tracing::warn!(%workload, error = &error as &dyn std::error::Error, "a rollout could not be advanced; it will be retried");
    let message =
        format!("Its rollout can't be advanced: {reason} No cluster is admitted until a retry succeeds.");
    let stored = async {
        let mut tx = hub.write().await?;
        ROLLOUTS.fail(&mut tx, claim, &message, hub.clock().now()).await?;
        hub.commit(tx, CommitEffects::default()).await
    };
    if let Err(error) = stored.await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(%workload, error, "the failure could not be stored");
    }
    Ok(())
}

async fn advance_rollout(hub: &Hub, id: WorkloadId, epoch: i64) -> Result<(), Error> {
    let now = hub.clock().now();
    // Before the counts: what is rolled back is a failure of its wave.
    let failing = Box::pin(rollback::roll_back_failing((hub, now), id)).await?;
    let mut tx = hub.write().await?;
    let mut effects = CommitEffects::default();
    let mut next_at = None;
    if let Some((workload, mut rollout)) = load_rollout(&mut tx, id).await? {
        panicpoint("rollouts.advance", &workload.name);
        let before = rollout.clone();
        let pauses = hub.observe_pauses();
        let cutoff = pauses.cutoff(now, rollout.strategy.fail_after_millis());
        let tallies = store::rollout::count_waves(&mut tx, &rollout, cutoff).await?;
        let mut step = rollout.reconcile(&tallies, now, &pauses);
        let mut has_changed = apply_step((hub, now), &mut tx, &rollout, &mut step, &mut effects).await?;
        has_changed |= failing.is_due;
        if let Some(first_wave) = step.roll_back {
            let waves = rollback::roll_back_waves((&mut tx, now), &mut rollout, first_wave, &mut effects);
            let waves = Box::pin(waves).await?;
            step.events.extend(waves.event);
            has_changed |= waves.is_due;
        }
        if rollout.state != before.state && rollout.state == RolloutState::Completed {
            // Removals waited for it.
            store::queue::PLACER.mark(&mut tx, &[id], now).await?;
            effects.wake_placer = true;
        }
        if rollout != before {
            store::rollout::update(&mut tx, &rollout).await?;
        }
        next_at = match has_changed {
            true => Some(now),
            false => [step.next_step_at, failing.next_at].into_iter().flatten().min(),
        };
        let events = step.events.into_iter().map(|change| {
            let detail = EventDetail::Rollout { revision: rollout.revision, change };
            let subject = EventSubject::workload(workload.id, &workload.name);
            NewEvent::from_detail(detail, "flotilla", subject, now)
        });
        effects.events.extend(events);
    }
    failpoint("rollouts.before_settle");
    // A placer that settles the same workload marks its rollout after that: the rows of the queues are locked in one order.
    tx.write_marks().await?;
    ROLLOUTS.settle(&mut tx, id, epoch).await?;
    if let Some(next_at) = next_at {
        ROLLOUTS.mark(&mut tx, &[id], next_at).await?;
    }
    hub.commit(tx, effects).await?;
    failpoint("rollouts.after_commit");
    Ok(())
}

/// The workload and the rollout of its published revision.
async fn load_rollout(tx: &mut Tx, id: WorkloadId) -> Result<Option<(WorkloadHead, Rollout)>, Error> {
    let Some(workload) = store::workload::get_head_by_id(tx, id).await? else { return Ok(None) };
    let (Intent::Published, Some(number)) = (workload.intent, workload.published) else { return Ok(None) };
    if store::decision::get_placed_revision(tx, id).await? != number {
        // The placer has not finished this revision, so counts would include other revisions. It marks the rollout when done.
        return Ok(None);
    }
    let rollout = store::rollout::get(tx, id, number).await?;
    Ok(rollout.map(|rollout| (workload, rollout)))
}

/// Applies a step, and adds an event of the clusters that it admits. Returns whether any release was written: then there may
/// be more to do. One that waits for a workload that its own depends on is not admitted: it is deferred, as one that waits for a value.
async fn apply_step(
    (hub, now): (&Hub, Timestamp),
    tx: &mut Tx,
    rollout: &Rollout,
    step: &mut RolloutStep,
    effects: &mut CommitEffects,
) -> Result<bool, Error> {
    let mut changed: Vec<Release> = Vec::new();
    if let Some(let_go) = step.admission {
        let gated = store::rollout::list_gated(tx, rollout, let_go, RELEASES_PER_COMMIT).await?;
        let revision = store::revision::get_existing(tx, rollout.workload, rollout.revision).await?;
        let policies = revision.spec.policies;
        let clusters: Vec<ClusterId> = gated.iter().map(Release::cluster).collect();
        let waits = hub.find_waits(tx, &revision.spec.depends_on, &clusters).await?;
        if !waits.is_empty() {
            // The placer gates them again. A pass that runs now may have read that the wait is over before they are written.
            store::queue::PLACER.mark(tx, &[rollout.workload], now).await?;
        }
        let mut admitted = 0_u32;
        for mut release in gated {
            release.record_approval(release.wave().and_then(|wave| rollout.wave_approval(wave)));
            if let (Some(wait), Some(desired)) = (waits.get(&release.cluster()), release.desired().cloned()) {
                let outcome = RenderOutcome::Bundle(desired);
                let next =
                    DesiredRevision { revision: rollout.revision, outcome, policies: policies.clone() };
                release.await_dependency(next, wait.as_str(), now);
                changed.push(release);
            } else if release.admit(policies.clone(), now) {
                admitted += 1;
                effects.changed_clusters.push(release.cluster());
                changed.push(release);
            }
        }
        if admitted > 0 {
            let wave = rollout.current_wave();
            step.events.push(RolloutEvent::ClustersAdmitted { wave, clusters: admitted });
        }
    }
    if step.end_gates {
        let how =
            if matches!(rollout.state, RolloutState::RolledBack { .. }) { "rolled back" } else { "aborted" };
        let message = format!(
            "The rollout of revision {} was {how} before this cluster was admitted. It stays at its current revision until the next publish.",
            rollout.revision
        );
        for mut release in store::rollout::list_gated(tx, rollout, EVERY_WAVE, RELEASES_PER_COMMIT).await? {
            if release.end_gate(&*message, now) {
                changed.push(release);
            }
        }
    }
    store::release::update_many(tx, &changed).await?;
    Ok(!changed.is_empty())
}
