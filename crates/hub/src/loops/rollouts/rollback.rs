//! Rolls back the clusters of a rollout in which more failed than it allows.
//!
//! Each pass does what is missing: the releases that have to be rolled back are found by what is stored of them, so a pass that is cut off
//! or repeated changes nothing else. The rollout is rolled back once every cluster has reported the bundle of before; one that is offline
//! is waited for.

use domain::Timestamp;
use domain::rollout::{Rollout, RolloutEvent, RolloutState};
use store::Tx;

use super::RELEASES_PER_COMMIT;
use crate::Error;
use crate::failpoint::failpoint;
use crate::hub::CommitEffects;

/// What a pass has changed.
pub(super) struct RollbackStep {
    /// The end of the rollback.
    pub event: Option<RolloutEvent>,
    /// Whether there is more to do now.
    pub is_due: bool,
}

/// Rolls back releases of the waves from `first_wave` on, or ends the rollback.
pub(super) async fn advance(
    (tx, now): (&mut Tx, Timestamp),
    rollout: &mut Rollout,
    first_wave: u32,
    effects: &mut CommitEffects,
) -> Result<RollbackStep, Error> {
    let message = match &rollout.state {
        RolloutState::RollingBack { message, .. } => message.clone(),
        _ => return Ok(RollbackStep { event: None, is_due: false }),
    };
    let mut releases =
        store::rollout::list_to_roll_back(tx, rollout, first_wave, RELEASES_PER_COMMIT).await?;
    let mut rolled_back = 0_usize;
    for release in &mut releases {
        let before = release.rollback().map_or(0, |before| before.revision);
        let text = format!(
            "The rollout of revision {} was rolled back: {message} This cluster has revision {before} again until the next publish.",
            rollout.revision
        );
        if release.roll_back(text, now) {
            rolled_back += 1;
            effects.changed_clusters.push(release.cluster());
        }
    }
    if rolled_back > 0 {
        store::release::update_many(tx, &releases).await?;
        failpoint("rollback.before_commit");
        return Ok(RollbackStep { event: None, is_due: true });
    }
    if store::rollout::count_rolling_back(tx, rollout, first_wave).await? > 0 {
        return Ok(RollbackStep { event: None, is_due: false });
    }
    failpoint("rollback.before_end");
    // Then the gates of the clusters that were not admitted are ended.
    Ok(RollbackStep { event: rollout.finish_rollback(now), is_due: true })
}
