//! Checks a ref once for all workloads that follow it. While it does not move, only the list of refs is read.

use std::collections::HashMap;
use std::time::Duration;

use domain::Timestamp;
use domain::git_status::{GitFailure, GitRefStatus};
use domain::remote::PinnedCommit;
use rand::Rng;
use source::request_context::RequestContext;
use source::requester::run_for_requester;
use store::Tx;
use store::git::{DueRef, GitFollower, GitRefRow};
use tokio::sync::OwnedMutexGuard;
use tokio::task::{Id, JoinError, JoinSet};

use super::follow::NewCommit;
use super::{RESOLVE_WAIT, RefKey, describe, identity};
use crate::chart::RenderingFailure;
use crate::fair_queue::QueuePlace;
use crate::fetch_queues::{REFS, acquire_with_lock, url_host};
use crate::{Error, Hub};

/// Pause between two checks of a ref.
const CHECK_MILLIS: i64 = 3 * 60_000;
/// Longest pause after failures.
const MAX_RETRY_MILLIS: i64 = 60 * 60_000;
/// Due refs that are checked or wait for their turn at the same time on this server: as many as are read at once, and as many that wait.
const MAX_CHECKS: usize = 2 * REFS.running;
/// Those of one host: a check that waits for it takes no place of the others.
const MAX_CHECKS_OF_HOST: usize = 2 * REFS.running_of_key;
/// Those of the workloads of one user.
const MAX_CHECKS_OF_OWNER: usize = 2 * REFS.running_of_group;
/// Due refs that are looked at, in turns of their owners, so that those of a host or a user at its limit hide no other.
const MAX_DUE_REFS: u32 = 1_000;
/// How long a claim of a check lasts: longer than its requests.
const CLAIM_MILLIS: i64 = 10 * 60_000;
/// When a check that had no turn may be requested again, in seconds.
const RETRY_AFTER_SECONDS: u32 = 30;
/// How long a request waits for a check: less than what proxies allow. The check goes on.
const REQUEST_WAIT: Duration = Duration::from_secs(25);

/// Who requested a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckTrigger {
    /// It was due.
    Due,
    /// A user: what is blocked is tried again, although nothing has moved.
    User,
}

/// The checks of due refs that run on this server, each in a task of its own: nothing waits for the slowest of them.
#[derive(Default)]
pub(crate) struct RefChecks {
    tasks: JoinSet<Result<(), Error>>,
    running: HashMap<Id, RunningCheck>,
}

/// A check that runs.
struct RunningCheck {
    key: RefKey,
    host: String,
    /// Who created the workload that follows the ref.
    owner: String,
}

impl RunningCheck {
    fn new(row: &GitRefRow, owner: String) -> Self {
        Self { key: (row.url.clone(), row.reference.clone()), host: url_host(&row.url), owner }
    }
}

impl RefChecks {
    /// Starts the checks of refs that are due and not checked already, in turns of their owners, those that waited longest first.
    ///
    /// # Errors
    /// The refs can't be read.
    pub async fn start_due(&mut self, hub: &Hub) -> Result<(), Error> {
        let mut tx = hub.read().await?;
        let due = store::git::list_due_refs(&mut tx, hub.clock().now(), MAX_DUE_REFS).await?;
        drop(tx);
        for DueRef { row, owner } in due {
            if self.running.len() >= MAX_CHECKS {
                return Ok(());
            }
            let check = RunningCheck::new(&row, owner.unwrap_or_default());
            if !self.may_start(&check) {
                continue;
            }
            let (hub, owner) = (hub.clone(), check.owner.clone());
            let task = self.tasks.spawn(async move {
                run_for_requester(owner, Box::pin(hub.check_git_ref(row, CheckTrigger::Due))).await
            });
            self.running.insert(task.id(), check);
        }
        Ok(())
    }

    /// Whether a check does not run already, and its host and owner have places left.
    fn may_start(&self, check: &RunningCheck) -> bool {
        let count = |is_alike: fn(&RunningCheck, &RunningCheck) -> bool| {
            self.running.values().filter(|running| is_alike(running, check)).count()
        };
        count(|a, b| a.key == b.key) == 0
            && count(|a, b| a.host == b.host) < MAX_CHECKS_OF_HOST
            && count(|a, b| a.owner == b.owner) < MAX_CHECKS_OF_OWNER
    }

    /// Waits until a check has ended; `None` if none runs.
    ///
    /// # Errors
    /// The database is in an outage; other failures are those of the ref, which shows them.
    pub async fn join_next(&mut self) -> Option<Result<(), Error>> {
        let ended = self.tasks.join_next_with_id().await?;
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        self.running.remove(&id);
        match ended {
            Ok((_, Ok(()))) => {}
            Ok((_, Err(error))) if error.is_outage() => return Some(Err(error)),
            Ok((_, Err(error))) => {
                tracing::warn!(%error, "the check of a Git ref failed; it is repeated");
            }
            Err(error) => tracing::error!(%error, "the check of a Git ref ended unexpectedly"),
        }
        Some(Ok(()))
    }
}

impl Hub {
    /// Makes the refs of a repository due, because it reported a push.
    pub(crate) async fn make_git_refs_due(&self, url: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        self.make_refs_due(&mut tx, url).await?;
        tx.commit().await?;
        self.signals().git.notify_one();
        Ok(())
    }

    /// Makes the refs of a repository due, in whatever spelling of its URL drafts follow them.
    pub(crate) async fn make_refs_due(&self, tx: &mut Tx, url: &str) -> Result<(), Error> {
        let now = self.clock().now();
        let key = identity(url);
        for spelling in store::git::list_ref_urls(tx, self.project()).await? {
            if spelling == url || (key.is_some() && identity(&spelling) == key) {
                store::git::make_due(tx, self.project(), &spelling, now).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn check_git_ref_within_request(&self, row: GitRefRow) -> Result<(), Error> {
        let hub = self.clone();
        let check = async move { hub.check_git_ref(row, CheckTrigger::User).await };
        let check = RequestContext::current().with_own_wait().spawn(check);
        match tokio::time::timeout(REQUEST_WAIT, check).await {
            Ok(Ok(checked)) => checked,
            Ok(Err(error)) => Err(Error::Internal(Box::new(error))),
            Err(_) => Ok(()),
        }
    }

    /// A place to read a ref, and the lock of its checks; `None` if it has no turn now and stays due. Workloads of others may follow the ref,
    /// so that a user has no turn is no failure of the ref.
    async fn acquire_check(
        &self,
        row: &GitRefRow,
        trigger: CheckTrigger,
    ) -> Result<Option<(QueuePlace, OwnedMutexGuard<()>)>, Error> {
        let lock = self.git_reader().ref_lock(row);
        let acquired = acquire_with_lock(&self.fetch_queues().refs, &row.url, &lock);
        if trigger == CheckTrigger::Due {
            return Ok(acquired.await.ok());
        }
        let late = || {
            Err(format!(
                "{} was not read, because other requests of the same user or to {}, or another check of the ref, took more than {} s.",
                row.url,
                url_host(&row.url),
                RESOLVE_WAIT.as_secs()
            ))
        };
        match tokio::time::timeout(RESOLVE_WAIT, acquired).await.unwrap_or_else(|_| late()) {
            Ok(acquired) => Ok(Some(acquired)),
            Err(message) => Err(Error::ServerBusy { message, retry_after_seconds: RETRY_AFTER_SECONDS }),
        }
    }

    async fn check_git_ref(&self, row: GitRefRow, trigger: CheckTrigger) -> Result<(), Error> {
        // One check of a ref at a time, so that no commit is published twice.
        let Some((place, _guard)) = self.acquire_check(&row, trigger).await? else { return Ok(()) };
        let Some(row) = self.claim_check(row, trigger).await? else { return Ok(()) };
        let tip = self.resolve_ref_in_turn(&row.url, &row.reference, place).await?;
        let had_failed = row.status.failure.is_some();
        let next = match tip {
            Err(failure) => self.failed_ref(&row, &failure),
            Ok(tip) => {
                let details = self.follow_tip(&row, &tip, trigger).await?;
                self.checked_ref(&row, &tip, details)
            }
        };
        let has_recovered = had_failed && next.status.failure.is_none();
        let mut tx = self.write().await?;
        store::git::update_ref(&mut tx, &next).await?;
        let is_failing = next.status.failure.is_some();
        if is_failing || had_failed {
            let now = self.clock().now();
            for workload in store::git::list_following(&mut tx, &next).await? {
                store::incident::note_cause(&mut tx, workload, is_failing, now);
            }
        }
        if has_recovered {
            // Workloads that wait for a commit of it.
            store::queue::PLACER.mark_all(&mut tx, self.clock().now()).await?;
        }
        tx.commit().await?;
        if has_recovered {
            self.signals().placer.notify_one();
        }
        Ok(())
    }

    /// Claims a ref and reads it again: another check may have ended while this one waited for its turn. `None` if there is nothing to check.
    async fn claim_check(&self, row: GitRefRow, trigger: CheckTrigger) -> Result<Option<GitRefRow>, Error> {
        let mut tx = self.write().await?;
        if store::git::delete_unused_ref(&mut tx, &row).await? {
            self.git_reader().remove_ref_lock(&row);
            tx.commit().await?;
            return Ok(None);
        }
        let until = self.clock().now().plus_millis(CLAIM_MILLIS);
        let current = store::git::get_ref(&mut tx, row.project, &row.url, &row.reference).await?;
        let Some(current) = current else { return Ok(None) };
        let claimed = match trigger {
            CheckTrigger::Due => &row,
            CheckTrigger::User => &current,
        };
        if !store::git::claim_ref(&mut tx, claimed, until).await? && trigger == CheckTrigger::Due {
            return Ok(None);
        }
        tx.commit().await?;
        Ok(Some(current))
    }

    /// Fetches the commit of a ref for the workloads that do not have it, and lets each follow it by its policy. Returns what is
    /// known about the commit.
    async fn follow_tip(
        &self,
        row: &GitRefRow,
        tip: &str,
        trigger: CheckTrigger,
    ) -> Result<Option<PinnedCommit>, Error> {
        let mut tx = self.read().await?;
        let followers = store::git::list_followers(&mut tx, row).await?;
        drop(tx);
        let mut details = None;
        let mut pending = Vec::new();
        for follower in followers {
            if trigger == CheckTrigger::User || needs_commit(&follower, tip) {
                pending.push(follower);
            } else if details.is_none() {
                details = self.find_git_snapshot(&row.url, &follower.path, tip).await?;
            }
        }
        let by_path = self.load_paths(&row.url, tip, &pending).await?;
        details = by_path.values().find_map(|loaded| loaded.as_ref().ok().cloned()).or(details);
        let old = row.status.commit.as_deref();
        for follower in pending {
            let loaded = by_path.get(&follower.path).cloned();
            let Some(loaded) = loaded else { continue };
            let commit = NewCommit { row, tip, previous: old, loaded };
            if let Err(error) = self.follow_commit(&follower, commit).await {
                if error.is_outage() {
                    return Err(error);
                }
                // One workload must not keep the others from following.
                tracing::warn!(%error, workload = follower.name, "a workload could not follow a commit; it is repeated");
            }
        }
        Ok(details)
    }

    /// The content of a commit at the path of each workload: stored, or fetched once for all.
    async fn load_paths(
        &self,
        url: &str,
        tip: &str,
        followers: &[GitFollower],
    ) -> Result<HashMap<String, Result<PinnedCommit, RenderingFailure>>, Error> {
        let mut by_path = HashMap::new();
        let mut missing: Vec<String> = Vec::new();
        for follower in followers {
            match self.find_git_snapshot(url, &follower.path, tip).await? {
                Some(stored) => drop(by_path.insert(follower.path.clone(), Ok(stored))),
                None if missing.contains(&follower.path) => {}
                None => missing.push(follower.path.clone()),
            }
        }
        if !missing.is_empty() {
            by_path.extend(self.fetch_git_commit(url, tip, &missing, || true).await?);
        }
        Ok(by_path)
    }

    fn checked_ref(&self, row: &GitRefRow, tip: &str, details: Option<PinnedCommit>) -> GitRefRow {
        let now = self.clock().now();
        let before = &row.status;
        let is_same = before.commit.as_deref() == Some(tip);
        let mut status = GitRefStatus {
            commit: Some(tip.to_owned()),
            checked_at: Some(now),
            moved_at: if is_same { before.moved_at } else { Some(now) },
            ..if is_same { before.clone() } else { GitRefStatus::default() }
        };
        status.failure = None;
        if let Some(details) = details {
            (status.author, status.subject) = (details.author, details.subject);
            status.committed_at = Some(details.committed_at);
        }
        let pause = self.git_check_millis();
        GitRefRow { next_check_at: now.plus_millis(with_jitter(pause)), status, ..row.clone() }
    }

    /// The last commit stays, with its age; the pause doubles with each failure.
    fn failed_ref(&self, row: &GitRefRow, failure: &RenderingFailure) -> GitRefRow {
        let now = self.clock().now();
        let attempts = row.status.failure.as_ref().map_or(0, |failure| failure.attempts).saturating_add(1);
        let status =
            GitRefStatus { failure: Some(to_git_failure(failure, now, attempts)), ..row.status.clone() };
        let pause = retry_millis(self.git_check_millis(), attempts);
        GitRefRow { next_check_at: now.plus_millis(with_jitter(pause)), status, ..row.clone() }
    }

    fn git_check_millis(&self) -> i64 {
        self.git_reader().check_millis.get().copied().unwrap_or(CHECK_MILLIS)
    }
}

/// Whether a workload has not handled this commit, or may succeed now where it failed before.
fn needs_commit(follower: &GitFollower, tip: &str) -> bool {
    follower.follow.commit != tip || follower.follow.blocked.is_some()
}

/// The failure as it is shown.
pub(super) fn to_git_failure(failure: &RenderingFailure, at: Timestamp, attempts: u32) -> GitFailure {
    let (message, hint) = describe(failure);
    GitFailure { message, hint, at, attempts }
}

/// The pause after this many failures.
fn retry_millis(check_millis: i64, attempts: u32) -> i64 {
    let doubled = check_millis.saturating_mul(1 << attempts.saturating_sub(1).min(10));
    doubled.min(MAX_RETRY_MILLIS.max(check_millis))
}

/// The pause plus or minus a fifth, so that servers are not read by all clients at once.
fn with_jitter(millis: i64) -> i64 {
    let fifth = millis / 5;
    if fifth == 0 { millis } else { millis + rand::rng().random_range(-fifth..=fifth) }
}

#[cfg(test)]
mod tests {
    use domain::ProjectId;
    use domain::remote::RemoteSource;
    use domain::workload::{NewWorkload, Source, WorkloadSpec};
    use futures::FutureExt as _;

    use super::*;
    use crate::fetch_queues::fetch_key;
    use crate::{Actor, Clock, HubConfig};

    fn check(host: &str, reference: &str, owner: &str) -> RunningCheck {
        let row = GitRefRow {
            project: ProjectId::from_parts(1, 1),
            url: format!("https://{host}/deploy.git"),
            reference: reference.to_owned(),
            next_check_at: Timestamp::from_millis(0),
            status: GitRefStatus::default(),
        };
        RunningCheck::new(&row, owner.to_owned())
    }

    /// The checks that run after these were started, each if it may.
    async fn start(checks: impl IntoIterator<Item = RunningCheck>) -> RefChecks {
        let mut all = RefChecks::default();
        for check in checks {
            if all.may_start(&check) {
                let task = all.tasks.spawn(async { Ok(()) });
                all.running.insert(task.id(), check);
            }
        }
        all
    }

    #[tokio::test]
    async fn p20_no_user_and_no_host_has_the_places_of_all_checks() {
        let of_eve = (0..100).map(|n| check(&format!("{n}.example.com"), "main", "eve"));
        let checks = start(of_eve).await;
        assert_eq!(checks.running.len(), MAX_CHECKS_OF_OWNER);
        assert!(checks.may_start(&check("git.example.com", "main", "ada")));
        let of_host = (0..100).map(|n| check("git.example.com", "main", &format!("user-{n}")));
        assert_eq!(start(of_host).await.running.len(), 1, "the same ref is checked once");
        let of_host = (0..100).map(|n| check("git.example.com", &format!("v{n}"), &format!("user-{n}")));
        assert_eq!(start(of_host).await.running.len(), MAX_CHECKS_OF_HOST);
        const { assert!(MAX_CHECKS_OF_OWNER < MAX_CHECKS && MAX_CHECKS_OF_HOST < MAX_CHECKS_OF_OWNER) };
    }

    /// A hub without a client for Git, and a workload that follows a ref.
    async fn hub_with_ref() -> (tempfile::TempDir, Hub) {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let source = RemoteSource {
            repository: "https://git.example.com/deploy.git".to_owned(),
            reference: "main".to_owned(),
            ..RemoteSource::default()
        };
        let spec = WorkloadSpec {
            namespace: "shop".to_owned(),
            source: Source::Git(Box::new(source)),
            ..WorkloadSpec::default()
        };
        let new = NewWorkload { name: "web".to_owned(), spec, ..NewWorkload::default() };
        Box::pin(hub.create_workload(&Actor::system(), new)).await.unwrap();
        (folder, hub)
    }

    async fn list_due(hub: &Hub) -> Vec<DueRef> {
        let mut tx = hub.read().await.unwrap();
        store::git::list_due_refs(&mut tx, hub.clock().now(), 10).await.unwrap()
    }

    #[tokio::test]
    async fn p20_a_ref_that_has_no_turn_stays_due_without_a_failure_and_a_requested_check_is_refused() {
        let (_folder, hub) = hub_with_ref().await;
        let due = list_due(&hub).await;
        assert_eq!(due.len(), 1);
        let owner = due[0].owner.clone().unwrap();
        // As much runs and waits of the owner as may of one host.
        let positions = run_for_requester(owner.clone(), async {
            let key = fetch_key(&due[0].row.url);
            let count = REFS.running_of_key + REFS.waiting_of_key;
            (0..count).map(|_| hub.fetch_queues().refs.enqueue(&key).unwrap()).collect::<Vec<_>>()
        })
        .await;
        let mut checks = RefChecks::default();
        checks.start_due(&hub).await.unwrap();
        checks.join_next().await.unwrap().unwrap();
        assert_eq!(list_due(&hub).await, due, "workloads of others follow the ref too");
        let actor = Actor::system();
        let check = run_for_requester(owner, Box::pin(hub.check_git_source(&actor, "web")));
        let refused = check.await.unwrap_err();
        assert!(matches!(refused, Error::ServerBusy { .. }), "{refused}");
        assert_eq!(list_due(&hub).await, due);

        drop(positions);
        checks.start_due(&hub).await.unwrap();
        checks.join_next().await.unwrap().unwrap();
        assert!(list_due(&hub).await.is_empty(), "it was checked");
        let status = hub.get_git_source("web").await.unwrap().status;
        assert_eq!(status.failure.map(|failure| failure.attempts), Some(1));
    }

    #[tokio::test]
    async fn p20_a_check_that_waits_for_another_one_of_the_ref_has_no_place() {
        let (_folder, hub) = hub_with_ref().await;
        let row = list_due(&hub).await.remove(0).row;
        let running = hub.git_reader().ref_lock(&row).lock_owned().await;
        let mut waiting = Box::pin(hub.acquire_check(&row, CheckTrigger::User));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        let places: Vec<_> = (0..REFS.running_of_key)
            .map(|_| {
                let place = hub.acquire_ref_place(&row.url).now_or_never();
                place.expect("every place of the host is free").unwrap()
            })
            .collect();
        drop((running, places));
        assert!(waiting.await.unwrap().is_some());
    }

    #[test]
    fn the_pause_after_failures_doubles_up_to_an_hour_and_is_never_shorter_than_a_check() {
        let minutes = |attempts| retry_millis(CHECK_MILLIS, attempts) / 60_000;
        assert_eq!([1, 2, 3, 4, 5, 6, 40].map(minutes), [3, 6, 12, 24, 48, 60, 60]);
        assert_eq!(retry_millis(2 * MAX_RETRY_MILLIS, 3), 2 * MAX_RETRY_MILLIS);
        for _ in 0..100 {
            assert!((144_000..=216_000).contains(&with_jitter(CHECK_MILLIS)));
        }
        assert_eq!(with_jitter(3), 3);
    }
}
