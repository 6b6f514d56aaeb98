//! The step: given what became of the clusters that were let through, what may go on now.
//!
//! It is level-triggered. Whatever woke it, it looks at the same numbers and says what is missing, so that a lost wake-up,
//! a restart or a second server change nothing.

use super::{News, Rollout, RolloutState, Wave, WaveProgress, upper};
use crate::finding::Severity;
use crate::release::State;
use crate::time::{Timestamp, short_duration};

/// The clusters of one wave by what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaveTally {
    /// Not let through yet.
    pub held: u32,
    /// On their way.
    pub moving: u32,
    /// Operational.
    pub operational: u32,
    /// Not to be heard of, or waiting for what their cluster has not told yet.
    pub deferred: u32,
    /// Broken for longer than a failure takes to count.
    pub failing: u32,
    /// Broken for a shorter time.
    pub wavering: u32,
    /// When the first of the wavering broke.
    pub wavering_since: Option<Timestamp>,
}

/// Clusters of one wave in one state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Alike {
    /// How many.
    pub n: u32,
    /// How many of them have been so for longer than a failure takes to count.
    pub settled: u32,
    /// Since when the first of the others is so.
    pub since: Option<Timestamp>,
}

impl WaveTally {
    /// Adds clusters that are in `state`; `held` if they were not let through.
    pub fn add(&mut self, held: bool, state: State, alike: &Alike) {
        let Alike { n, settled, since } = *alike;
        match state {
            _ if held => self.held += n,
            State::Unknown | State::Pending => self.deferred += n,
            _ if state.is_failing() => {
                self.failing += settled;
                self.wavering += n.saturating_sub(settled);
                self.wavering_since = [self.wavering_since, since].into_iter().flatten().min();
            }
            _ if state.is_moving() || state == State::Stale => self.moving += n,
            _ => self.operational += n,
        }
    }

    fn clusters(&self) -> u32 {
        self.held + self.moving + self.operational + self.deferred + self.failing + self.wavering
    }
}

/// Which clusters may be let through now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LetGo {
    /// Of this wave and, without a limit, of all waves before it.
    pub wave: u32,
    /// How many of this wave.
    pub most: u32,
}

/// What a step says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Who may go on now.
    pub let_go: Option<LetGo>,
    /// Whether those that were not let through are to be told that they never will be.
    pub end_held: bool,
    /// When to look again although nothing happened.
    pub again_at: Option<Timestamp>,
    /// What happened.
    pub news: Vec<News>,
}

impl Rollout {
    /// Takes in what became of its waves, without going on.
    pub fn take(&mut self, tallies: &[WaveTally]) {
        for (progress, tally) in self.waves.iter_mut().zip(tallies) {
            progress.take(tally);
        }
    }

    /// Takes in what became of its waves and goes on as far as they allow.
    pub fn step(&mut self, workload: &str, tallies: &[WaveTally], now: Timestamp) -> Step {
        let mut step = Step::default();
        if matches!(self.state, RolloutState::Aborted { .. } | RolloutState::Superseded) {
            // What it had reached stays told; those that still wait learn that it is over.
            step.end_held = self.state != RolloutState::Superseded;
            return step;
        }
        self.take(tallies);
        match self.state {
            // Who joins after the end gets it at once.
            RolloutState::Completed => {
                let held = tallies.iter().any(|tally| tally.held > 0);
                step.let_go = held.then_some(LetGo { wave: self.wave, most: u32::MAX });
                return step;
            }
            RolloutState::AwaitingApproval | RolloutState::Running | RolloutState::Soaking { .. } => {}
            _ => return step,
        }
        let before = (self.state.clone(), self.wave);
        if !self.begun {
            self.begin(workload, &mut step);
        }
        self.advance(tallies, now);
        self.tell(workload, &before, now, &mut step);
        self.let_go(tallies, now, &mut step);
        let grace = self.strategy.fail_after_millis();
        let wavering = tallies.iter().take(self.wave as usize + 1).filter_map(|tally| tally.wavering_since);
        let breaks = wavering.map(|since| since.plus_millis(grace)).min();
        let soaked = match self.state {
            RolloutState::Soaking { until } => Some(until),
            _ => None,
        };
        step.again_at = [breaks, soaked, self.opens_at].into_iter().flatten().min();
        step
    }

    /// What is broken already is not this revision's doing: a cluster for which it changes nothing may have been so for days.
    fn begin(&mut self, workload: &str, step: &mut Step) {
        self.begun = true;
        for progress in &mut self.waves {
            progress.forgiven = progress.failing;
        }
        if self.state == RolloutState::AwaitingApproval {
            let wave = upper(&self.at_wave());
            let message =
                format!("{workload} revision {}: {wave} waits for somebody to approve it.", self.revision);
            step.news.push(News { message, severity: Severity::Warning });
        }
    }

    /// Moves on wave by wave until one is not over.
    fn advance(&mut self, tallies: &[WaveTally], now: Timestamp) {
        loop {
            let at = self.wave as usize;
            if let Some(why) = self.too_many_fail(tallies) {
                self.enter(RolloutState::AutoPaused { why }, now);
                return;
            }
            if self.state == RolloutState::AwaitingApproval {
                return;
            }
            let (Some(wave), Some(tally)) = (self.strategy.waves.get(at), tallies.get(at)) else { return };
            let over = tally.held == 0 && tally.moving == 0 && tally.wavering == 0;
            if !over {
                self.waves[at].operational_at = None;
                self.enter(RolloutState::Running, now);
                return;
            }
            if let Some(until) = soaks_until(wave, &mut self.waves[at], now) {
                self.enter(RolloutState::Soaking { until }, now);
                return;
            }
            self.waves[at].done_at = Some(now);
            if at + 1 >= self.strategy.waves.len() {
                self.enter(RolloutState::Completed, now);
                return;
            }
            self.wave += 1;
            let next = &self.strategy.waves[at + 1];
            let asks = next.approval && self.waves[at + 1].approved_by.is_none();
            // Through `Paused` or not, a new wave is a new state.
            self.since = now;
            self.state = if asks { RolloutState::AwaitingApproval } else { RolloutState::Running };
        }
    }

    /// Whether more clusters fail than may, in any wave that was begun: what breaks later counts too.
    fn too_many_fail(&self, tallies: &[WaveTally]) -> Option<String> {
        let begun = self.strategy.waves.iter().zip(&self.waves).zip(tallies).take(self.wave as usize + 1);
        let mut over = begun.filter_map(|((wave, progress), tally)| {
            let may = wave.failures(progress.clusters).saturating_add(progress.forgiven);
            (tally.failing > may).then(|| {
                let (failing, verb) = (tally.failing, if tally.failing == 1 { "fails" } else { "fail" });
                format!("{failing} of {} {verb} in {}, {may} may.", clusters(progress.clusters), wave.name)
            })
        });
        over.next()
    }

    fn let_go(&mut self, tallies: &[WaveTally], now: Timestamp, step: &mut Step) {
        self.opens_at = None;
        let (wave, at) = (self.wave, self.wave as usize);
        let most = match (&self.state, self.strategy.waves.get(at), tallies.get(at)) {
            (RolloutState::Running | RolloutState::Soaking { .. }, Some(wave), Some(tally)) => {
                let room = wave.concurrency(tally.clusters());
                room.saturating_sub(tally.moving + tally.wavering).min(tally.held)
            }
            (RolloutState::AwaitingApproval, ..) => 0,
            _ => return,
        };
        let earlier = tallies.iter().take(at).any(|tally| tally.held > 0);
        if most == 0 && !earlier {
            return;
        }
        if let Some(opens) = self.strategy.window.as_ref().and_then(|window| window.opens(now)) {
            self.opens_at = Some(opens);
            return;
        }
        if most > 0
            && let Some(progress) = self.waves.get_mut(at)
        {
            progress.opened_at = progress.opened_at.or(Some(now));
        }
        step.let_go = Some(LetGo { wave, most });
    }

    /// Says what changed.
    fn tell(&self, workload: &str, before: &(RolloutState, u32), now: Timestamp, step: &mut Step) {
        if (&self.state, self.wave) == (&before.0, before.1) {
            return;
        }
        let of = format!("{workload} revision {}", self.revision);
        let mut say = |severity, message: String| step.news.push(News { message, severity });
        for at in before.1..self.wave {
            let progress = &self.waves[at as usize];
            let deferred = match progress.deferred {
                0 => String::new(),
                n => format!("; {} will catch up", clusters(n)),
            };
            say(Severity::Note, format!("{of}: wave {} is operational{deferred}.", progress.name));
        }
        let wave = upper(&self.at_wave());
        match &self.state {
            RolloutState::Soaking { until } => {
                let time = short_duration(until.since(now));
                say(Severity::Note, format!("{of}: {wave} is operational and is watched for {time}."));
            }
            RolloutState::AwaitingApproval => {
                say(Severity::Warning, format!("{of}: {wave} waits for somebody to approve it."));
            }
            RolloutState::AutoPaused { why } => {
                say(Severity::Error, format!("{of}: the rollout paused itself. {why}"));
            }
            RolloutState::Completed => say(Severity::Note, format!("{of}: the rollout is completed.")),
            RolloutState::Running if self.wave > before.1 => {
                say(Severity::Note, format!("{of}: {wave} begins."));
            }
            _ => {}
        }
    }
}

/// Until when a wave that is over is watched; `None` once that is behind it. An empty one, or one that somebody has let
/// through, is not watched.
fn soaks_until(wave: &Wave, progress: &mut WaveProgress, now: Timestamp) -> Option<Timestamp> {
    let since = *progress.operational_at.get_or_insert(now);
    let until = since.plus_millis(wave.soak_millis());
    (progress.clusters > 0 && progress.promoted_by.is_none() && until > now).then_some(until)
}

impl WaveProgress {
    fn take(&mut self, tally: &WaveTally) {
        self.clusters = tally.clusters();
        self.held = tally.held;
        self.moving = tally.moving;
        self.operational = tally.operational;
        self.deferred = tally.deferred;
        self.failing = tally.failing + tally.wavering;
    }
}

fn clusters(n: u32) -> String {
    format!("{n} cluster{}", if n == 1 { "" } else { "s" })
}
