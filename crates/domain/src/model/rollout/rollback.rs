//! What a rollout does when clusters fail ([`OnFailure`]).

use super::{
    CountOrPercent, OnFailure, Rollout, RolloutEvent, RolloutState, RolloutStep, RolloutStrategy, Wave,
    WaveCounts, format_clusters,
};
use crate::kubernetes::time::Timestamp;

impl Rollout {
    /// Pauses the rollout or begins to roll it back, if more clusters fail than a started wave allows and the strategy says so. Returns
    /// whether it did.
    pub(super) fn stop_on_failures(&mut self, tallies: &[WaveCounts], now: Timestamp) -> bool {
        let first = self.list_exceeded(tallies).into_iter().next();
        let Some((wave, message)) = first.filter(|_| self.strategy.on_failure != OnFailure::Continue) else {
            return false;
        };
        let state = match self.strategy.on_failure {
            OnFailure::RollbackWave => RolloutState::RollingBack { message, first_wave: wave },
            OnFailure::RollbackAll => RolloutState::RollingBack { message, first_wave: 0 },
            OnFailure::Pause | OnFailure::RollbackCluster | OnFailure::Continue => {
                RolloutState::AutoPaused { message }
            }
        };
        self.set_state(state, now);
        true
    }

    /// Records the waves in which more clusters fail than allowed, while the rollout continues in spite of that; each of them once.
    pub(super) fn record_exceeded(&mut self, tallies: &[WaveCounts], now: Timestamp, step: &mut RolloutStep) {
        if self.strategy.on_failure != OnFailure::Continue {
            return;
        }
        for (wave, message) in self.list_exceeded(tallies) {
            let progress = &mut self.waves[wave as usize];
            if progress.exceeded_at.is_none() {
                progress.exceeded_at = Some(now);
                step.events.push(RolloutEvent::FailuresAccepted { wave: self.wave_position(wave), message });
            }
        }
    }

    /// The started waves in which more clusters fail than allowed, with a sentence for people. Later failures in earlier waves count
    /// too, and a cluster that was rolled back by itself stays a failure, whatever it runs now.
    fn list_exceeded(&self, tallies: &[WaveCounts]) -> Vec<(u32, String)> {
        let started = self.strategy.waves.iter().zip(&self.waves).zip(tallies).take(self.wave as usize + 1);
        let exceeded = (0..).zip(started).filter_map(|(index, ((wave, progress), tally))| {
            let limit = wave.failure_limit(progress.clusters).saturating_add(progress.accepted_failures);
            let failing = tally.failing.saturating_add(tally.rolled_back);
            (failing > limit).then(|| {
                let verb = if failing == 1 { "fails" } else { "fail" };
                let total = format_clusters(progress.clusters);
                let silent = match tally.silent.min(failing) {
                    0 => String::new(),
                    silent => format!(" ({silent} went offline after the admission)"),
                };
                let message = format!(
                    "{failing} of {total} {verb} in wave {}{silent}; the limit is {limit}.",
                    wave.name
                );
                (index, message)
            })
        });
        exceeded.collect()
    }

    /// Ends a rollback: every cluster of it has the revision of before again. Returns the change.
    pub fn finish_rollback(&mut self, now: Timestamp) -> Option<RolloutEvent> {
        let RolloutState::RollingBack { message, first_wave } = self.state.clone() else { return None };
        let from = Some(self.state.clone());
        self.set_state(RolloutState::RolledBack { message, first_wave }, now);
        Some(RolloutEvent::StateChanged { from, to: self.state.clone(), wave: self.current_wave() })
    }

    /// Whether one of its waves is rolled back, or was.
    pub fn is_rolled_back(&self, at: usize) -> bool {
        match &self.state {
            RolloutState::RollingBack { first_wave, .. } | RolloutState::RolledBack { first_wave, .. } => {
                (*first_wave as usize..=self.wave as usize).contains(&at)
            }
            _ => false,
        }
    }

    /// The waves from this one to the current one: `wave 2 of 3 (eu)`, or `waves 1 to 2 of 3`.
    pub(super) fn describe_waves(&self, first: u32) -> String {
        if first == self.wave {
            return self.current_wave_label();
        }
        format!("waves {} to {} of {}", first + 1, self.wave + 1, self.waves.len())
    }

    /// Whether clusters on which its revision fails are rolled back one by one, also those that get it after it is completed.
    pub const fn rolls_back_clusters(&self) -> bool {
        matches!(self.strategy.on_failure, OnFailure::RollbackCluster)
            && !matches!(self.state, RolloutState::Aborted { .. } | RolloutState::Superseded)
    }

    /// Whether its state may be an incident of its workload.
    pub fn may_open_incident(&self) -> bool {
        self.state.needs_attention()
            || self.count_silent() > 0
            || matches!(self.state, RolloutState::RollingBack { .. })
    }
}

/// The only wave of a rollout that updates all clusters at once and rolls back those that fail: a rollout without a wave has no state in
/// which clusters could be rolled back. Clusters that are offline block none of the others.
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
    /// the settings that need a wave. A rollback of whole waves that a user has set stays.
    pub fn set_cluster_rollback(&mut self, is_on: bool) {
        let has_own_waves = !self.is_at_once() && self.waves != at_once_waves();
        match (is_on, has_own_waves) {
            (true, true) if self.on_failure.is_rollback() => {}
            (true, true) => self.on_failure = OnFailure::RollbackCluster,
            (true, false) => {
                self.on_failure = OnFailure::RollbackCluster;
                self.waves = at_once_waves();
            }
            (false, true) if self.on_failure == OnFailure::RollbackCluster => {
                self.on_failure = OnFailure::Pause;
            }
            (false, true) => {}
            (false, false) => *self = Self::default(),
        }
    }

    /// Whether its only wave is that of a rollback without waves of a user, with or without an approval that the project requires.
    pub fn has_only_rollback(&self) -> bool {
        let is_that_wave = match self.waves.as_slice() {
            [only] => at_once_waves() == [Wave { approval: false, ..only.clone() }],
            _ => false,
        };
        is_that_wave && self.on_failure == OnFailure::RollbackCluster
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check, check_fleet};
    use super::*;

    #[test]
    fn s1_10_a_rollback_without_waves_has_one_wave_that_is_removed_with_it() {
        let mut strategy = RolloutStrategy::default();
        strategy.set_cluster_rollback(true);
        assert!(strategy.has_only_rollback() && !strategy.is_at_once());
        assert_eq!(check(&strategy), []);
        assert_eq!(check_fleet(&strategy, &[], &[]), []);
        strategy.fail_after = "10s".parse().ok();
        strategy.set_cluster_rollback(false);
        assert_eq!(strategy, RolloutStrategy::default(), "no setting stays that needs a wave");
    }

    #[test]
    fn s1_10_the_waves_of_a_user_stay_and_so_does_a_rollback_of_them() {
        let waves = vec![Wave { name: "canary".to_owned(), ..Wave::default() }];
        let mut strategy = RolloutStrategy { waves: waves.clone(), ..RolloutStrategy::default() };
        strategy.set_cluster_rollback(true);
        assert_eq!(strategy.on_failure, OnFailure::RollbackCluster);
        assert!(!strategy.has_only_rollback());
        strategy.set_cluster_rollback(false);
        assert_eq!(strategy, RolloutStrategy { waves, ..RolloutStrategy::default() });
        strategy.on_failure = OnFailure::RollbackAll;
        for is_on in [true, false] {
            strategy.set_cluster_rollback(is_on);
            assert_eq!(strategy.on_failure, OnFailure::RollbackAll);
        }
    }

    #[test]
    fn a_stored_strategy_of_before_rolls_nothing_back() {
        let strategy: RolloutStrategy = serde_json::from_str(r#"{"waves": [{"name": "rest"}]}"#).unwrap();
        assert!(!strategy.on_failure.is_rollback());
        assert!(!serde_json::to_string(&strategy).unwrap().contains("rollback"));
    }
}
