//! The denied requests of each user: one of a kind is recorded, the others of the same minute are only counted, in memory. Whoever repeats
//! them, from whatever address, neither reads nor writes the database. What could not be recorded is counted with the others, and the next
//! one after [`RETRY_MILLIS`] is recorded.

use std::collections::HashMap;

use domain::Timestamp;
use domain::authorization::UserAction;
use parking_lot::Mutex;

use super::REPEAT_MILLIS;

/// Kinds of denied requests above which those of earlier minutes are forgotten, with what was counted of them.
const MAX_KINDS: usize = 1_000;
/// Time after which a denied request is recorded if the one before it could not be. It is not 0: requests that nobody may send must not
/// occupy a database that does not respond.
const RETRY_MILLIS: i64 = 10_000;

/// Denied requests that were counted, by user and action.
#[derive(Debug, Default)]
pub(crate) struct DenialCounts(Mutex<HashMap<DenialKind, DenialCount>>);

/// User and action.
type DenialKind = (String, &'static str);

#[derive(Debug)]
struct DenialCount {
    /// Until when others are only counted.
    counted_until: Timestamp,
    /// Those that were only counted.
    others: u64,
}

/// A denied request that has to be recorded. Dropped without [`Self::confirm`], because the write has failed or the request has ended
/// before, it is counted as one that is not recorded.
#[derive(Debug)]
pub(crate) struct DueDenial<'a> {
    counts: &'a DenialCounts,
    kind: DenialKind,
    others: u64,
    /// Until when others are only counted because of this one.
    counted_until: Timestamp,
    retry_at: Timestamp,
    is_recorded: bool,
}

impl DenialCounts {
    /// Counts a denied request; `Some` if it has to be recorded.
    pub fn count(&self, actor: &str, action: UserAction, now: Timestamp) -> Option<DueDenial<'_>> {
        let mut kinds = self.0.lock();
        if kinds.len() >= MAX_KINDS {
            kinds.retain(|_, count| count.counted_until > now);
        }
        let kind = (actor.to_owned(), action.as_str());
        if let Some(count) = kinds.get_mut(&kind).filter(|count| count.counted_until > now) {
            count.others += 1;
            return None;
        }
        let counted_until = now.plus_millis(REPEAT_MILLIS);
        let before = kinds.insert(kind.clone(), DenialCount { counted_until, others: 0 });
        let others = before.map_or(0, |count| count.others);
        let retry_at = now.plus_millis(RETRY_MILLIS);
        Some(DueDenial { counts: self, kind, others, counted_until, retry_at, is_recorded: false })
    }
}

impl DueDenial<'_> {
    /// How many before it were only counted.
    pub const fn others(&self) -> u64 {
        self.others
    }

    /// It was recorded, with the number of the others.
    pub fn confirm(mut self) {
        self.is_recorded = true;
    }
}

impl Drop for DueDenial<'_> {
    fn drop(&mut self) {
        if self.is_recorded {
            return;
        }
        let mut kinds = self.counts.0.lock();
        let forgotten = || DenialCount { counted_until: self.retry_at, others: 0 };
        let count = kinds.entry(self.kind.clone()).or_insert_with(forgotten);
        // A later one that was due begins a minute of its own, which this one does not end.
        if count.counted_until == self.counted_until {
            count.counted_until = self.retry_at;
        }
        count.others += self.others + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_000 * seconds)
    }

    /// Counts a denied request, and records it if it has to be. Returns how many before it were only counted.
    fn record(counts: &DenialCounts, actor: &str, action: UserAction, seconds: i64) -> Option<u64> {
        let due = counts.count(actor, action, at(seconds))?;
        let others = due.others();
        due.confirm();
        Some(others)
    }

    #[test]
    fn p20_denied_requests_of_a_user_are_counted_and_recorded_once_a_minute() {
        let counts = DenialCounts::default();
        assert_eq!(record(&counts, "eve", UserAction::Publish, 100), Some(0));
        for second in 101..160 {
            assert_eq!(record(&counts, "eve", UserAction::Publish, second), None);
        }
        assert_eq!(record(&counts, "eve", UserAction::Edit, 120), Some(0), "another action");
        assert_eq!(record(&counts, "bob", UserAction::Publish, 120), Some(0), "another user");
        assert_eq!(record(&counts, "eve", UserAction::Publish, 160), Some(59));
        assert_eq!(record(&counts, "eve", UserAction::Publish, 161), None);
    }

    #[test]
    fn p20_denied_requests_of_earlier_minutes_are_forgotten() {
        let counts = DenialCounts::default();
        for user in 0..10 * MAX_KINDS {
            let second = 60 * i64::try_from(user).unwrap();
            record(&counts, &format!("user-{user}"), UserAction::Edit, second);
        }
        assert!(counts.0.lock().len() <= MAX_KINDS);
    }

    #[test]
    fn a_denied_request_that_was_not_recorded_is_counted_with_the_others_by_the_next_one() {
        let counts = DenialCounts::default();
        assert_eq!(record(&counts, "eve", UserAction::Publish, 0), Some(0));
        assert_eq!(record(&counts, "eve", UserAction::Publish, 30), None);
        // The database does not respond, and meanwhile more are denied.
        let due = counts.count("eve", UserAction::Publish, at(60)).expect("a minute is over");
        assert_eq!(due.others(), 1);
        assert_eq!(record(&counts, "eve", UserAction::Publish, 61), None);
        drop(due);
        assert_eq!(record(&counts, "eve", UserAction::Publish, 69), None, "the database is left alone");
        assert_eq!(record(&counts, "eve", UserAction::Publish, 70), Some(4));
        assert_eq!(record(&counts, "eve", UserAction::Publish, 71), None);
    }

    #[test]
    fn a_denied_request_that_was_not_recorded_leaves_the_minute_of_a_later_one_that_was() {
        let counts = DenialCounts::default();
        let hanging = counts.count("eve", UserAction::Publish, at(0)).expect("it is the first one");
        assert_eq!(record(&counts, "eve", UserAction::Publish, 60), Some(0));
        drop(hanging);
        for second in 66..120 {
            assert_eq!(record(&counts, "eve", UserAction::Publish, second), None, "{second}");
        }
        assert_eq!(record(&counts, "eve", UserAction::Publish, 120), Some(1 + 54));
    }
}
