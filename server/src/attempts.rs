//! Failed sign-ins of the last minutes, per account and per address, so that nobody guesses passwords for long.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use domain::Timestamp;

/// The time looked back over, in milliseconds.
const WINDOW_MILLIS: i64 = 5 * 60_000;
/// Failures allowed per account in that time.
const PER_ACCOUNT: u32 = 5;
/// Failures allowed per address in that time; more, because a whole office may share one.
const PER_ADDRESS: u32 = 20;
/// Entries kept at most; a flood pushes out the entries with the fewest failures, never the ones that are blocked.
const MOST_ENTRIES: usize = 20_000;

/// Who is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// A name somebody tries to sign in with; need not exist.
    Account(String),
    /// Where the tries come from.
    Address(IpAddr),
}

impl Who {
    fn allowed(&self) -> u32 {
        match self {
            Self::Account(_) => PER_ACCOUNT,
            Self::Address(_) => PER_ADDRESS,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    since: Timestamp,
}

/// The failures.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<HashMap<Who, Failures>>);

impl Attempts {
    /// Milliseconds until this one may try again; `None` if now.
    pub fn blocked(&self, who: &Who, now: Timestamp) -> Option<i64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = all.get(who).filter(|failures| failures.is_fresh(now))?;
        (failures.count >= who.allowed()).then(|| WINDOW_MILLIS - now.since(failures.since))
    }

    /// A try failed.
    pub fn failed(&self, who: &Who, now: Timestamp) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_ENTRIES && !all.contains_key(who) {
            make_room(&mut all, now);
        }
        let failures = all.entry(who.clone()).or_insert(Failures { count: 0, since: now });
        if !failures.is_fresh(now) {
            *failures = Failures { count: 0, since: now };
        }
        failures.count += 1;
    }

    /// A try worked: what failed before was the same person.
    pub fn worked(&self, who: &Who) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(who);
    }
}

impl Failures {
    fn is_fresh(&self, now: Timestamp) -> bool {
        now.since(self.since) < WINDOW_MILLIS
    }
}

fn make_room(all: &mut HashMap<Who, Failures>, now: Timestamp) {
    all.retain(|_, failures| failures.is_fresh(now));
    let mut least = 1;
    while all.len() >= MOST_ENTRIES {
        all.retain(|who, failures| failures.count > least || failures.count >= who.allowed());
        least += 1;
        if least > PER_ADDRESS {
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
        let (attempts, who) = (Attempts::default(), Who::Account("ada".into()));
        for n in 0..5 {
            assert_eq!(attempts.blocked(&who, at(n)), None);
            attempts.failed(&who, at(n));
        }
        assert_eq!(attempts.blocked(&who, at(1_000)), Some(WINDOW_MILLIS - 1_000));
        assert_eq!(attempts.blocked(&who, at(WINDOW_MILLIS + 1)), None);
    }

    #[test]
    fn who_gets_in_starts_anew() {
        let (attempts, who) = (Attempts::default(), Who::Account("ada".into()));
        (0..4).for_each(|_| attempts.failed(&who, at(0)));
        attempts.worked(&who);
        attempts.failed(&who, at(1));
        assert_eq!(attempts.blocked(&who, at(2)), None);
    }

    #[test]
    fn a_flood_of_names_fills_no_memory_and_frees_nobody_who_is_blocked() {
        let (attempts, blocked) = (Attempts::default(), Who::Account("ada".into()));
        (0..5).for_each(|_| attempts.failed(&blocked, at(0)));
        for n in 0..MOST_ENTRIES * 2 {
            attempts.failed(&Who::Account(format!("x{n}")), at(1));
        }
        assert!(attempts.0.lock().unwrap().len() <= MOST_ENTRIES);
        assert!(attempts.blocked(&blocked, at(2)).is_some());
    }
}
