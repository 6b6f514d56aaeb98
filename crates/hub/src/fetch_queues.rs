//! What is read at the same time from servers that users chose: for all users, for one user a third of that, and of one host less again.
//! So neither a host that responds slowly nor two users who name many of them take all places. What waits has its turns by user, and of
//! one user by host. What nobody awaits any more goes on only as long as no other user waits for its place.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use domain::ssh_url::SshUrl;
use futures::FutureExt as _;
use source::requester::current_turn;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::sleep;

use crate::fair_queue::{FairQueue, QueueFull, QueueKey, QueueLimits, QueuePlace};

/// How often a read that nobody awaits gives way to those that wait.
const NEED_CHECK: Duration = Duration::from_secs(1);
/// Commits and artifacts: each may have a pack of 64 MiB, whose memory is reserved while it is received.
const COMMITS: QueueLimits = limits(9, 2);
/// Refs and tags: a list of 2 MiB each, for at most 20 s.
pub(crate) const REFS: QueueLimits = limits(32, 4);
/// Indexes: each may have 32 MiB as text.
pub(crate) const INDEXES: QueueLimits = limits(9, 2);
/// Charts, and the lists of their versions in registries: each may have the index of its repository in memory, 32 MiB as text.
const CHARTS: QueueLimits = limits(9, 2);

/// The limits for this number of places, of which one user has a third.
const fn limits(running: usize, running_of_host: usize) -> QueueLimits {
    QueueLimits {
        running,
        running_of_group: running / 3,
        running_of_key: running_of_host,
        waiting: 4_000,
        waiting_of_group: 1_000,
        waiting_of_key: 500,
    }
}

/// The queues of this server.
pub(crate) struct FetchQueues {
    /// Commits of Git repositories and OCI artifacts.
    pub commits: FairQueue,
    /// Refs and tags.
    pub refs: FairQueue,
    /// Indexes of chart repositories.
    pub indexes: FairQueue,
    /// Charts, and the lists of their versions in registries.
    pub charts: FairQueue,
}

impl Default for FetchQueues {
    fn default() -> Self {
        Self {
            commits: FairQueue::new(COMMITS),
            refs: FairQueue::new(REFS),
            indexes: FairQueue::new(INDEXES),
            charts: FairQueue::new(CHARTS),
        }
    }
}

/// In whose turn this task reads a repository: that of its user, and of the host of the repository.
pub(crate) fn fetch_key(url: &str) -> QueueKey {
    QueueKey::new(current_turn(), url_host(url))
}

/// Waits for a place to read a repository.
///
/// # Errors
/// Too much waits already.
pub(crate) async fn acquire(queue: &FairQueue, url: &str) -> Result<QueuePlace, String> {
    queue.acquire(&fetch_key(url)).await.map_err(|full| describe_full(url, full))
}

/// Waits for a place to read a repository, and no longer than this.
///
/// # Errors
/// Too much waits already, or others had all places.
pub(crate) async fn acquire_within(
    queue: &FairQueue,
    url: &str,
    wait: Duration,
) -> Result<QueuePlace, String> {
    tokio::time::timeout(wait, acquire(queue, url)).await.unwrap_or_else(|_| {
        Err(format!(
            "{url} was not read, because other requests of the same user or to {} took more than {} s.",
            url_host(url),
            wait.as_secs()
        ))
    })
}

/// Waits for a place to read a repository and for a lock, such as that of a ref. What waits for the lock has no place meanwhile, and what
/// has the lock does not wait for a place: a user never waits in the turns of another one. What had to wait for the lock takes a free
/// place with it: if it gave the lock back first, two that wait would hand it to each other without end.
///
/// # Errors
/// Too much waits already.
pub(crate) async fn acquire_with_lock<T>(
    queue: &FairQueue,
    url: &str,
    lock: &Arc<Mutex<T>>,
) -> Result<(QueuePlace, OwnedMutexGuard<T>), String> {
    loop {
        let place = acquire(queue, url).await?;
        if let Ok(guard) = lock.clone().try_lock_owned() {
            return Ok((place, guard));
        }
        drop(place);
        let guard = lock.clone().lock_owned().await;
        if let Some(place) = acquire(queue, url).now_or_never() {
            return Ok((place?, guard));
        }
    }
}

/// Reads with the place of this key; `None` if that was ended, because nobody awaits it any more and another user waits for the place.
pub(crate) async fn run_while_needed<T>(
    queue: &FairQueue,
    key: &QueueKey,
    is_awaited: impl Fn() -> bool,
    read: impl Future<Output = T>,
) -> Option<T> {
    let mut read = pin!(read);
    loop {
        tokio::select! {
            biased;
            read = read.as_mut() => return Some(read),
            () = sleep(NEED_CHECK) => {}
        }
        if !is_awaited() && queue.is_place_awaited_by_others(key) {
            return None;
        }
    }
}

/// Why a read was ended that nobody awaited.
pub(crate) fn describe_ended(url: &str) -> String {
    format!(
        "{url} was not read to its end, because no request awaited it any more and other users waited for their turn."
    )
}

/// Host and port of a URL as they are written, in lower case. It decides nothing but turns.
pub(crate) fn url_host(url: &str) -> String {
    // The short form over SSH has a path behind the first colon, and is the same host as a URL with the usual port.
    if let Ok(ssh) = SshUrl::parse(url) {
        return ssh.known_host();
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.to_ascii_lowercase()
}

/// Why a repository is not read now.
fn describe_full(url: &str, full: QueueFull) -> String {
    format!("{url} is not read now, because {full}.")
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;
    use crate::fair_queue::QueuePosition;
    use source::requester::run_for_requester;

    #[test]
    fn the_host_of_a_url_is_that_of_its_requests() {
        let hosts = [
            ("https://Git.Example.com/team/deploy.git", "git.example.com"),
            ("http://127.0.0.1:8080/charts", "127.0.0.1:8080"),
            ("oci://registry.example.com/charts/web", "registry.example.com"),
            ("https://user@git.example.com?x", "git.example.com"),
            ("https://[::1]:80/a@b", "[::1]:80"),
            ("git@Git.example.com:team/deploy.git", "git.example.com"),
            ("ssh://git@git.example.com:22/team/deploy.git", "git.example.com"),
            ("ssh://git@git.example.com:2222/team/deploy.git", "[git.example.com]:2222"),
        ];
        for (url, host) in hosts {
            assert_eq!(url_host(url), host, "{url}");
        }
    }

    #[test]
    fn p20_no_user_and_no_host_can_have_every_place() {
        for QueueLimits { running, running_of_group, running_of_key, .. } in [COMMITS, REFS, INDEXES, CHARTS]
        {
            assert!(2 * running_of_group < running, "two users leave places to a third one");
            assert!(
                running_of_key < running_of_group,
                "one slow host leaves places to the user who named it"
            );
        }
    }

    async fn enqueue(queue: &FairQueue, user: &str, url: &str) -> QueuePosition {
        run_for_requester(user.to_owned(), async { queue.enqueue(&fetch_key(url)).unwrap() }).await
    }

    #[tokio::test]
    async fn p20_two_users_who_name_many_slow_hosts_leave_places_to_another_user() {
        let queue = FairQueue::new(CHARTS);
        let mut of_others = Vec::new();
        for n in 0..20 {
            for user in ["eve", "mallory"] {
                of_others.push(
                    enqueue(&queue, user, &format!("https://slow-{n}.{user}.example.com/charts")).await,
                );
            }
        }
        let first = enqueue(&queue, "ada", "https://a.example.com/charts").await;
        let second = enqueue(&queue, "ada", "https://b.example.com/charts").await;
        let places = (first.wait().now_or_never(), second.wait().now_or_never());
        assert!(places.0.is_some() && places.1.is_some(), "ada has a place at once");
        drop((of_others, places));
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_read_that_nobody_awaits_ends_as_soon_as_another_user_waits_for_its_place() {
        let limits = QueueLimits { running: 1, running_of_group: 1, running_of_key: 1, ..COMMITS };
        let queue = FairQueue::new(limits);
        let key = QueueKey::new("user eve", "slow.example.com");
        let place = queue.acquire(&key).await.unwrap();
        let is_awaited = AtomicBool::new(true);
        let endless = run_while_needed(&queue, &key, || is_awaited.load(Relaxed), pending::<()>());
        let mut endless = Box::pin(endless);
        let mut go_on = async |seconds: u64| {
            tokio::time::timeout(Duration::from_secs(seconds), endless.as_mut()).await.is_err()
        };
        let own = queue.enqueue(&QueueKey::new("user eve", "a.example.com")).unwrap();
        is_awaited.store(false, Relaxed);
        assert!(go_on(100).await, "only a read of the same user waits");
        let other = queue.enqueue(&QueueKey::new("user ada", "b.example.com")).unwrap();
        is_awaited.store(true, Relaxed);
        assert!(go_on(100).await, "a request awaits it");
        is_awaited.store(false, Relaxed);
        assert!(!go_on(100).await, "it is ended");
        drop((own, place));
        other.wait().await;
    }

    #[tokio::test]
    async fn p20_what_waits_for_a_lock_has_no_place_and_what_waits_for_a_place_has_no_lock() {
        let url = "https://git.example.com/deploy.git";
        let queue = FairQueue::new(QueueLimits { running_of_key: 1, ..REFS });
        let lock = Arc::new(Mutex::new(()));

        let locked = lock.clone().lock_owned().await;
        let mut waits_for_lock = Box::pin(acquire_with_lock(&queue, url, &lock));
        assert!(futures::poll!(waits_for_lock.as_mut()).is_pending());
        let only_place = acquire(&queue, url).now_or_never().unwrap().unwrap();

        drop(locked);
        assert!(futures::poll!(waits_for_lock.as_mut()).is_pending(), "there is no place");
        assert!(lock.try_lock().is_ok(), "nothing waits for a place with the lock");
        drop(only_place);
        let (_place, _guard) = waits_for_lock.await.unwrap();
    }

    #[tokio::test]
    async fn p20_several_that_wait_for_a_lock_have_it_one_after_the_other() {
        let url = "https://git.example.com/deploy.git";
        let queue = FairQueue::new(REFS);
        let lock = Arc::new(Mutex::new(0));
        let locked = lock.clone().lock_owned().await;
        let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(acquire_with_lock(&queue, url, &lock))).collect();
        for waits in &mut waiting {
            assert!(futures::poll!(waits.as_mut()).is_pending());
        }
        drop(locked);
        let reads = waiting.into_iter().map(async |waits| {
            let (_place, mut reads) = waits.await.unwrap();
            tokio::task::yield_now().await;
            *reads += 1;
        });
        futures::future::join_all(reads).await;
        assert_eq!(*lock.lock().await, 5);
    }
}
