//! The step: from the states of the admitted clusters, computes which clusters may be admitted next.
//!
//! It is level-triggered: the result depends only on the rollout, the counts and the time, so a lost wake-up, a restart or
//! a second server changes nothing.

use super::{Rollout, RolloutEvent, RolloutState, Wave, WaveProgress};
use crate::kubernetes::time::{Pauses, Timestamp};
use crate::model::release::ReleaseState;

/// The clusters of one wave, counted by state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaveCounts {
    /// Not admitted yet.
    pub gated: u32,
    /// Being updated, or changed on the cluster after it was.
    pub in_transition: u32,
    /// Of these: changed on the cluster.
    pub drifted: u32,
    /// Operational, by a report that says so.
    pub operational: u32,
    /// Of the operational ones: those whose cluster is late, so that their state may be out of date.
    pub late: u32,
    /// Offline since before their admission, or waiting for a value that the cluster has not reported.
    pub deferred: u32,
    /// Failing, or offline since their admission, for at least the strategy's `fail_after`.
    pub failing: u32,
    /// Failing, or offline since their admission, for a shorter time.
    pub recently_failing: u32,
    /// Of the failing and recently failing ones: offline since their admission.
    pub silent: u32,
    /// Rolled back, whatever their state.
    pub rolled_back: u32,
    /// When the first of these started to fail.
    pub recently_failing_since: Option<Timestamp>,
}

/// Clusters of one wave in one state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateCount {
    /// Number of clusters.
    pub count: u32,
    /// How many of them are in this state for at least the strategy's `fail_after`.
    pub past_fail_after: u32,
    /// When the first of the others entered the state.
    pub since: Option<Timestamp>,
    /// Whether their clusters are late.
    pub is_late: bool,
    /// Whether their clusters were offline when they were admitted, and have been since.
    pub is_admitted_offline: bool,
}

impl WaveCounts {
    /// Adds clusters in `state`; `held` if they are not admitted.
    pub fn add(&mut self, held: bool, state: ReleaseState, alike: &StateCount) {
        let StateCount { count: n, past_fail_after: settled, since, is_late, is_admitted_offline } = *alike;
        let is_silent = state == ReleaseState::Unknown && !is_admitted_offline;
        // Every state is named: what a new one means for a wave has to be decided.
        match state {
            _ if held => self.gated += n,
            ReleaseState::Pending => self.deferred += n,
            ReleaseState::Unknown if !is_silent => self.deferred += n,
            ReleaseState::Unknown | ReleaseState::Failed | ReleaseState::Degraded | ReleaseState::Blocked => {
                self.silent += if is_silent { n } else { 0 };
                self.failing += settled;
                self.recently_failing += n.saturating_sub(settled);
                self.recently_failing_since =
                    [self.recently_failing_since, since].into_iter().flatten().min();
            }
            ReleaseState::Queued
            | ReleaseState::Pulling
            | ReleaseState::Applying
            | ReleaseState::Progressing
            | ReleaseState::Removing
            | ReleaseState::Terminating
            | ReleaseState::Stale => self.in_transition += n,
            // Other fields than those of the revision run: nothing is known about the revision itself.
            ReleaseState::Drifted => {
                self.in_transition += n;
                self.drifted += n;
            }
            // The manifest itself suspends it, or the policy accepts that nothing says whether it works.
            ReleaseState::Healthy | ReleaseState::Suspended | ReleaseState::NotAssessed
            // Nothing is left to wait for on a cluster that the workload has left.
            | ReleaseState::Removed
            | ReleaseState::Orphaned
            | ReleaseState::Abandoned => {
                self.operational += n;
                self.late += if is_late { n } else { 0 };
            }
        }
    }

    fn total(&self) -> u32 {
        self.gated
            + self.in_transition
            + self.operational
            + self.deferred
            + self.failing
            + self.recently_failing
            + self.rolled_back
    }
}

/// Which clusters may be admitted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// Clusters of this wave and, without a limit, of all earlier waves.
    pub wave: u32,
    /// Maximum number of clusters of this wave.
    pub limit: u32,
}

/// The result of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RolloutStep {
    /// Which clusters may be admitted now.
    pub admission: Option<Admission>,
    /// Whether the gates of the clusters that are not admitted have to be ended.
    pub end_gates: bool,
    /// The first wave whose clusters have to be rolled back, with those after it.
    pub roll_back: Option<u32>,
    /// When the next step is due if nothing changes before.
    pub next_step_at: Option<Timestamp>,
    /// What changed.
    pub events: Vec<RolloutEvent>,
}

impl Rollout {
    /// Updates the progress of its waves without a step.
    pub fn update_progress(&mut self, tallies: &[WaveCounts]) {
        for (progress, tally) in self.waves.iter_mut().zip(tallies) {
            progress.update(tally);
        }
    }

    /// Updates the progress of its waves and advances as far as they allow.
    /// Times in `pauses` are not counted: the clusters could not report in them.
    pub fn reconcile(&mut self, tallies: &[WaveCounts], now: Timestamp, pauses: &Pauses) -> RolloutStep {
        let mut step = RolloutStep::default();
        if self.state.is_given_up() || self.state == RolloutState::Superseded {
            // The progress stays as it was; the gates of an aborted or rolled back rollout are ended.
            step.end_gates = self.state != RolloutState::Superseded;
            if let RolloutState::RolledBack { first_wave, .. } = self.state {
                // One that was suspended meanwhile is rolled back once it is resumed.
                step.roll_back = Some(first_wave);
            }
            return step;
        }
        self.update_progress(tallies);
        match &self.state {
            RolloutState::RollingBack { first_wave, .. } => {
                step.roll_back = Some(*first_wave);
                return step;
            }
            // A cluster that joins after completion is admitted immediately.
            RolloutState::Completed => {
                let any_gated = tallies.iter().any(|tally| tally.gated > 0);
                step.admission = any_gated.then_some(Admission { wave: self.wave, limit: u32::MAX });
                return step;
            }
            RolloutState::AwaitingApproval
            | RolloutState::AwaitingResultApproval
            | RolloutState::AwaitingClusters { .. }
            | RolloutState::Running
            | RolloutState::Soaking { .. } => {}
            _ => return step,
        }
        let before = (self.state.clone(), self.wave);
        if !self.initialized {
            self.initialize(&mut step);
        }
        self.record_exceeded(tallies, now, &mut step);
        self.advance_waves(tallies, now, pauses);
        if let RolloutState::RollingBack { first_wave, .. } = self.state {
            step.roll_back = Some(first_wave);
        }
        self.push_events(&before, &mut step);
        self.admit_clusters(tallies, now, &mut step);
        let grace = self.strategy.fail_after_millis();
        let wavering =
            tallies.iter().take(self.wave as usize + 1).filter_map(|tally| tally.recently_failing_since);
        let breaks = wavering.map(|since| pauses.deadline(since, grace)).min();
        let soaked = match self.state {
            RolloutState::Soaking { until } => Some(until),
            _ => None,
        };
        step.next_step_at = [breaks, soaked, self.opens_at].into_iter().flatten().min();
        step
    }

    /// Excludes the clusters that already fail: the new revision did not cause that.
    fn initialize(&mut self, step: &mut RolloutStep) {
        self.initialized = true;
        for progress in &mut self.waves {
            progress.accepted_failures = progress.failing;
        }
        if self.state == RolloutState::AwaitingApproval {
            let (to, wave) = (self.state.clone(), self.current_wave());
            step.events.push(RolloutEvent::StateChanged { from: None, to, wave });
        }
    }

    /// Advances wave by wave up to the first that is not complete.
    fn advance_waves(&mut self, tallies: &[WaveCounts], now: Timestamp, pauses: &Pauses) {
        loop {
            let at = self.wave as usize;
            if self.stop_on_failures(tallies, now) {
                return;
            }
            if self.state == RolloutState::AwaitingApproval {
                return;
            }
            let (Some(wave), Some(tally)) = (self.strategy.waves.get(at), tallies.get(at)) else { return };
            if let Some(blocked) = self.find_blocking_state(at, tally) {
                self.waves[at].operational_at = None;
                // An approval is of the result that was there.
                (self.waves[at].result_approved_by, self.waves[at].result_approved_at) = (None, None);
                self.set_state(blocked, now);
                return;
            }
            if let Some(until) = soak_end(wave, &mut self.waves[at], now, pauses) {
                self.set_state(RolloutState::Soaking { until }, now);
                return;
            }
            if tally.late > 0 && self.state != RolloutState::AwaitingResultApproval {
                // They may have stopped reporting: wait for a heartbeat, or until they are offline. The soak time has passed.
                self.set_state(RolloutState::Running, now);
                return;
            }
            if wave.approval_after && self.waves[at].result_approved_by.is_none() {
                self.set_state(RolloutState::AwaitingResultApproval, now);
                return;
            }
            self.waves[at].done_at = Some(now);
            if at + 1 >= self.strategy.waves.len() {
                self.set_state(RolloutState::Completed, now);
                return;
            }
            self.wave += 1;
            let next = &self.strategy.waves[at + 1];
            let needs_approval = next.approval && self.waves[at + 1].approved_by.is_none();
            // A new wave updates `since` even if the state is the same.
            self.since = now;
            self.state = if needs_approval { RolloutState::AwaitingApproval } else { RolloutState::Running };
        }
    }

    /// The state of the current wave while it is not operational.
    fn find_blocking_state(&self, at: usize, tally: &WaveCounts) -> Option<RolloutState> {
        let is_canary = at == 0 && self.strategy.waves.len() > 1;
        let limit = self.strategy.waves[at].deferral_limit(tally.total(), is_canary);
        if tally.deferred > limit && self.waves[at].promoted_by.is_none() {
            return Some(RolloutState::AwaitingClusters { deferred: tally.deferred, limit });
        }
        let is_operational = tally.gated == 0 && tally.in_transition == 0 && tally.recently_failing == 0;
        (!is_operational).then_some(RolloutState::Running)
    }

    fn admit_clusters(&mut self, tallies: &[WaveCounts], now: Timestamp, step: &mut RolloutStep) {
        self.opens_at = None;
        let (wave, at) = (self.wave, self.wave as usize);
        let most = match (&self.state, self.strategy.waves.get(at), tallies.get(at)) {
            (RolloutState::Running | RolloutState::Soaking { .. }, Some(wave), Some(tally)) => {
                let limit = wave.concurrency_limit(tally.total());
                limit.saturating_sub(tally.in_transition + tally.recently_failing).min(tally.gated)
            }
            (
                RolloutState::AwaitingApproval
                | RolloutState::AwaitingResultApproval
                | RolloutState::AwaitingClusters { .. },
                ..,
            ) => 0,
            _ => return,
        };
        let earlier = tallies.iter().take(at).any(|tally| tally.gated > 0);
        if most == 0 && !earlier {
            return;
        }
        if let Some(opens) = self.strategy.window.as_ref().and_then(|window| window.next_opening(now)) {
            self.opens_at = Some(opens);
            return;
        }
        if most > 0
            && let Some(progress) = self.waves.get_mut(at)
        {
            progress.opened_at = progress.opened_at.or(Some(now));
        }
        step.admission = Some(Admission { wave, limit: most });
    }

    /// Adds the events of what changed since `before`, a state and a wave index.
    fn push_events(&self, before: &(RolloutState, u32), step: &mut RolloutStep) {
        for index in before.1..self.wave {
            let deferred = self.waves[index as usize].deferred;
            step.events.push(RolloutEvent::WaveCompleted { wave: self.wave_position(index), deferred });
        }
        if self.has_loggable_change(before) {
            let (from, to) = (Some(before.0.clone()), self.state.clone());
            step.events.push(RolloutEvent::StateChanged { from, to, wave: self.current_wave() });
        }
    }
}

/// The end of the soak time of a wave whose clusters are done; `None` if it has passed. An empty or promoted wave does not
/// soak.
fn soak_end(wave: &Wave, progress: &mut WaveProgress, now: Timestamp, pauses: &Pauses) -> Option<Timestamp> {
    let since = *progress.operational_at.get_or_insert(now);
    let until = pauses.deadline(since, wave.soak_millis());
    (progress.clusters > 0 && progress.promoted_by.is_none() && until > now).then_some(until)
}

impl WaveProgress {
    fn update(&mut self, tally: &WaveCounts) {
        self.clusters = tally.total();
        self.gated = tally.gated;
        self.in_transition = tally.in_transition;
        self.drifted = tally.drifted;
        self.operational = tally.operational;
        self.deferred = tally.deferred;
        self.failing = tally.failing + tally.recently_failing;
        self.silent = tally.silent;
        self.rolled_back = tally.rolled_back;
    }
}
