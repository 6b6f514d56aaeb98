//! The denied requests of each user: one of a kind is recorded, the others of the same minute are only counted, in memory. Whoever repeats
//! them, from whatever address, neither reads nor writes the database.

use std::collections::HashMap;

use domain::Timestamp;
use domain::authorization::UserAction;
use parking_lot::Mutex;

use super::REPEAT_MILLIS;

/// Kinds of denied requests above which those of earlier minutes are forgotten, with what was counted of them.
const MAX_KINDS: usize = 1_000;

/// Denied requests that were counted, by user and action.
#[derive(Debug, Default)]
pub(crate) struct DenialCounts(Mutex<HashMap<(String, &'static str), DenialCount>>);

#[derive(Debug)]
struct DenialCount {
    /// When one was recorded.
    recorded_at: Timestamp,
    /// Those since then.
    others: u64,
}

impl DenialCounts {
    /// Counts a denied request. If it has to be recorded, returns how many before it were only counted.
    pub fn count(&self, actor: &str, action: UserAction, now: Timestamp) -> Option<u64> {
        let mut kinds = self.0.lock();
        let since = now.plus_millis(-REPEAT_MILLIS);
        if kinds.len() >= MAX_KINDS {
            kinds.retain(|_, count| count.recorded_at > since);
        }
        let kind = (actor.to_owned(), action.as_str());
        if let Some(count) = kinds.get_mut(&kind).filter(|count| count.recorded_at > since) {
            count.others += 1;
            return None;
        }
        let before = kinds.insert(kind, DenialCount { recorded_at: now, others: 0 });
        Some(before.map_or(0, |count| count.others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p20_denied_requests_of_a_user_are_counted_and_recorded_once_a_minute() {
        let counts = DenialCounts::default();
        let count = |actor: &str, action: UserAction, seconds: i64| {
            counts.count(actor, action, Timestamp::from_millis(1_000 * seconds))
        };
        assert_eq!(count("eve", UserAction::Publish, 100), Some(0));
        for second in 101..160 {
            assert_eq!(count("eve", UserAction::Publish, second), None);
        }
        assert_eq!(count("eve", UserAction::Edit, 120), Some(0), "another action");
        assert_eq!(count("bob", UserAction::Publish, 120), Some(0), "another user");
        assert_eq!(count("eve", UserAction::Publish, 160), Some(59));
        assert_eq!(count("eve", UserAction::Publish, 161), None);
    }

    #[test]
    fn p20_denied_requests_of_earlier_minutes_are_forgotten() {
        let counts = DenialCounts::default();
        for user in 0..10 * MAX_KINDS {
            let minute = 60_000 * i64::try_from(user).unwrap();
            counts.count(&format!("user-{user}"), UserAction::Edit, Timestamp::from_millis(minute));
        }
        assert!(counts.0.lock().len() <= MAX_KINDS);
    }
}
