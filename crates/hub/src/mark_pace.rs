//! How often what an agent reports lets other workloads be placed again.
//!
//! A report about one cluster can require a pass over workloads of all clusters: over those that depend on what it is about, or, if the facts of
//! the cluster change, over all. An agent that changes its mind all the time, or one whose credential was stolen, must not keep the placer
//! busy with that. So each cluster has some marks that are due at once; beyond those a mark is due when the cluster has one again. Marks of a
//! workload that is due already cost nothing, so that an agent causes two passes per interval at most.
//!
//! Only the time of a mark is decided here: the mark itself is a row that is written in the transaction of the report, so that none is lost
//! when a server ends, and any server works on it. Each server counts by itself what agents report to it.

use std::collections::HashMap;

use domain::{ClusterId, Timestamp};
use parking_lot::Mutex;

/// What a mark is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MarkCause {
    /// A state of a release or of the cluster: workloads that depend on others are placed again where they are on the cluster.
    State,
    /// A release became available: its workload is placed again if removals wait for that.
    Availability,
    /// Facts of the cluster from which manifests are rendered: all workloads are placed again.
    Facts,
}

impl MarkCause {
    /// Milliseconds in which a cluster gets one mark that is due at once.
    const fn interval_millis(self) -> i64 {
        match self {
            Self::State | Self::Availability => 10_000,
            Self::Facts => 60_000,
        }
    }

    /// Most marks of a cluster that are due at once, one after the other.
    const fn burst(self) -> i64 {
        match self {
            Self::State => 30,
            Self::Availability => 200,
            Self::Facts => 20,
        }
    }
}

/// Entries from which on those without recent marks are dropped before there is memory for more: a new entry is the same.
const RETAINED_ENTRIES: usize = 1_000;

/// The marks of each cluster, as the time at which all of them are available again.
#[derive(Debug, Default)]
pub(crate) struct MarkPace(Mutex<HashMap<(ClusterId, MarkCause), Timestamp>>);

impl MarkPace {
    /// From when on the marks of a transaction are due that a report of this cluster causes; at most an interval from now.
    pub(crate) fn next_due(&self, cluster: ClusterId, cause: MarkCause, now: Timestamp) -> Timestamp {
        let (interval, mut entries) = (cause.interval_millis(), self.0.lock());
        if entries.len() >= RETAINED_ENTRIES.max(entries.capacity()) {
            entries.retain(|_, full_at| *full_at > now);
        }
        let full_at = entries.entry((cluster, cause)).or_insert(now);
        let missing = full_at.millis_since(now);
        let available_in = missing - interval * (cause.burst() - 1);
        if available_in <= 0 {
            *full_at = now.plus_millis(missing + interval);
            return now;
        }
        // No more than an interval, also after the clock was set back.
        now.plus_millis(available_in.min(interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_marks_all_the_time_does_so_once_per_interval_and_others_at_once() {
        let (pace, start) = (MarkPace::default(), Timestamp::from_millis(1_000_000));
        let (flapping, quiet) = (ClusterId::from_parts(1, 1), ClusterId::from_parts(1, 2));
        let mut at_once = 0;
        // For ten minutes, ten times a second.
        for tenth in 0..6_000 {
            let now = start.plus_millis(100 * tenth);
            let due = pace.next_due(flapping, MarkCause::State, now);
            assert!(due.millis_since(now) <= 10_000, "{tenth}");
            at_once += i64::from(due == now);
        }
        assert_eq!(at_once, 30 + 59);
        let end = start.plus_millis(600_000);
        assert_eq!(pace.next_due(quiet, MarkCause::State, end), end);
        assert_eq!(pace.next_due(flapping, MarkCause::Facts, end), end);
        // A clock that was set back delays nothing for longer.
        let before = start.plus_millis(-86_400_000);
        assert_eq!(pace.next_due(flapping, MarkCause::State, before).millis_since(before), 10_000);
    }
}
