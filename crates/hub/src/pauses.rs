//! Detects pauses of the hub itself: the host was suspended, the process or its database did not answer.
//!
//! The staleness loop confirms every successful pass. If two confirmations lie further apart than [`MAX_INTERVAL`], by the
//! monotonic or by the wall clock (which alone advances while a machine is suspended), no heartbeat could be recorded in
//! between, and no age may contain that time.

use std::time::Duration;

use domain::Timestamp;
use domain::time::Pauses;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{Clock, Hub};

/// The longest time between two confirmations that is no pause: five intervals of the staleness loop.
const MAX_INTERVAL: Duration = Duration::from_secs(5);

/// The pauses of this hub so far.
#[derive(Debug)]
pub(crate) struct PauseDetector(Mutex<Observation>);

#[derive(Debug)]
struct Observation {
    pauses: Pauses,
    /// The last confirmation, by both clocks.
    last: (Timestamp, Instant),
}

impl PauseDetector {
    /// A detector that starts `now`; the time since `last_heartbeat`, if any, was not observed.
    pub fn new(last_heartbeat: Option<Timestamp>, now: Timestamp) -> Self {
        let mut pauses = Pauses::default();
        if let Some(last) = last_heartbeat.filter(|last| now.millis_since(*last) > max_interval_millis()) {
            pauses.record(last, now);
        }
        Self(Mutex::new(Observation { pauses, last: (now, Instant::now()) }))
    }

    /// The pauses up to now, with the current one if the last confirmation is too long ago.
    pub fn observe(&self, clock: &Clock) -> Pauses {
        let mut observation = self.0.lock();
        if !clock.counts_leaps() {
            let now = clock.now();
            let (wall, monotonic) = observation.last;
            let monotonic = i64::try_from(monotonic.elapsed().as_millis()).unwrap_or(i64::MAX);
            let elapsed = monotonic.max(now.millis_since(wall));
            if elapsed > max_interval_millis() {
                observation.pauses.record(now.plus_millis(-elapsed), now);
            }
        }
        observation.pauses.clone()
    }

    /// Heartbeats could be recorded just now.
    pub fn confirm(&self, clock: &Clock) {
        // The time up to now is a pause if it was too long.
        self.observe(clock);
        let mut observation = self.0.lock();
        observation.last = (clock.now(), Instant::now());
    }
}

impl Hub {
    /// The intervals in which this hub could record nothing.
    pub(crate) fn observe_pauses(&self) -> Pauses {
        self.pause_detector().observe(self.clock())
    }
}

fn max_interval_millis() -> i64 {
    i64::try_from(MAX_INTERVAL.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

    use super::*;

    const START: i64 = 1_763_665_200_000;

    fn clock() -> (Clock, Arc<AtomicI64>) {
        let time = Arc::new(AtomicI64::new(START));
        let source = time.clone();
        (Clock::from_fn(move || Timestamp::from_millis(source.load(SeqCst))), time)
    }

    fn observed_millis(pauses: &Pauses, clock: &Clock) -> i64 {
        pauses.observed_millis(Timestamp::from_millis(START), clock.now())
    }

    #[tokio::test(start_paused = true)]
    async fn p29_a_leap_of_the_wall_clock_is_a_pause() {
        let (clock, time) = clock();
        let detector = PauseDetector::new(None, clock.now());
        time.fetch_add(1_000, SeqCst);
        detector.confirm(&clock);
        // A suspended machine: only the wall clock advances.
        time.fetch_add(600_000, SeqCst);
        assert_eq!(observed_millis(&detector.observe(&clock), &clock), 1_000);
        detector.confirm(&clock);
        time.fetch_add(4_000, SeqCst);
        assert_eq!(observed_millis(&detector.observe(&clock), &clock), 5_000);
    }

    #[tokio::test(start_paused = true)]
    async fn p29_time_without_a_successful_pass_is_a_pause() {
        let (clock, time) = clock();
        let detector = PauseDetector::new(None, clock.now());
        for _ in 0..60 {
            // The database does not answer: every pass fails.
            time.fetch_add(1_000, SeqCst);
            tokio::time::advance(Duration::from_secs(1)).await;
            detector.observe(&clock);
        }
        detector.confirm(&clock);
        assert_eq!(observed_millis(&detector.observe(&clock), &clock), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_restart_continues_from_the_last_heartbeat() {
        let (clock, time) = clock();
        time.fetch_add(90_000, SeqCst);
        let detector = PauseDetector::new(Some(Timestamp::from_millis(START + 30_000)), clock.now());
        assert_eq!(observed_millis(&detector.observe(&clock), &clock), 30_000);
    }
}
