//! A bounded number of places for work that is slow or expensive, given in turns: whoever requests much of it delays others by no more than
//! one piece of work.
//!
//! Who waits belongs to a group (a user) and in it to a key (a workload, a host). The group that has used places for the least time lately
//! comes first ([`recent_use`]), in whole seconds; groups with the same use have their turns one after the other, in a group the keys, and what has the same key is first in, first out. A group never has all places, and the places of one key
//! can be limited too, for all groups together. What is dropped while it waits leaves the queue.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

mod recent_use;

use recent_use::RecentUse;

/// How much runs and waits at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueLimits {
    /// What runs.
    pub running: usize,
    /// What runs of one group; fewer than `running`, so that no group has all places.
    pub running_of_group: usize,
    /// What runs with one key, of all groups together.
    pub running_of_key: usize,
    /// What waits.
    pub waiting: usize,
    /// What waits of one group.
    pub waiting_of_group: usize,
    /// What waits of one group with one key.
    pub waiting_of_key: usize,
}

/// Who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueKey {
    /// Who is served in turns: a user.
    pub group: String,
    /// What is served in turns within the group: a workload, a host.
    pub key: String,
}

impl QueueKey {
    /// A key in a group.
    pub fn new(group: impl Into<String>, key: impl Into<String>) -> Self {
        Self { group: group.into(), key: key.into() }
    }
}

/// So much waits already that nothing more is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QueueFull {
    /// With this key.
    #[error("{0} requests of the same user to the same server or for the same workload are waiting already")]
    OfKey(usize),
    /// In this group.
    #[error("{0} requests of the same user are waiting already")]
    OfGroup(usize),
    /// In all.
    #[error("{0} requests are waiting already")]
    InAll(usize),
}

/// The queue. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct FairQueue(Arc<Mutex<FairQueueState>>);

impl FairQueue {
    /// An empty queue.
    pub fn new(limits: QueueLimits) -> Self {
        let state = FairQueueState {
            limits,
            running: 0,
            running_of_keys: HashMap::new(),
            waiting: 0,
            last_id: 0,
            groups: VecDeque::new(),
            started: HashMap::new(),
            recent_use: RecentUse::default(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// Too much waits already.
    pub async fn acquire(&self, key: &QueueKey) -> Result<QueuePlace, QueueFull> {
        Ok(self.enqueue(key)?.wait().await)
    }

    /// Takes a position in the queue, to wait for a place with [`QueuePosition::wait`].
    ///
    /// # Errors
    /// Too much waits already.
    pub fn enqueue(&self, key: &QueueKey) -> Result<QueuePosition, QueueFull> {
        let mut state = self.0.lock();
        let (id, admitted) = state.enqueue(key)?;
        state.admit();
        drop(state);
        let place = QueuePlace { queue: self.0.clone(), id, of: key.clone() };
        Ok(QueuePosition { place, admitted })
    }

    /// Whether another group would have a place at once if one with this key were given back.
    pub fn is_place_awaited_by_others(&self, of: &QueueKey) -> bool {
        self.0.lock().is_place_awaited_by_others(of)
    }
}

/// A position in the queue; dropped, it leaves the queue.
#[derive(Debug)]
pub(crate) struct QueuePosition {
    place: QueuePlace,
    admitted: oneshot::Receiver<()>,
}

impl QueuePosition {
    /// Waits for the place.
    pub async fn wait(self) -> QueuePlace {
        let Self { place, admitted } = self;
        // The sender is dropped without a message only with the position.
        let _ = admitted.await;
        place
    }
}

/// A place; dropped, it is given to the next one.
#[derive(Debug)]
pub(crate) struct QueuePlace {
    queue: Arc<Mutex<FairQueueState>>,
    id: u64,
    of: QueueKey,
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.remove(&self.of, self.id);
        state.admit();
    }
}

#[derive(Debug)]
struct FairQueueState {
    limits: QueueLimits,
    running: usize,
    /// What runs with each key; none is 0.
    running_of_keys: HashMap<String, usize>,
    waiting: usize,
    last_id: u64,
    /// Those that run or wait, in the order of their turns.
    groups: VecDeque<QueueGroup>,
    /// Since when what runs has its place, by id.
    started: HashMap<u64, Instant>,
    recent_use: RecentUse,
}

#[derive(Debug)]
struct QueueGroup {
    name: String,
    running: usize,
    /// Those that wait, in the order of their turns; none is empty.
    keys: VecDeque<KeyQueue>,
}

#[derive(Debug)]
struct KeyQueue {
    key: String,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    id: u64,
    admit: oneshot::Sender<()>,
}

impl FairQueueState {
    fn enqueue(&mut self, key: &QueueKey) -> Result<(u64, oneshot::Receiver<()>), QueueFull> {
        let limits = self.limits;
        if self.waiting >= limits.waiting {
            return Err(QueueFull::InAll(self.waiting));
        }
        let at = match self.groups.iter().position(|group| group.name == key.group) {
            Some(at) => at,
            None => {
                let group = QueueGroup { name: key.group.clone(), running: 0, keys: VecDeque::new() };
                self.groups.push_back(group);
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[at];
        let waiting = group.keys.iter().map(|queue| queue.waiting.len()).sum::<usize>();
        if waiting >= limits.waiting_of_group {
            return Err(QueueFull::OfGroup(waiting));
        }
        let (admit, admitted) = oneshot::channel();
        self.last_id += 1;
        let entry = Waiting { id: self.last_id, admit };
        match group.keys.iter_mut().find(|queue| queue.key == key.key) {
            Some(queue) if queue.waiting.len() >= limits.waiting_of_key => {
                return Err(QueueFull::OfKey(queue.waiting.len()));
            }
            Some(queue) => queue.waiting.push_back(entry),
            None => {
                group.keys.push_back(KeyQueue { key: key.key.clone(), waiting: VecDeque::from([entry]) });
            }
        }
        self.waiting += 1;
        Ok((self.last_id, admitted))
    }

    /// Gives the free places to those whose turn it is.
    fn admit(&mut self) {
        while self.running < self.limits.running {
            let Some((at, key)) = self.find_next() else { return };
            let Some(mut group) = self.groups.remove(at) else { return };
            if let Some((name, next)) = group.take_next(key) {
                group.running += 1;
                self.running += 1;
                *self.running_of_keys.entry(name).or_default() += 1;
                self.started.insert(next.id, Instant::now());
                self.waiting -= 1;
                // Whoever is gone meanwhile gives the place back when it is dropped.
                let _ = next.admit.send(());
            }
            self.groups.push_back(group);
        }
    }

    /// The group whose turn it is, and in it the key: of those whose limits allow it, the first one with the least use.
    fn find_next(&self) -> Option<(usize, usize)> {
        let QueueLimits { running_of_group, running_of_key, .. } = self.limits;
        let may_run = |queue: &KeyQueue| {
            self.running_of_keys.get(&queue.key).is_none_or(|running| *running < running_of_key)
        };
        let now = Instant::now();
        let next = self.groups.iter().enumerate().filter_map(|(at, group)| {
            let key = group.keys.iter().position(may_run)?;
            let used = self.recent_use.seconds(&group.name, now);
            (group.running < running_of_group).then_some((used, at, key))
        });
        next.min().map(|(_, at, key)| (at, key))
    }

    /// Whether another group would have a place at once if one with this key were given back.
    fn is_place_awaited_by_others(&self, of: &QueueKey) -> bool {
        let limits = self.limits;
        let is_full = self.running >= limits.running;
        let is_limited = |key: &str| {
            self.running_of_keys.get(key).is_some_and(|running| *running >= limits.running_of_key)
        };
        let needs_place = |queue: &KeyQueue| {
            if queue.key == of.key {
                is_full || is_limited(&queue.key)
            } else {
                is_full && !is_limited(&queue.key)
            }
        };
        let others = self.groups.iter().filter(|group| group.name != of.group);
        others
            .filter(|group| group.running < limits.running_of_group)
            .any(|group| group.keys.iter().any(needs_place))
    }

    /// Removes what waits, or ends what runs.
    fn remove(&mut self, of: &QueueKey, id: u64) {
        let Some(at) = self.groups.iter().position(|one| one.name == of.group) else { return };
        let Some(mut group) = self.groups.remove(at) else { return };
        if group.remove_waiting(id) {
            self.waiting -= 1;
            self.groups.insert(at, group);
        } else {
            group.running -= 1;
            self.running -= 1;
            if let Some(started) = self.started.remove(&id) {
                let now = Instant::now();
                self.recent_use.add(&of.group, now.saturating_duration_since(started), now);
            }
            if let Some(running) = self.running_of_keys.get_mut(&of.key) {
                *running -= 1;
                if *running == 0 {
                    self.running_of_keys.remove(&of.key);
                }
            }
            // The others come first.
            self.groups.push_back(group);
        }
        self.groups.retain(|group| group.running > 0 || !group.keys.is_empty());
    }
}

impl QueueGroup {
    /// The first one of the key at this position, which comes last from then on, with the name of the key.
    fn take_next(&mut self, key: usize) -> Option<(String, Waiting)> {
        let mut queue = self.keys.remove(key)?;
        let next = queue.waiting.pop_front()?;
        let name = queue.key.clone();
        if !queue.waiting.is_empty() {
            self.keys.push_back(queue);
        }
        Some((name, next))
    }

    fn remove_waiting(&mut self, id: u64) -> bool {
        let mut is_removed = false;
        for queue in &mut self.keys {
            let before = queue.waiting.len();
            queue.waiting.retain(|waiting| waiting.id != id);
            is_removed |= queue.waiting.len() < before;
        }
        self.keys.retain(|queue| !queue.waiting.is_empty());
        is_removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: QueueLimits = QueueLimits {
        running: 1,
        running_of_group: 1,
        running_of_key: 1,
        waiting: 6,
        waiting_of_group: 5,
        waiting_of_key: 4,
    };

    fn key(group: &str, key: &str) -> QueueKey {
        QueueKey::new(group, key)
    }

    /// Positions with a name each, such as `a/web`.
    fn enqueue(queue: &FairQueue, names: &[&'static str]) -> Vec<(&'static str, QueuePosition)> {
        let position = |name: &&'static str| {
            let (group, of) = name.split_once('/').unwrap();
            (*name, queue.enqueue(&key(group, of)).unwrap())
        };
        names.iter().map(position).collect()
    }

    /// Ends what runs, one after the other; returns the names in the order of their places.
    fn serve(mut waiting: Vec<(&'static str, QueuePosition)>) -> Vec<&'static str> {
        let mut served = Vec::new();
        while let Some(at) = waiting.iter_mut().position(|(_, one)| one.admitted.try_recv().is_ok()) {
            served.push(waiting.remove(at).0);
        }
        assert!(waiting.is_empty(), "left: {waiting:?}");
        served
    }

    #[test]
    fn p20_groups_have_their_turns_one_after_the_other_whatever_one_of_them_requests() {
        let queue = FairQueue::new(LIMITS);
        let waiting = enqueue(&queue, &["ada/web", "ada/web", "ada/web", "bob/api", "bob/api"]);
        assert_eq!(serve(waiting), ["ada/web", "bob/api", "ada/web", "bob/api", "ada/web"]);
    }

    #[tokio::test(start_paused = true)]
    async fn p20_who_has_used_no_place_lately_comes_before_who_has_used_them_for_long() {
        let queue = FairQueue::new(LIMITS);
        for name in ["ada/1", "bob/2"] {
            let used = enqueue(&queue, &[name]);
            tokio::time::sleep(std::time::Duration::from_secs(20)).await;
            drop(used);
        }
        let running = enqueue(&queue, &["bob/3"]);
        let waiting = enqueue(&queue, &["bob/4", "ada/5", "eve/6", "eve/7"]);
        drop(running);
        assert_eq!(serve(waiting), ["eve/6", "eve/7", "ada/5", "bob/4"]);
    }

    #[test]
    fn keys_of_a_group_have_their_turns_and_one_key_is_first_in_first_out() {
        let queue = FairQueue::new(LIMITS);
        let waiting = enqueue(&queue, &["ada/web", "ada/web", "ada/web", "ada/api", "bob/job"]);
        assert_eq!(serve(waiting), ["ada/web", "bob/job", "ada/web", "ada/api", "ada/web"]);
    }

    /// The names of those that have their place now.
    fn list_admitted(waiting: &mut [(&'static str, QueuePosition)]) -> Vec<&'static str> {
        let admitted = |(name, one): &mut (&'static str, QueuePosition)| {
            one.admitted.try_recv().is_ok().then_some(*name)
        };
        waiting.iter_mut().filter_map(admitted).collect()
    }

    #[test]
    fn p20_a_group_leaves_a_place_to_the_others_however_many_keys_it_names() {
        let queue = FairQueue::new(QueueLimits { running: 3, running_of_group: 2, ..LIMITS });
        let mut waiting = enqueue(&queue, &["ada/1", "ada/2", "ada/3", "bob/4"]);
        assert_eq!(list_admitted(&mut waiting), ["ada/1", "ada/2", "bob/4"]);
    }

    #[test]
    fn p20_a_key_at_its_limit_delays_no_other_key_of_its_group_and_no_other_group() {
        let queue =
            FairQueue::new(QueueLimits { running: 4, running_of_group: 3, running_of_key: 1, ..LIMITS });
        let mut waiting = enqueue(&queue, &["ada/slow", "ada/slow", "bob/slow", "ada/fast", "bob/fast"]);
        assert_eq!(list_admitted(&mut waiting), ["ada/slow", "ada/fast"]);
        // The free place of the key is given to the group whose turn it is.
        drop(waiting.remove(0));
        assert_eq!(list_admitted(&mut waiting), ["bob/slow"]);
        drop(waiting);
        let state = queue.0.lock();
        assert_eq!((state.running, state.waiting, state.running_of_keys.len()), (0, 0, 0));
    }

    #[test]
    fn p20_what_is_dropped_leaves_the_queue_and_gives_its_place_to_the_next() {
        let queue = FairQueue::new(LIMITS);
        let mut waiting = enqueue(&queue, &["ada/web", "ada/web", "bob/api"]);
        drop(waiting.remove(1));
        assert_eq!(queue.0.lock().waiting, 1);
        assert_eq!(serve(waiting), ["ada/web", "bob/api"]);
        let state = queue.0.lock();
        assert_eq!((state.running, state.waiting, state.groups.len()), (0, 0, 0));
    }

    #[test]
    fn p20_a_place_is_awaited_only_by_other_groups_that_would_have_it() {
        let queue =
            FairQueue::new(QueueLimits { running: 3, running_of_group: 2, running_of_key: 1, ..LIMITS });
        let running = enqueue(&queue, &["ada/1", "ada/2"]);
        let is_awaited = || queue.is_place_awaited_by_others(&key("ada", "1"));
        let own = enqueue(&queue, &["ada/3"]);
        assert!(!is_awaited(), "a group does not wait for itself");
        let same_host = enqueue(&queue, &["bob/1"]);
        assert!(is_awaited(), "it waits for the place of the key");
        drop(same_host);
        let other_host = enqueue(&queue, &["bob/2"]);
        assert!(!is_awaited(), "a place is free, and the key of the other one is not given back");
        let last = enqueue(&queue, &["bob/4", "eve/5"]);
        assert!(is_awaited(), "all places are taken");
        drop((running, own, other_host, last));
    }

    #[tokio::test]
    async fn a_place_that_is_given_to_a_dropped_waiter_is_given_on() {
        let queue = FairQueue::new(LIMITS);
        let running = queue.acquire(&key("ada", "web")).await.unwrap();
        let same = key("ada", "web");
        let mut waiting = Box::pin(queue.acquire(&same));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        drop(running);
        // It has its place, and was not polled since.
        drop(waiting);
        queue.acquire(&key("bob", "api")).await.unwrap();
    }

    #[test]
    fn p20_what_waits_is_bounded_per_key_and_group_and_in_all() {
        let queue = FairQueue::new(LIMITS);
        let _waiting = enqueue(&queue, &["ada/web", "ada/web", "ada/web", "ada/web", "ada/web"]);
        assert_eq!(queue.enqueue(&key("ada", "web")).unwrap_err(), QueueFull::OfKey(4));
        let _another = enqueue(&queue, &["ada/api"]);
        assert_eq!(queue.enqueue(&key("ada", "api")).unwrap_err(), QueueFull::OfGroup(5));
        let _other = enqueue(&queue, &["bob/api"]);
        assert_eq!(queue.enqueue(&key("eve", "api")).unwrap_err(), QueueFull::InAll(6));
    }
}
