//! Rolls back clusters on which the revision of a rollout fails (S1-10).
//!
//! In the transaction of the step: after a crash the next step finds the same releases, and one that was rolled back is not among them.

use domain::event::{EventKind, NewEvent};
use domain::release::Release;
use domain::rollout::{Rollout, RolloutState};
use domain::time::Pauses;
use domain::workload::{Policies, WorkloadHead};
use domain::{Severity, Timestamp};
use store::Tx;

use super::RELEASES_PER_COMMIT;
use crate::Error;
use crate::hub::CommitEffects;

/// The result of a step.
#[derive(Default)]
pub(super) struct RollbackStep {
    /// Whether a release was written: then there may be more to do.
    pub has_changed: bool,
    /// When the next cluster has failed for long enough.
    pub next_at: Option<Timestamp>,
}

/// Rolls back the clusters that fail since the strategy's `fail_after`, if the rollout asks for it and was not aborted. Times in which the
/// hub recorded nothing are not counted.
pub(super) async fn roll_back_failing(
    tx: &mut Tx,
    (workload, rollout): (&WorkloadHead, &Rollout),
    (now, pauses): (Timestamp, &Pauses),
    effects: &mut CommitEffects,
) -> Result<RollbackStep, Error> {
    let mut step = RollbackStep::default();
    let is_over = matches!(rollout.state, RolloutState::Aborted { .. } | RolloutState::Superseded);
    if !rollout.strategy.rollback_on_failure || is_over {
        return Ok(step);
    }
    let fail_after = rollout.strategy.fail_after_millis();
    let cutoff = pauses.cutoff(now, fail_after);
    let mut changed: Vec<Release> = Vec::new();
    for mut release in store::rollout::list_failing(tx, rollout, RELEASES_PER_COMMIT).await? {
        if release.state_since() > cutoff {
            let due = pauses.deadline(release.state_since(), fail_after);
            step.next_at = Some(step.next_at.map_or(due, |earliest| earliest.min(due)));
            continue;
        }
        let policies = load_previous_policies(tx, &release).await?;
        if release.roll_back(policies, now) {
            let cluster = store::cluster::get_name(tx, release.cluster()).await?.unwrap_or_default();
            let message = release.rollback_cause().unwrap_or_default();
            let event = NewEvent::new(EventKind::RolloutChanged, "flotilla", format!("{cluster}: {message}"))
                .with_workload(workload.id, &workload.name)
                .with_cluster(release.cluster(), &cluster)
                .with_release(release.id())
                .with_severity(Severity::Error);
            effects.events.push(event);
            effects.changed_clusters.push(release.cluster());
            changed.push(release);
        }
    }
    store::release::update_many(tx, &changed).await?;
    step.has_changed = !changed.is_empty();
    Ok(step)
}

/// The policies of the revision that a release returns to; those that it has, if that revision has expired.
async fn load_previous_policies(tx: &mut Tx, release: &Release) -> Result<Policies, Error> {
    let previous = match release.previous_revision() {
        Some(number) => store::revision::get(tx, release.workload(), number).await?,
        None => None,
    };
    Ok(previous.map_or_else(|| release.policies().clone(), |revision| revision.spec.policies))
}
