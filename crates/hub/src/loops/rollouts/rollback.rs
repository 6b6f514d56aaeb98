//! Rolls back clusters of a rollout after failures: each one by itself, or whole waves (S1-10).
//!
//! Each pass does what is missing: the releases that have to be rolled back are found by what is stored of them, and one that was rolled
//! back is not among them, so a pass that is cut off or repeated changes nothing else.

use domain::event::{EventKind, NewEvent};
use domain::release::Release;
use domain::rollout::{Rollout, RolloutEvent, RolloutState};
use domain::workload::WorkloadHead;
use domain::{Severity, Timestamp, WorkloadId};
use store::Tx;

use super::{RELEASES_PER_COMMIT, load_rollout};
use crate::failpoint::failpoint;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// What a pass has changed.
#[derive(Default)]
pub(super) struct RollbackStep {
    /// The end of the rollback of waves.
    pub event: Option<RolloutEvent>,
    /// Whether there is more to do now.
    pub is_due: bool,
    /// When the next cluster has failed for long enough.
    pub next_at: Option<Timestamp>,
}

/// Rolls back the clusters that fail since the strategy's `fail_after`, each by itself, if the rollout says so and was not aborted. Times
/// in which the hub recorded nothing are not counted.
///
/// In a transaction of its own: the step locks other releases, and those of one transaction are locked in one order.
pub(super) async fn roll_back_failing(
    (hub, now): (&Hub, Timestamp),
    id: WorkloadId,
) -> Result<RollbackStep, Error> {
    let mut step = RollbackStep::default();
    // Read without the write lock first: most rollouts do not say so.
    let mut tx = hub.read().await?;
    let found = load_rollout(&mut tx, id).await?;
    if !found.is_some_and(|(_, rollout)| rollout.rolls_back_clusters()) {
        return Ok(step);
    }
    drop(tx);
    let mut tx = hub.write().await?;
    let found = load_rollout(&mut tx, id).await?;
    let Some((workload, rollout)) = found.filter(|(_, rollout)| rollout.rolls_back_clusters()) else {
        return Ok(step);
    };
    let (fail_after, pauses) = (rollout.strategy.fail_after_millis(), hub.observe_pauses());
    let cutoff = pauses.cutoff(now, fail_after);
    let (mut changed, mut effects) = (Vec::new(), CommitEffects::default());
    for mut release in store::rollout::list_failing(&mut tx, &rollout, RELEASES_PER_COMMIT).await? {
        if release.state_since() > cutoff {
            let due = pauses.deadline(release.state_since(), fail_after);
            step.next_at = Some(step.next_at.map_or(due, |earliest| earliest.min(due)));
            continue;
        }
        if release.roll_back_failing(now) {
            let cluster = store::cluster::get_name(&mut tx, release.cluster()).await?.unwrap_or_default();
            effects.events.push(rollback_event(&workload, &release, &cluster));
            effects.changed_clusters.push(release.cluster());
            changed.push(release);
        }
    }
    if !changed.is_empty() {
        store::release::update_many(&mut tx, &changed).await?;
        failpoint("rollback.before_commit");
        hub.commit(tx, effects).await?;
        step.is_due = true;
    }
    Ok(step)
}

/// The event of a cluster that was rolled back by itself.
fn rollback_event(workload: &WorkloadHead, release: &Release, cluster: &str) -> NewEvent {
    let message = format!("{cluster}: {}", release.rollback_cause().unwrap_or_default());
    NewEvent::new(EventKind::RolloutChanged, "flotilla", message)
        .with_workload(workload.id, &workload.name)
        .with_cluster(release.cluster(), cluster)
        .with_release(release.id())
        .with_severity(Severity::Error)
}

/// Rolls back releases of the waves from `first_wave` on, or ends the rollback once every cluster has applied what it ran before, or fails with
/// that; one that is offline is waited for.
pub(super) async fn roll_back_waves(
    (tx, now): (&mut Tx, Timestamp),
    rollout: &mut Rollout,
    first_wave: u32,
    effects: &mut CommitEffects,
) -> Result<RollbackStep, Error> {
    let mut step = RollbackStep::default();
    let why = match &rollout.state {
        // Some of its clusters were suspended meanwhile.
        RolloutState::RollingBack { message, .. } | RolloutState::RolledBack { message, .. } => {
            message.clone()
        }
        _ => return Ok(step),
    };
    let mut changed: Vec<Release> = Vec::new();
    for mut release in store::rollout::list_to_roll_back(tx, rollout, first_wave, RELEASES_PER_COMMIT).await?
    {
        if release.roll_back_with_rollout(&why, now) {
            effects.changed_clusters.push(release.cluster());
            changed.push(release);
        }
    }
    if !changed.is_empty() {
        store::release::update_many(tx, &changed).await?;
        failpoint("rollback.before_commit");
        step.is_due = true;
        return Ok(step);
    }
    if store::rollout::is_any_rolling_back(tx, rollout, first_wave).await? {
        return Ok(step);
    }
    failpoint("rollback.before_end");
    // Then the gates of the clusters that were not admitted are ended.
    step.event = rollout.finish_rollback(now);
    step.is_due = step.event.is_some();
    Ok(step)
}
