//! What a rollout does when more clusters fail than a wave allows ([`OnFailure`]).

use super::{OnFailure, Rollout, RolloutEvent, RolloutState, RolloutStep, WaveCounts, format_clusters};
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
            OnFailure::Pause | OnFailure::Continue => RolloutState::AutoPaused { message },
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
    /// too.
    fn list_exceeded(&self, tallies: &[WaveCounts]) -> Vec<(u32, String)> {
        let started = self.strategy.waves.iter().zip(&self.waves).zip(tallies).take(self.wave as usize + 1);
        let exceeded = (0..).zip(started).filter_map(|(index, ((wave, progress), tally))| {
            let limit = wave.failure_limit(progress.clusters).saturating_add(progress.accepted_failures);
            (tally.failing > limit).then(|| {
                let (failing, verb) = (tally.failing, if tally.failing == 1 { "fails" } else { "fail" });
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

    /// Whether its state may be an incident of its workload.
    pub fn may_open_incident(&self) -> bool {
        self.state.needs_attention()
            || self.count_silent() > 0
            || matches!(self.state, RolloutState::RollingBack { .. })
    }
}
