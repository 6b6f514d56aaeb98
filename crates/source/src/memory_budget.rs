//! How much memory a server uses at once for content that others chose: one budget per kind, for the whole process.
//!
//! Each single input has a limit of its own; without a budget, many inputs at the same time have none. The memory is reserved before it
//! is allocated, by what the input can need at most. A reservation that is not free waits for others to end, and fails after
//! [`RESERVE_WAIT`]: then the request is answered with 503, or the background task tries again later.
//!
//! The budgets together are seven eighths of the memory that the process may use, or less: a server in a small container refuses
//! earlier, instead of being killed. Each is given in parts of 64 of that memory. A budget is created here only, so that none is left out.
//!
//! What has a reservation waits for another one only in this order: for the public page, the body of the request while it arrives, the
//! complete body, the response, the values of the body, the values of a chart, what is received of another server, what is parsed of it,
//! the manifests of a workload, the schemas of its clusters; for each in the share of the client first, then in the budget of all. Two that
//! extended reservations of the same budget would wait for each other. What stored values need is reserved without a wait
//! ([`MemoryBudget::try_reserve`]); a comparison or a plan that has it may wait in the same budget, and then fails after [`RESERVE_WAIT`]
//! at the latest.
//!
//! What waits is served in order, except that a small reservation does not wait for a large one in front of it (`memory_budget/queue.rs`).

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::memory_limit::process_memory;

mod queue;
mod shared_wait;

pub use shared_wait::SharedWait;

use queue::{MemoryQueue, QueuedMemory};

/// Bodies of requests and messages of agents that are larger than usual ones, while they arrive.
pub static ARRIVING_BODIES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("bodies that arrive", 128 << 20, 2));
/// Bodies of requests to the console and the REST API that are larger than usual ones, while they are executed.
pub static REQUEST_BODIES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("bodies of requests", 128 << 20, 4));
/// Bodies of requests of the usual size that are more than a few KiB, while they are executed. They do not wait for large ones.
pub static USUAL_BODIES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("bodies of requests of the usual size", 128 << 20, 2));
/// Values in the bodies of requests, beyond what is reserved for the size of the bodies.
pub static REQUEST_VALUES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("values of requests", 256 << 20, 2));
/// Bodies of requests of clients that are not signed in.
pub static PUBLIC_BODIES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("bodies of requests without sign-in", 16 << 20, 1));
/// Pages that anyone can request, while they are rendered. A page takes milliseconds, so that a few at once are enough.
pub static RENDERED_PUBLIC_PAGES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("pages without sign-in", 8 << 20, 1));
/// Responses of the console and the REST API that are larger than usual ones, until they are sent.
pub static RESPONSES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("large responses", 256 << 20, 4));
/// Responses of which the size is not known, while they are built. They do not wait for large ones.
pub static UNKNOWN_RESPONSES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("responses of unknown size", 128 << 20, 2));
/// Messages of agents that are larger than usual ones, until the response.
pub static AGENT_MESSAGES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("messages of agents", 256 << 20, 4));
/// Messages of agents of the usual size that are more than a few KiB, until the response. They do not wait for large ones.
pub static USUAL_AGENT_MESSAGES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("messages of agents of the usual size", 128 << 20, 2));
/// Responses to agents that are larger than usual ones, until they are sent.
pub static AGENT_RESPONSES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("responses to agents", 256 << 20, 2));
/// Manifests of workloads that are parsed and evaluated.
pub static PARSED_MANIFESTS: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("manifests that are evaluated", 512 << 20, 4));
/// Values of charts while they are merged, and those whose rendering waits or runs.
pub static CHART_VALUES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("values of charts that are rendered", 256 << 20, 2));
/// Schemas of clusters that are parsed, those that are retained for the next check included.
pub static PARSED_SCHEMAS: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("schemas of clusters", 256 << 20, 2));
/// Charts and archives of artifacts that are unpacked in memory.
pub static ARCHIVES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("packed charts that are read", 256 << 20, 5));
/// Indexes and packs that are received from other servers, until they are parsed and indexed.
pub static RECEIVED_FILES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("files that are received from other servers", 384 << 20, 5));
/// Indexes of chart repositories that are parsed.
pub static CHART_INDEXES: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("indexes of chart repositories that are parsed", 1 << 30, 6));
/// Packs of Git repositories that are indexed and read.
pub static GIT_PACKS: LazyLock<MemoryBudget> =
    LazyLock::new(|| MemoryBudget::of_process("packs of Git repositories that are indexed", 768 << 20, 6));

/// How long a reservation waits for others to end.
pub const RESERVE_WAIT: Duration = Duration::from_secs(10);
/// When a request that got no memory may be repeated, in seconds.
pub const RETRY_AFTER_SECONDS: u32 = 5;
/// How long a budget counts as contended after a reservation was not free at once.
const CONTENDED_TIME: Duration = Duration::from_secs(15);
/// Budgets are whole multiples of this.
const UNIT_BYTES: u64 = 1 << 10;
/// The parts of the memory in which the shares of budgets are given; all budgets together have seven eighths of them.
const PARTS: u64 = 64;

/// The memory for one kind of content.
#[derive(Debug)]
pub struct MemoryBudget {
    /// What it is for, as a part of a sentence.
    purpose: &'static str,
    bytes: u64,
    queue: MemoryQueue,
    /// When a reservation was last not free at once.
    lacked_at: Mutex<Option<Instant>>,
}

/// Reserved memory; it is free again when this is dropped.
#[derive(Debug)]
pub struct MemoryReservation {
    memory: QueuedMemory,
}

impl MemoryReservation {
    /// Releases what exceeds this many bytes.
    pub fn shrink_to(&mut self, bytes: u64) {
        self.memory.shrink_to(bytes);
    }

    /// Adds a reservation of the same budget.
    pub fn merge(&mut self, other: Self) {
        self.memory.merge(other.memory);
    }
}

/// A budget was in use for longer than a request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryExhausted {
    purpose: &'static str,
    bytes: u64,
}

impl fmt::Display for MemoryExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "The server is busy: the memory for {} ({} MiB) is in use by other requests.",
            self.purpose,
            self.bytes >> 20
        )
    }
}

impl std::error::Error for MemoryExhausted {}

impl MemoryBudget {
    /// A budget of this many bytes, in whole units: otherwise nothing could reserve all of it.
    pub fn new(purpose: &'static str, bytes: u64) -> Self {
        let bytes = (bytes / UNIT_BYTES).max(1) * UNIT_BYTES;
        Self { purpose, bytes, queue: MemoryQueue::new(bytes), lacked_at: Mutex::new(None) }
    }

    /// A budget of `most` bytes, and at most so many of the [`PARTS`] of the memory that the process may use.
    fn of_process(purpose: &'static str, most: u64, parts: u64) -> Self {
        Self::new(purpose, share_of(process_memory(), most, parts))
    }

    /// Reserves memory, and waits for it if others use it. What is larger than the budget gets all of it, alone. A request waits for all of
    /// its reservations together no longer than for one ([`SharedWait`]).
    ///
    /// # Errors
    /// It was not free within [`RESERVE_WAIT`].
    pub async fn reserve(&self, bytes: u64) -> Result<MemoryReservation, MemoryExhausted> {
        self.reserve_within(bytes, RESERVE_WAIT).await
    }

    /// The same with another wait.
    ///
    /// # Errors
    /// It was not free within the wait.
    pub async fn reserve_within(
        &self,
        bytes: u64,
        wait: Duration,
    ) -> Result<MemoryReservation, MemoryExhausted> {
        let bytes_of_budget = bytes.min(self.bytes);
        if self.free_bytes() < bytes_of_budget {
            self.note_lack();
        }
        let (wait, _waiting) = match SharedWait::current() {
            Some(shared) => {
                let (wait, waiting) = shared.begin(wait);
                (wait, Some(waiting))
            }
            None => (wait, None),
        };
        match tokio::time::timeout(wait, self.queue.acquire(bytes_of_budget)).await {
            Ok(memory) => Ok(MemoryReservation { memory }),
            Err(_) => {
                self.note_lack();
                tracing::warn!(
                    purpose = self.purpose,
                    bytes,
                    "a request got no memory: its budget is in use"
                );
                Err(MemoryExhausted { purpose: self.purpose, bytes: self.bytes })
            }
        }
    }

    /// Reserves memory that is free at once; `None` if others use it. What is larger than the budget needs all of it.
    pub fn try_reserve(&self, bytes: u64) -> Option<MemoryReservation> {
        let memory = self.queue.try_acquire(bytes.min(self.bytes));
        if memory.is_none() {
            self.note_lack();
        }
        memory.map(|memory| MemoryReservation { memory })
    }

    /// Reserves what a reservation of this budget lacks to have so many bytes more, if that is free at once; `None` if others use it. Both
    /// together have at most the whole budget, so that a reservation does not keep its owner from what is free beside it.
    pub fn try_reserve_beside(&self, reserved: &MemoryReservation, bytes: u64) -> Option<MemoryReservation> {
        self.try_reserve(bytes.min(self.bytes.saturating_sub(reserved.memory.bytes())))
    }

    /// Extends a reservation of this budget to this many bytes in all, and waits for them as [`Self::reserve`] does. What is larger than
    /// the budget gets all of it, alone. Two that are extended may wait for each other; the first that fails releases its part.
    ///
    /// # Errors
    /// They were not free within [`RESERVE_WAIT`]; the reservation stays as it was.
    pub async fn extend(
        &self,
        reservation: &mut MemoryReservation,
        bytes: u64,
    ) -> Result<(), MemoryExhausted> {
        self.extend_within(reservation, bytes, RESERVE_WAIT).await
    }

    /// The same with another wait.
    ///
    /// # Errors
    /// They were not free within the wait; the reservation stays as it was.
    pub async fn extend_within(
        &self,
        reservation: &mut MemoryReservation,
        bytes: u64,
        wait: Duration,
    ) -> Result<(), MemoryExhausted> {
        let more = bytes.min(self.bytes).saturating_sub(reservation.memory.bytes());
        if more > 0 {
            let added = self.reserve_within(more, wait).await?;
            reservation.merge(added);
        }
        Ok(())
    }

    /// Whether others lack this memory, or did a moment ago: who retains it for a client should not wait for that client for long.
    pub fn is_contended(&self) -> bool {
        self.lacked_at.lock().is_some_and(|at| at.elapsed() < CONTENDED_TIME)
    }

    fn note_lack(&self) {
        *self.lacked_at.lock() = Some(Instant::now());
    }

    /// All of its bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes that are not reserved.
    pub fn free_bytes(&self) -> u64 {
        self.queue.free_bytes()
    }
}

/// `most`, or so many [`PARTS`] of the memory if that is less; a whole number of units, and never none.
fn share_of(memory: Option<u64>, most: u64, parts: u64) -> u64 {
    let share = memory.map_or(most, |memory| most.min(memory / PARTS * parts));
    (share / UNIT_BYTES).max(1) * UNIT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_WAIT: Duration = Duration::ZERO;

    #[tokio::test]
    async fn p19_what_exceeds_a_budget_waits_until_others_end_and_then_fails() {
        let budget = MemoryBudget::new("a test", 4 << 20);
        let first = budget.reserve_within(3 << 20, NO_WAIT).await.unwrap();
        let refused = budget.reserve_within(2 << 20, NO_WAIT).await.unwrap_err();
        assert!(refused.to_string().contains("a test (4 MiB)"), "{refused}");
        let mut small = budget.reserve_within(1 << 20, NO_WAIT).await.unwrap();
        assert_eq!(budget.free_bytes(), 0);
        small.shrink_to(1 << 19);
        assert_eq!(budget.free_bytes(), 1 << 19);
        drop((first, small));
        assert_eq!(budget.free_bytes(), 4 << 20);
        drop(budget.reserve_within(2 << 20, NO_WAIT).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_budget_is_contended_while_others_lack_its_memory_and_for_a_moment_after_it() {
        let budget = MemoryBudget::new("a test", 4 << 20);
        let reserved = budget.reserve(3 << 20).await.unwrap();
        assert!(!budget.is_contended());
        budget.reserve_within(2 << 20, NO_WAIT).await.unwrap_err();
        assert!(budget.is_contended());
        budget.reserve(2 << 20).await.unwrap_err();
        tokio::time::advance(CONTENDED_TIME / 2).await;
        assert!(budget.is_contended());
        tokio::time::advance(CONTENDED_TIME / 2).await;
        assert!(!budget.is_contended());
        drop(reserved);
    }

    #[tokio::test]
    async fn p19_a_reservation_grows_by_what_it_does_not_have_and_never_beyond_the_budget() {
        let budget = MemoryBudget::new("a test", 4 << 20);
        let mut growing = budget.reserve_within(1 << 20, NO_WAIT).await.unwrap();
        budget.extend(&mut growing, 3 << 20).await.unwrap();
        budget.extend(&mut growing, 2 << 20).await.unwrap();
        assert_eq!(budget.free_bytes(), 1 << 20);
        budget.extend(&mut growing, 1 << 40).await.unwrap();
        assert_eq!(budget.free_bytes(), 0, "it is alone in the budget");
        drop(growing);
        assert_eq!(budget.free_bytes(), 4 << 20);
    }

    #[test]
    fn p19_the_budgets_fit_together_into_the_memory_of_the_process() {
        assert_eq!(share_of(None, 256 << 20, 4), 256 << 20);
        assert_eq!(share_of(Some(64 << 30), 256 << 20, 4), 256 << 20);
        assert_eq!(share_of(Some(1 << 30), 256 << 20, 8), 128 << 20);
        assert_eq!(share_of(Some(100), 256 << 20, 4), UNIT_BYTES);
        let budgets = [
            &ARRIVING_BODIES,
            &REQUEST_BODIES,
            &USUAL_BODIES,
            &REQUEST_VALUES,
            &PUBLIC_BODIES,
            &RENDERED_PUBLIC_PAGES,
            &RESPONSES,
            &UNKNOWN_RESPONSES,
            &AGENT_MESSAGES,
            &USUAL_AGENT_MESSAGES,
            &AGENT_RESPONSES,
            &PARSED_MANIFESTS,
            &CHART_VALUES,
            &PARSED_SCHEMAS,
            &ARCHIVES,
            &RECEIVED_FILES,
            &CHART_INDEXES,
            &GIT_PACKS,
        ];
        let created: Vec<&str> = include_str!("memory_budget.rs")
            .lines()
            .filter(|line| line.contains("::of_process(\""))
            .collect();
        assert_eq!(budgets.len(), created.len(), "each budget of the process is in the list");
        // Also where the process has so much memory that no share counts.
        let parts_of = |line: &&str| -> u64 {
            let arguments = line.trim_end().trim_end_matches("));");
            arguments.rsplit(", ").next().unwrap().parse().unwrap()
        };
        let parts: u64 = created.iter().map(parts_of).sum();
        assert!(parts <= PARTS / 8 * 7, "{parts} of {PARTS}");
        let together: u64 = budgets.iter().map(|budget| budget.bytes).sum();
        assert!(process_memory().is_none_or(|memory| together <= memory / 8 * 7), "{together}");
    }

    #[tokio::test]
    async fn p19_all_of_a_budget_that_is_no_whole_number_of_units_can_be_reserved() {
        let budget = MemoryBudget::new("half of an odd number of units", 3 * UNIT_BYTES / 2);
        let all = budget.reserve_within(u64::MAX, NO_WAIT).await.unwrap();
        assert_eq!((budget.bytes(), budget.free_bytes()), (UNIT_BYTES, 0));
        drop(all);
    }

    #[tokio::test]
    async fn p19_what_is_larger_than_a_budget_is_alone_in_it() {
        let budget = MemoryBudget::new("a test", 4 << 20);
        let small = budget.reserve_within(1, NO_WAIT).await.unwrap();
        assert!(budget.reserve_within(1 << 40, NO_WAIT).await.is_err());
        drop(small);
        let all = budget.reserve_within(1 << 40, NO_WAIT).await.unwrap();
        assert!(budget.reserve_within(1, NO_WAIT).await.is_err());
        drop(all);
    }

    #[tokio::test]
    async fn p19_a_reservation_that_waits_is_served_when_memory_is_released() {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 1 << 20));
        let held = BUDGET.reserve(1 << 20).await.unwrap();
        let waiting = tokio::spawn(BUDGET.reserve(1 << 20));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(held);
        waiting.await.unwrap().unwrap();
    }
}
