//! The rolling mode of a request: one cluster after the other (S1-10).

use crate::model::rollout::{CountOrPercent, RolloutStrategy, Wave};

/// Sets the rollout that a request asks for. With `is_rolling` the next cluster is updated when the one before is operational, a failure
/// pauses the rollout, and unreachable clusters block none of the others. Without it, all are updated at once. Waves that a
/// user has set stay in both cases.
pub fn set_rolling_mode(rollout: &mut RolloutStrategy, is_rolling: bool) {
    let waves = list_rolling_waves();
    if is_rolling && rollout.is_at_once() {
        rollout.waves = waves;
    } else if !is_rolling && rollout.waves == waves {
        rollout.waves.clear();
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
    fn s1_10_rolling_mode_is_set_for_a_request_and_never_replaces_the_waves_of_a_user() {
        let mut rollout = RolloutStrategy::default();
        set_rolling_mode(&mut rollout, false);
        assert_eq!(rollout, RolloutStrategy::default());
        set_rolling_mode(&mut rollout, true);
        assert_eq!(rollout.waves.iter().map(|wave| wave.concurrency_limit(7)).collect::<Vec<_>>(), [1]);
        set_rolling_mode(&mut rollout, false);
        assert_eq!(rollout, RolloutStrategy::default(), "the next request is for all at once");

        let own = vec![Wave { name: "canary".to_owned(), ..Wave::default() }, Wave::default()];
        for is_rolling in [true, false] {
            let mut rollout = RolloutStrategy { waves: own.clone(), ..RolloutStrategy::default() };
            set_rolling_mode(&mut rollout, is_rolling);
            assert_eq!(rollout.waves, own);
        }
    }
}
