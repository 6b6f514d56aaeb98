//! Limits failed sign-ins per account and per address, against password guessing.

use std::collections::HashMap;
use std::net::IpAddr;

use domain::Timestamp;
use parking_lot::Mutex;

/// Time window, in milliseconds.
const WINDOW_MILLIS: i64 = 5 * 60_000;
/// Failures allowed per account in the window.
const MAX_FAILURES_PER_ACCOUNT: u32 = 5;
/// Failures allowed per address in the window; more, because many people may share one.
const MAX_FAILURES_PER_ADDRESS: u32 = 20;
/// Largest number of entries; when it is reached, entries with the fewest failures are evicted, never blocked ones.
const MAX_ENTRIES: usize = 20_000;

/// Key of a failure counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AttemptKey {
    /// A user name; need not exist.
    Account(String),
    /// The client's address.
    Address(IpAddr),
}

impl AttemptKey {
    fn max_failures(&self) -> u32 {
        match self {
            Self::Account(_) => MAX_FAILURES_PER_ACCOUNT,
            Self::Address(_) => MAX_FAILURES_PER_ADDRESS,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct FailureCount {
    count: u32,
    since: Timestamp,
}

/// Failure counters by key.
#[derive(Debug, Default)]
pub struct FailedAttempts(Mutex<HashMap<AttemptKey, FailureCount>>);

impl FailedAttempts {
    /// Milliseconds until the next attempt is allowed; `None` if it is allowed now.
    pub fn blocked_for(&self, who: &AttemptKey, now: Timestamp) -> Option<i64> {
        let all = self.0.lock();
        let failures = all.get(who).filter(|failures| failures.is_fresh(now))?;
        (failures.count >= who.max_failures()).then(|| WINDOW_MILLIS - now.millis_since(failures.since))
    }

    /// Counts a failed attempt.
    pub fn record_failure(&self, who: &AttemptKey, now: Timestamp) {
        let mut all = self.0.lock();
        if all.len() >= MAX_ENTRIES && !all.contains_key(who) {
            evict_entries(&mut all, now);
        }
        let failures = all.entry(who.clone()).or_insert(FailureCount { count: 0, since: now });
        if !failures.is_fresh(now) {
            *failures = FailureCount { count: 0, since: now };
        }
        failures.count += 1;
    }

    /// Resets the counter after a successful attempt.
    pub fn reset(&self, who: &AttemptKey) {
        self.0.lock().remove(who);
    }
}

impl FailureCount {
    fn is_fresh(&self, now: Timestamp) -> bool {
        now.millis_since(self.since) < WINDOW_MILLIS
    }
}

fn evict_entries(all: &mut HashMap<AttemptKey, FailureCount>, now: Timestamp) {
    all.retain(|_, failures| failures.is_fresh(now));
    let mut least = 1;
    while all.len() >= MAX_ENTRIES {
        all.retain(|who, failures| failures.count > least || failures.count >= who.max_failures());
        least += 1;
        if least > MAX_FAILURES_PER_ADDRESS {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn an_account_is_blocked_after_five_failures_for_five_minutes() {
        let (attempts, who) = (FailedAttempts::default(), AttemptKey::Account("ada".into()));
        for n in 0..5 {
            assert_eq!(attempts.blocked_for(&who, at(n)), None);
            attempts.record_failure(&who, at(n));
        }
        assert_eq!(attempts.blocked_for(&who, at(1_000)), Some(WINDOW_MILLIS - 1_000));
        assert_eq!(attempts.blocked_for(&who, at(WINDOW_MILLIS + 1)), None);
    }

    #[test]
    fn a_successful_attempt_resets_the_counter() {
        let (attempts, who) = (FailedAttempts::default(), AttemptKey::Account("ada".into()));
        (0..4).for_each(|_| attempts.record_failure(&who, at(0)));
        attempts.reset(&who);
        attempts.record_failure(&who, at(1));
        assert_eq!(attempts.blocked_for(&who, at(2)), None);
    }

    #[test]
    fn a_flood_of_names_is_bounded_in_memory_and_unblocks_nobody() {
        let (attempts, blocked) = (FailedAttempts::default(), AttemptKey::Account("ada".into()));
        (0..5).for_each(|_| attempts.record_failure(&blocked, at(0)));
        for n in 0..MAX_ENTRIES * 2 {
            attempts.record_failure(&AttemptKey::Account(format!("x{n}")), at(1));
        }
        assert!(attempts.0.lock().len() <= MAX_ENTRIES);
        assert!(attempts.blocked_for(&blocked, at(2)).is_some());
    }
}
