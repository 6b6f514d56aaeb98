//! The offsets of a time zone from UTC around one time, read from a table that only the hub has: in the browser it would be a large
//! part of the program.

use super::Timestamp;

/// The offsets of a zone from UTC, in milliseconds. A local time is the milliseconds from 1970-01-01T00:00 as the clocks of the zone show
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneOffsets {
    first: i64,
    changes: Vec<(Timestamp, i64)>,
}

impl ZoneOffsets {
    /// A zone without changes.
    pub const fn fixed(offset: i64) -> Self {
        Self { first: offset, changes: Vec::new() }
    }

    /// A zone with the offset `first` until the first of these changes, which are in the order of time.
    pub const fn new(first: i64, changes: Vec<(Timestamp, i64)>) -> Self {
        Self { first, changes }
    }

    /// The local time at `at`.
    pub fn to_local(&self, at: Timestamp) -> i64 {
        let change = self.changes.iter().rev().find(|(since, _)| *since <= at);
        at.millis().saturating_add(change.map_or(self.first, |(_, offset)| *offset))
    }

    /// The first time at which the clocks show `local` or later: of a local time that they show twice the first one, and for one that
    /// they skip the time of the change.
    pub fn first_at(&self, local: i64) -> Timestamp {
        let (mut since, mut offset) = (i64::MIN, self.first);
        for (change, next) in &self.changes {
            let at = local.saturating_sub(offset).max(since);
            if at < change.millis() {
                return Timestamp::from_millis(at);
            }
            (since, offset) = (change.millis(), *next);
        }
        Timestamp::from_millis(local.saturating_sub(offset).max(since))
    }
}
