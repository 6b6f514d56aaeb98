//! Request counters; tests use them to prove that an idle system neither writes nor polls.

use std::sync::atomic::{AtomicU64, Ordering};

/// A snapshot of the counters. All count from the cluster's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// GET of one object or a document, and reviews of permissions.
    pub gets: u64,
    /// Lists.
    pub lists: u64,
    /// Watches started.
    pub watches: u64,
    /// POST.
    pub creates: u64,
    /// PUT.
    pub updates: u64,
    /// PATCH, server-side apply included.
    pub patches: u64,
    /// Server-side apply alone.
    pub applies: u64,
    /// DELETE.
    pub deletes: u64,
    /// Writes committed by clients; a write that changes nothing is not counted.
    pub client_writes: u64,
    /// Writes committed by the cluster's own controllers.
    pub system_writes: u64,
    /// Events sent on watches, bookmarks included.
    pub watch_events: u64,
    /// Bytes of request bodies.
    pub bytes_in: u64,
    /// Bytes of response bodies, watches included.
    pub bytes_out: u64,
}

impl Stats {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.gets + self.lists + self.watches + self.creates + self.updates + self.patches + self.deletes
    }

    /// All committed changes.
    pub fn writes(&self) -> u64 {
        self.client_writes + self.system_writes
    }
}

/// One counter per field of [`Stats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub gets: AtomicU64,
    pub lists: AtomicU64,
    pub watches: AtomicU64,
    pub creates: AtomicU64,
    pub updates: AtomicU64,
    pub patches: AtomicU64,
    pub applies: AtomicU64,
    pub deletes: AtomicU64,
    pub client_writes: AtomicU64,
    pub system_writes: AtomicU64,
    pub watch_events: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
}

/// Adds to a counter.
pub(crate) fn increment(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn snapshot(&self) -> Stats {
        let get = |c: &AtomicU64| c.load(Ordering::Relaxed);
        Stats {
            gets: get(&self.gets),
            lists: get(&self.lists),
            watches: get(&self.watches),
            creates: get(&self.creates),
            updates: get(&self.updates),
            patches: get(&self.patches),
            applies: get(&self.applies),
            deletes: get(&self.deletes),
            client_writes: get(&self.client_writes),
            system_writes: get(&self.system_writes),
            watch_events: get(&self.watch_events),
            bytes_in: get(&self.bytes_in),
            bytes_out: get(&self.bytes_out),
        }
    }
}
