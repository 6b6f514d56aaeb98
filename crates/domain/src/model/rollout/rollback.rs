//! The rollback of clusters on which a revision fails, without waves of a user: one wave with all clusters.

use super::{CountOrPercent, RolloutStrategy, Wave};

/// One wave that updates all clusters at once: a rollout without a wave has no state in which clusters could be rolled back. Clusters that
/// are offline block none of the others.
pub fn at_once_waves() -> Vec<Wave> {
    let wave = Wave {
        name: "all-at-once".to_owned(),
        max_deferred: Some(CountOrPercent::Percent(100)),
        ..Wave::default()
    };
    vec![wave]
}

impl RolloutStrategy {
    /// Sets whether clusters are rolled back on which a revision fails. Without waves, all clusters are one; that one is removed again, with
    /// the settings that need a wave.
    pub fn set_rollback_on_failure(&mut self, is_on: bool) {
        let has_own_waves = !self.is_at_once() && self.waves != at_once_waves();
        if has_own_waves {
            self.rollback_on_failure = is_on;
        } else if is_on {
            self.rollback_on_failure = true;
            self.waves = at_once_waves();
        } else {
            *self = Self::default();
        }
    }

    /// Whether its only wave is that of a rollback without waves of a user.
    pub fn has_only_rollback(&self) -> bool {
        self.rollback_on_failure && self.waves == at_once_waves()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check, check_fleet};
    use super::*;

    #[test]
    fn a_rollback_without_waves_has_one_wave_that_is_removed_with_it() {
        let mut strategy = RolloutStrategy::default();
        strategy.set_rollback_on_failure(true);
        assert!(strategy.has_only_rollback() && !strategy.is_at_once());
        assert_eq!(check(&strategy), []);
        assert_eq!(check_fleet(&strategy, &[], &[]), []);
        strategy.fail_after = "10s".parse().ok();
        strategy.set_rollback_on_failure(false);
        assert_eq!(strategy, RolloutStrategy::default(), "no setting stays that needs a wave");
    }

    #[test]
    fn the_waves_of_a_user_stay() {
        let waves = vec![Wave { name: "canary".to_owned(), ..Wave::default() }];
        let mut strategy = RolloutStrategy { waves: waves.clone(), ..RolloutStrategy::default() };
        strategy.set_rollback_on_failure(true);
        assert!(strategy.rollback_on_failure && !strategy.has_only_rollback());
        strategy.set_rollback_on_failure(false);
        assert_eq!(strategy, RolloutStrategy { waves, ..RolloutStrategy::default() });
    }

    #[test]
    fn a_stored_strategy_of_before_rolls_nothing_back() {
        let strategy: RolloutStrategy = serde_json::from_str(r#"{"waves": [{"name": "rest"}]}"#).unwrap();
        assert!(!strategy.rollback_on_failure);
        assert!(!serde_json::to_string(&strategy).unwrap().contains("rollback"));
    }
}
