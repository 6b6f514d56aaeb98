//! Shares of the memory for bodies, responses and files of other servers: what one user or agent sends or reads slowly, and what the
//! servers that a user named send slowly, leaves the rest to others.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;

use crate::memory_budget::{
    AGENT_MESSAGES, AGENT_RESPONSES, ARCHIVES, ARRIVING_BODIES, CHART_INDEXES, CHART_VALUES, GIT_PACKS,
    MemoryBudget, MemoryExhausted, MemoryReservation, PARSED_MANIFESTS, PUBLIC_BODIES, RECEIVED_FILES,
    RENDERED_PUBLIC_PAGES, REQUEST_BODIES, REQUEST_VALUES, RESERVE_WAIT, RESPONSES, UNKNOWN_RESPONSES,
    USUAL_AGENT_MESSAGES, USUAL_BODIES,
};

/// Clients whose shares exist although they use nothing now.
const MAX_IDLE_SHARES: usize = 100;

/// Large bodies of the requests of each user, while they arrive.
pub static ARRIVING_BODIES_OF_USERS: ClientShares =
    ClientShares::new(&ARRIVING_BODIES, "bodies of your requests that arrive");
/// Large messages of each agent, while they arrive.
pub static ARRIVING_MESSAGES_OF_AGENTS: ClientShares =
    ClientShares::new(&ARRIVING_BODIES, "messages of your cluster that arrive");
/// Large bodies of the requests of each user.
pub static BODIES_OF_USERS: ClientShares = ClientShares::new(&REQUEST_BODIES, "bodies of your requests");
/// Bodies of the usual size of the requests of each user.
pub static USUAL_BODIES_OF_USERS: ClientShares =
    ClientShares::new(&USUAL_BODIES, "bodies of the usual size of your requests");
/// Values in the bodies of each user, beyond what is reserved for the size of the bodies.
pub static VALUES_OF_USERS: ClientShares = ClientShares::new(&REQUEST_VALUES, "values of your requests");
/// Bodies from each network of clients that are not signed in.
pub static PUBLIC_BODIES_OF_NETWORKS: ClientShares =
    ClientShares::new(&PUBLIC_BODIES, "bodies of your network without sign-in");
/// The pages that each network requests.
pub static RENDERED_PUBLIC_PAGES_OF_NETWORKS: ClientShares =
    ClientShares::new(&RENDERED_PUBLIC_PAGES, "pages that your network requests without sign-in");
/// Large messages of each agent.
pub static MESSAGES_OF_AGENTS: ClientShares = ClientShares::new(&AGENT_MESSAGES, "messages of your cluster");
/// Messages of the usual size of each agent.
pub static USUAL_MESSAGES_OF_AGENTS: ClientShares =
    ClientShares::new(&USUAL_AGENT_MESSAGES, "messages of the usual size of your cluster");
/// Large responses to each user.
pub static RESPONSES_TO_USERS: ClientShares = ClientShares::new(&RESPONSES, "your large responses");
/// Responses of unknown size to each user, while they are built.
pub static UNKNOWN_RESPONSES_TO_USERS: ClientShares =
    ClientShares::new(&UNKNOWN_RESPONSES, "your responses of unknown size");
/// Large responses to each agent.
pub static RESPONSES_TO_AGENTS: ClientShares =
    ClientShares::new(&AGENT_RESPONSES, "responses to your cluster");
/// Charts and archives of artifacts that are unpacked for each user.
pub static ARCHIVES_OF_USERS: ClientShares =
    ClientShares::new(&ARCHIVES, "packed charts that your requests read");
/// Files that are received for each user, and those that nobody requested.
pub static FILES_OF_USERS: ClientShares =
    ClientShares::new(&RECEIVED_FILES, "files that your requests receive from other servers");
/// Indexes that are parsed for each user.
pub static INDEXES_OF_USERS: ClientShares =
    ClientShares::new(&CHART_INDEXES, "indexes of chart repositories that your requests parse");
/// Packs that are indexed and read for each user.
pub static PACKS_OF_USERS: ClientShares =
    ClientShares::new(&GIT_PACKS, "packs of Git repositories that your requests read");

/// Values of charts that are merged and rendered for each user, and for the placer.
pub static CHART_VALUES_OF_USERS: ClientShares =
    ClientShares::new(&CHART_VALUES, "values of charts that your requests render");

/// Manifests that are evaluated for each user, and by the placer.
pub static MANIFESTS_OF_USERS: ClientShares =
    ClientShares::new(&PARSED_MANIFESTS, "manifests that your requests evaluate");

/// A budget of which each client has at most half.
pub struct ClientShares {
    /// That of all clients.
    all: &'static LazyLock<MemoryBudget>,
    /// What the share of a client is for, as a part of a sentence.
    purpose: &'static str,
    clients: Mutex<Clients>,
}

/// The shares of the clients that use memory now, and some others.
struct Clients {
    shares: BTreeMap<String, Arc<MemoryBudget>>,
    /// The number of shares at which those that nobody uses are removed.
    sweep_at: usize,
}

/// Memory that is reserved in the share of a client, and in the budget of all clients.
#[derive(Debug)]
pub struct ClientReservation {
    share: Arc<MemoryBudget>,
    all: &'static MemoryBudget,
    of_share: MemoryReservation,
    of_all: MemoryReservation,
}

impl ClientShares {
    /// Shares of this budget, whose purpose is a part of a sentence.
    pub const fn new(all: &'static LazyLock<MemoryBudget>, purpose: &'static str) -> Self {
        let clients = Clients { shares: BTreeMap::new(), sweep_at: MAX_IDLE_SHARES };
        Self { all, purpose, clients: Mutex::new(clients) }
    }

    /// Reserves memory in the share of a client, then in the budget of all, and waits for it. What is larger than the share gets all of
    /// the share, and leaves the rest to others.
    ///
    /// # Errors
    /// It was not free within [`crate::memory_budget::RESERVE_WAIT`].
    pub async fn reserve(&self, client: String, bytes: u64) -> Result<ClientReservation, MemoryExhausted> {
        let share = self.find_share(client);
        let all: &'static MemoryBudget = self.all;
        let bytes = bytes.min(share.bytes());
        let of_share = share.reserve(bytes).await?;
        let of_all = all.reserve(bytes).await?;
        Ok(ClientReservation { share, all, of_share, of_all })
    }

    /// What one client has at most, in bytes.
    pub fn share_bytes(&self) -> u64 {
        self.all.bytes() / 2
    }

    /// Whether others lack the memory of the budget of all clients.
    pub fn is_contended(&self) -> bool {
        self.all.is_contended()
    }

    /// Reserves memory as [`Self::reserve`] does, except that what is larger than the share is reserved in full in the budget of all, or
    /// gets all of it: for content of which two such parts would need more than the memory of the budget.
    ///
    /// # Errors
    /// It was not free within [`crate::memory_budget::RESERVE_WAIT`].
    pub async fn reserve_in_full(
        &self,
        client: String,
        bytes: u64,
    ) -> Result<ClientReservation, MemoryExhausted> {
        let share = self.find_share(client);
        let all: &'static MemoryBudget = self.all;
        let of_share = share.reserve(bytes).await?;
        let of_all = all.reserve(bytes).await?;
        Ok(ClientReservation { share, all, of_share, of_all })
    }

    /// Reserves memory as [`Self::reserve_in_full`] does, but only what is free at once; `None` if others use it.
    pub fn try_reserve_in_full(&self, client: String, bytes: u64) -> Option<ClientReservation> {
        let share = self.find_share(client);
        let all: &'static MemoryBudget = self.all;
        let of_share = share.try_reserve(bytes)?;
        let of_all = all.try_reserve(bytes)?;
        Some(ClientReservation { share, all, of_share, of_all })
    }

    /// The share of a client.
    fn find_share(&self, client: String) -> Arc<MemoryBudget> {
        let mut clients = self.clients.lock();
        if clients.shares.len() >= clients.sweep_at {
            // A reservation refers to its share, also while it waits.
            clients.shares.retain(|_, share| Arc::strong_count(share) > 1);
            clients.sweep_at = MAX_IDLE_SHARES.max(2 * clients.shares.len());
        }
        let create = || Arc::new(MemoryBudget::new(self.purpose, self.share_bytes()));
        clients.shares.entry(client).or_insert_with(create).clone()
    }
}

impl ClientReservation {
    /// Extends a reservation by so many bytes in full, but only if they are free at once; whether they were. Otherwise it stays as it was.
    /// What is larger than the share, or the budget of all clients, together needs all of it.
    #[must_use]
    pub fn try_extend_in_full(&mut self, bytes: u64) -> bool {
        let more = self.share.try_reserve_beside(&self.of_share, bytes);
        let more = more.zip(self.all.try_reserve_beside(&self.of_all, bytes));
        let Some((of_share, of_all)) = more else { return false };
        self.of_share.merge(of_share);
        self.of_all.merge(of_all);
        true
    }

    /// Extends a reservation to this many bytes in full, and waits for them as [`ClientShares::reserve_in_full`] does.
    ///
    /// # Errors
    /// They were not free within [`crate::memory_budget::RESERVE_WAIT`].
    pub async fn extend_in_full(&mut self, bytes: u64) -> Result<(), MemoryExhausted> {
        self.extend_in_full_within(bytes, RESERVE_WAIT).await
    }

    /// The same with another wait.
    ///
    /// # Errors
    /// They were not free within the wait.
    pub async fn extend_in_full_within(&mut self, bytes: u64, wait: Duration) -> Result<(), MemoryExhausted> {
        self.share.extend_within(&mut self.of_share, bytes, wait).await?;
        self.all.extend_within(&mut self.of_all, bytes, wait).await
    }

    /// Releases what exceeds this many bytes.
    pub fn shrink_to(&mut self, bytes: u64) {
        self.of_share.shrink_to(bytes);
        self.of_all.shrink_to(bytes);
    }

    /// Changes the reservation to this many bytes, or to all of the share.
    ///
    /// # Errors
    /// The memory was not free within the wait.
    pub async fn resize(&mut self, bytes: u64, wait: Duration) -> Result<(), MemoryExhausted> {
        let bytes = bytes.min(self.share.bytes());
        self.share.extend_within(&mut self.of_share, bytes, wait).await?;
        self.all.extend_within(&mut self.of_all, bytes, wait).await?;
        self.of_share.shrink_to(bytes);
        self.of_all.shrink_to(bytes);
        Ok(())
    }

    /// The budget of all clients.
    pub fn budget(&self) -> &'static MemoryBudget {
        self.all
    }

    /// Whether the client lacks memory of its share, or did a moment ago.
    pub fn is_share_contended(&self) -> bool {
        self.share.is_contended()
    }

    /// The bytes of the share that are not reserved.
    pub fn free_bytes(&self) -> u64 {
        self.share.free_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn p19_what_one_client_reserves_leaves_half_of_the_memory_to_others() {
        static ALL: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 1 << 20));
        static SHARES: ClientShares = ClientShares::new(&ALL, "a test of one client");
        let of_ada = SHARES.reserve("ada".to_owned(), u64::MAX).await.unwrap();
        assert_eq!(ALL.free_bytes(), 1 << 19);
        let _of_bob = SHARES.reserve("bob".to_owned(), u64::MAX).await.unwrap();
        assert_eq!(ALL.free_bytes(), 0);
        let share = SHARES.find_share("ada".to_owned());
        assert_eq!(share.free_bytes(), 0, "a client has one share");
        drop(of_ada);
        assert_eq!((share.free_bytes(), ALL.free_bytes()), (1 << 19, 1 << 19));
    }

    #[tokio::test]
    async fn p19_a_reservation_that_grows_beyond_the_share_of_its_client_leaves_half_of_the_memory_to_others()
    {
        static ALL: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 1 << 20));
        static SHARES: ClientShares = ClientShares::new(&ALL, "a test of one client");
        let mut growing = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
        growing.resize(u64::MAX, Duration::ZERO).await.unwrap();
        assert_eq!(ALL.free_bytes(), 1 << 19);
        let mut second = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
        let refused = second.resize(1 << 10, Duration::ZERO).await.unwrap_err();
        assert!(refused.to_string().contains("a test of one client"), "{refused}");
        growing.resize(1 << 10, Duration::ZERO).await.unwrap();
        assert_eq!(ALL.free_bytes(), (1 << 20) - (1 << 10));
        second.resize(1 << 10, Duration::ZERO).await.unwrap();
    }

    #[tokio::test]
    async fn p19_what_exceeds_a_share_and_is_reserved_in_full_is_alone_in_the_memory_of_all() {
        static ALL: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 1 << 20));
        static SHARES: ClientShares = ClientShares::new(&ALL, "a test of one client");
        let mut growing = SHARES.reserve_in_full("ada".to_owned(), 1 << 10).await.unwrap();
        growing.extend_in_full(1 << 18).await.unwrap();
        assert_eq!(ALL.free_bytes(), (1 << 20) - (1 << 18));
        growing.extend_in_full(1 << 40).await.unwrap();
        assert_eq!(ALL.free_bytes(), 0);
        growing.shrink_to(1 << 10);
        assert_eq!(ALL.free_bytes(), (1 << 20) - (1 << 10));
        let of_bob = SHARES.reserve_in_full("bob".to_owned(), 3 << 18).await.unwrap();
        assert_eq!(ALL.free_bytes(), (1 << 18) - (1 << 10));
        drop((growing, of_bob));
        assert_eq!(ALL.free_bytes(), 1 << 20);
    }

    #[tokio::test]
    async fn p19_what_must_not_wait_gets_only_memory_that_is_free_at_once() {
        static ALL: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 1 << 20));
        static SHARES: ClientShares = ClientShares::new(&ALL, "a test of one client");
        let first = SHARES.try_reserve_in_full("ada".to_owned(), 1 << 18).unwrap();
        assert!(SHARES.try_reserve_in_full("ada".to_owned(), 1 << 30).is_none(), "it would be alone");
        assert_eq!(ALL.free_bytes(), 3 << 18, "what is refused retains nothing");
        let second = SHARES.try_reserve_in_full("ada".to_owned(), 1 << 18).unwrap();
        assert!(SHARES.try_reserve_in_full("ada".to_owned(), 1).is_none());
        assert!(SHARES.try_reserve_in_full("bob".to_owned(), 1 << 19).is_some());
        drop((first, second));
        assert!(SHARES.try_reserve_in_full("ada".to_owned(), 1 << 30).is_some());
    }

    #[tokio::test]
    async fn p19_what_is_extended_is_never_refused_because_of_what_it_has_itself() {
        static ALL: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 1 << 20));
        static SHARES: ClientShares = ClientShares::new(&ALL, "a test of one client");
        let mut growing = SHARES.try_reserve_in_full("ada".to_owned(), 3 << 18).unwrap();
        assert_eq!((growing.free_bytes(), ALL.free_bytes()), (0, 1 << 18));
        let other = SHARES.try_reserve_in_full("bob".to_owned(), 1 << 17).unwrap();
        assert!(!growing.try_extend_in_full(1 << 18), "another one has a part of what is left");
        assert_eq!(ALL.free_bytes(), 1 << 17);
        assert!(growing.try_extend_in_full(1 << 17));
        drop(other);
        assert!(growing.try_extend_in_full(1 << 30) && growing.try_extend_in_full(1 << 30));
        assert_eq!(ALL.free_bytes(), 0, "it is alone");
        drop(growing);
        assert_eq!(ALL.free_bytes(), 1 << 20);
    }

    #[tokio::test]
    async fn p19_shares_of_clients_that_use_nothing_are_removed_and_others_stay() {
        static ALL: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 1 << 20));
        static SHARES: ClientShares = ClientShares::new(&ALL, "a test of one client");
        let mut used = SHARES.reserve("ada".to_owned(), 1 << 10).await.unwrap();
        for number in 0..10 * MAX_IDLE_SHARES {
            drop(SHARES.reserve(format!("agent-{number}"), 1 << 10).await.unwrap());
        }
        assert!(SHARES.clients.lock().shares.len() <= MAX_IDLE_SHARES);
        let share = SHARES.find_share("ada".to_owned());
        assert_eq!(share.free_bytes(), (1 << 19) - (1 << 10), "the share of a used reservation stays");
        used.resize(0, Duration::ZERO).await.unwrap();
        assert_eq!(share.free_bytes(), 1 << 19);
    }
}
