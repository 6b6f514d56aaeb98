//! The modes of a request: one cluster after the other, and the rollback of clusters on which it fails (S1-10).

use crate::model::rollout::{CountOrPercent, OnFailure, RolloutStrategy, Wave, at_once_waves};

/// Sets the rollout that a request asks for. With `is_rolling` the next cluster is updated when the one before is operational, a failure
/// pauses the rollout, and unreachable clusters block none of the others. With `is_atomic` a cluster on which it fails is rolled
/// back. Without both, all are updated at once. Waves that a user has set stay; of them only a rollback can be requested.
pub fn set_request_modes(rollout: &mut RolloutStrategy, is_rolling: bool, is_atomic: bool) {
    let rolling = list_rolling_waves();
    let is_of_request = rollout.is_at_once() || rollout.waves == rolling || rollout.waves == at_once_waves();
    if !is_of_request {
        if is_atomic {
            rollout.set_cluster_rollback(true);
        }
    } else if is_rolling {
        rollout.waves = rolling;
        rollout.on_failure = if is_atomic { OnFailure::RollbackCluster } else { OnFailure::Pause };
    } else {
        if rollout.waves == rolling {
            rollout.waves = at_once_waves();
        }
        rollout.set_cluster_rollback(is_atomic);
    }
}

/// One wave with all clusters.
fn list_rolling_waves() -> Vec<Wave> {
    let wave = Wave {
        name: "rolling".to_owned(),
        max_concurrency: Some(CountOrPercent::Count(1)),
        max_deferred: Some(CountOrPercent::Percent(100)),
        ..Wave::default()
    };
    vec![wave]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_10_a_mode_is_set_for_a_request_and_never_replaces_the_waves_of_a_user() {
        let mut rollout = RolloutStrategy::default();
        set_request_modes(&mut rollout, false, false);
        assert_eq!(rollout, RolloutStrategy::default());
        set_request_modes(&mut rollout, true, false);
        assert_eq!(rollout.waves.iter().map(|wave| wave.concurrency_limit(7)).collect::<Vec<_>>(), [1]);
        assert!(rollout.on_failure.is_pause());
        set_request_modes(&mut rollout, true, true);
        assert_eq!((rollout.on_failure, &rollout.waves), (OnFailure::RollbackCluster, &list_rolling_waves()));
        set_request_modes(&mut rollout, false, true);
        assert!(rollout.has_only_rollback());
        set_request_modes(&mut rollout, false, false);
        assert_eq!(rollout, RolloutStrategy::default(), "the next request is for all at once");

        let own = vec![Wave { name: "canary".to_owned(), ..Wave::default() }, Wave::default()];
        for is_rolling in [true, false] {
            let mut rollout = RolloutStrategy { waves: own.clone(), ..RolloutStrategy::default() };
            set_request_modes(&mut rollout, is_rolling, true);
            // A later request without it does not undo what may be the choice of a user.
            set_request_modes(&mut rollout, is_rolling, false);
            assert_eq!((rollout.waves, rollout.on_failure), (own.clone(), OnFailure::RollbackCluster));
        }
    }
}
