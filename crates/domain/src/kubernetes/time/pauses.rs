//! Pauses of an observer: intervals in which it could observe nothing, so nothing that it did not see then is a fact.
//!
//! A hub that was suspended, or whose database did not answer, received no heartbeat in that interval. Ages that lead to a
//! decision (the lease of a cluster, a failure timeout, a soak time) are measured without such intervals.

use super::Timestamp;

/// Maximum number of intervals; the oldest is dropped, which can only make an age greater.
const MAX_INTERVALS: usize = 64;

/// Intervals without observation, in order and disjoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pauses(Vec<(Timestamp, Timestamp)>);

impl Pauses {
    /// Adds an interval; intervals that overlap or touch become one.
    pub fn record(&mut self, from: Timestamp, until: Timestamp) {
        if until <= from {
            return;
        }
        let (mut from, mut until) = (from, until);
        self.0.retain(|(begin, end)| {
            let is_apart = *end < from || *begin > until;
            if !is_apart {
                (from, until) = (from.min(*begin), until.max(*end));
            }
            is_apart
        });
        self.0.push((from, until));
        self.0.sort_unstable();
        let surplus = self.0.len().saturating_sub(MAX_INTERVALS);
        self.0.drain(..surplus);
    }

    /// The observed part of the time from `since` to `now`, in milliseconds.
    pub fn observed_millis(&self, since: Timestamp, now: Timestamp) -> i64 {
        let paused =
            |(begin, end): &(Timestamp, Timestamp)| (*end).min(now).millis_since((*begin).max(since));
        now.millis_since(since) - self.0.iter().map(paused).sum::<i64>()
    }

    /// The instant that would be as old as `since` if everything up to `now` had been observed.
    pub fn shift(&self, since: Timestamp, now: Timestamp) -> Timestamp {
        if since >= now { since } else { now.plus_millis(-self.observed_millis(since, now)) }
    }

    /// The latest instant with at least `millis` of observed time between it and `now`.
    pub fn cutoff(&self, now: Timestamp, millis: i64) -> Timestamp {
        let (mut end, mut left) = (now, millis);
        for (begin, until) in self.0.iter().rev().filter(|(begin, _)| *begin < now) {
            let observed = end.millis_since(*until);
            if observed >= left {
                break;
            }
            (end, left) = (*begin, left - observed);
        }
        end.plus_millis(-left)
    }

    /// The earliest instant with `millis` of observed time since `since`, if no other pause follows.
    pub fn deadline(&self, since: Timestamp, millis: i64) -> Timestamp {
        let (mut at, mut left) = (since, millis);
        for (begin, until) in self.0.iter().filter(|(_, until)| *until > since) {
            let observed = begin.millis_since(at);
            if observed >= left {
                break;
            }
            (at, left) = (*until, left - observed);
        }
        at.plus_millis(left)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn pauses(intervals: &[(i64, i64)]) -> Pauses {
        let mut all = Pauses::default();
        for (from, until) in intervals {
            all.record(at(*from), at(*until));
        }
        all
    }

    #[test]
    fn an_age_contains_no_pause() {
        let pauses = pauses(&[(100, 200), (300, 350), (320, 400)]);
        assert_eq!(pauses.observed_millis(at(50), at(450)), 200);
        assert_eq!(pauses.observed_millis(at(150), at(160)), 0);
        assert_eq!(pauses.shift(at(50), at(450)), at(250));
        assert_eq!(pauses.shift(at(500), at(450)), at(500));
        assert_eq!(pauses.cutoff(at(450), 60), at(290));
        assert_eq!(pauses.deadline(at(90), 20), at(210));
    }

    proptest! {
        #[test]
        fn cutoff_and_deadline_agree_with_the_observed_age(
            intervals in prop::collection::vec((0..1_000_i64, 1..100_i64), 0..8),
            since in 0..1_000_i64, now in 0..1_000_i64, millis in 1..300_i64,
        ) {
            let intervals: Vec<(i64, i64)> = intervals.into_iter().map(|(from, length)| (from, from + length)).collect();
            let pauses = pauses(&intervals);
            let (since, now) = (at(since), at(now));
            let is_older = pauses.observed_millis(since, now) >= millis;
            prop_assert_eq!(since <= pauses.cutoff(now, millis), is_older);
            prop_assert_eq!(pauses.deadline(since, millis) <= now, is_older);
            prop_assert!(pauses.observed_millis(since, now) >= 0);
        }
    }
}
