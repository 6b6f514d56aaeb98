//! Refreshes the cached indexes: on demand, and in the background when they are read and due. A failure keeps the last index.

use std::sync::Arc;
use std::time::Duration;

use domain::authorization::UserAction;
use domain::chart_repository::{ChartRepository, IndexedChart, IndexedVersion, RepositoryStatus};
use domain::{Digest, Timestamp};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use source::repository::{CacheValidators, RepositoryIndex};
use source::request_context::RequestContext;
use source::requester::{current_turn, start_for_requester};
use store::chart_repository::ChartRepositoryRow;

use super::{ReadFailure, to_public, to_source};
use crate::blocking::run_blocking;
use crate::fetch_queues::acquire_with_lock;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

/// A refresh that runs; every requester awaits the same one. An error says why it had no turn: nothing was read, and the status stays.
pub(super) type SharedRefresh = Shared<BoxFuture<'static, Result<(), String>>>;

/// Held while the index of a repository is read on this server. It has the revision of the repository at the last read whose result was
/// stored, and when that read began.
pub(super) type RefreshLock = Arc<tokio::sync::Mutex<Option<(i64, Timestamp)>>>;

/// Age at which an index is due for a refresh in the background.
const REFRESH_MILLIS: i64 = 10 * 60_000;
/// Pause after the first failure; it doubles with each further one.
const RETRY_MILLIS: i64 = 60_000;
/// Longest pause after failures.
const MAX_RETRY_MILLIS: i64 = 60 * 60_000;
/// Longest pause after refreshes during which the server ended.
const MAX_UNFINISHED_MILLIS: i64 = 24 * 60 * 60_000;
/// How long a request waits for a refresh: less than what proxies allow.
const REQUEST_WAIT: Duration = Duration::from_secs(25);
/// When a refresh that had no turn may be requested again, in seconds.
const RETRY_AFTER_SECONDS: u32 = 30;
/// How often an index is read for one refresh if another server stores its result meanwhile; the last result is stored in any case.
const MAX_READS: u32 = 3;
/// Most changed versions that the status names.
const MAX_CHANGED_VERSIONS: usize = 20;

/// The result of a request for the index.
enum FetchedIndex {
    /// The stored one is the current one.
    Unchanged,
    /// A new one.
    Changed(ChangedIndex),
    /// A registry has none.
    None,
}

/// An index that is not the stored one.
struct ChangedIndex {
    charts: Vec<IndexedChart>,
    /// The list as it is stored.
    bytes: Vec<u8>,
    digest: Digest,
    /// Entries that are left out.
    rejected: u32,
    validators: CacheValidators,
}

impl Hub {
    /// Reads the index of a repository now, however old the stored one is.
    ///
    /// # Errors
    /// There is no such repository; [`Error::ServerBusy`] if other requests of the user have all places. A repository that can't be read is
    /// no error here: the status says why.
    pub async fn refresh_chart_repository(
        &self,
        actor: &Actor,
        name: &str,
    ) -> Result<ChartRepository, Error> {
        actor.authorize(UserAction::ChangeCharts)?;
        let missing = || Error::not_found("chart repository", name);
        let row = self.find_repository(name).await?.ok_or_else(missing)?;
        self.refresh_within_request(&row).await?;
        Ok(to_public(self.find_repository(name).await?.ok_or_else(missing)?))
    }

    /// Reads the index as long as a request may take. A refresh that takes longer goes on; its result is in the next list.
    ///
    /// # Errors
    /// It has no turn: the status stays, because the places of this user do not concern the others who use the repository.
    pub(super) async fn refresh_within_request(&self, row: &ChartRepositoryRow) -> Result<(), Error> {
        match tokio::time::timeout(REQUEST_WAIT, self.start_refresh(row)).await {
            Ok(Err(message)) => Err(Error::ServerBusy { message, retry_after_seconds: RETRY_AFTER_SECONDS }),
            Ok(Ok(())) | Err(_) => Ok(()),
        }
    }

    /// Starts a refresh in the background if the index is due: in the turn of the user who added the repository, whoever uses it.
    pub(crate) fn refresh_if_due(&self, row: &ChartRepositoryRow) {
        let now = self.clock().now();
        if is_due(&row.status, now) {
            drop(start_for_requester(row.created_by.clone(), || self.start_refresh(row)));
        }
    }

    /// Starts a refresh in the turn of the user of this task, or joins the one that runs.
    fn start_refresh(&self, row: &ChartRepositoryRow) -> SharedRefresh {
        let key = (row.name.clone(), row.revision, current_turn());
        let mut running = self.repository_reader().refreshes.lock();
        if let Some(refresh) = running.get(&key) {
            return refresh.clone();
        }
        let (hub, row, ended) = (self.clone(), row.clone(), key.clone());
        let requested_at = self.clock().now();
        // A task of its own: a refresh goes on when its requester is gone.
        let task = RequestContext::current().with_own_wait().spawn(async move {
            let refreshed = refresh(&hub, &row, requested_at).await.unwrap_or_else(|error| {
                tracing::warn!(%error, repository = ended.0, "the refresh of a chart repository could not be stored");
                Ok(())
            });
            if let Err(message) = &refreshed {
                tracing::debug!(repository = ended.0, reason = %message, "the refresh of an index had no turn");
            }
            hub.repository_reader().refreshes.lock().remove(&ended);
            refreshed
        });
        let shared = async move {
            task.await.unwrap_or_else(|error| {
                tracing::error!(%error, "the refresh of a chart repository ended unexpectedly");
                Ok(())
            })
        };
        let shared = shared.boxed().shared();
        running.insert(key, shared.clone());
        shared
    }
}

/// Reads an index in the turn of the user of this task, one read at a time on this server: unless a read that began after the request
/// has a result already. The inner error says why it had no turn.
async fn refresh(
    hub: &Hub,
    row: &ChartRepositoryRow,
    requested_at: Timestamp,
) -> Result<Result<(), String>, Error> {
    let lock = hub.repository_reader().refresh_lock(&row.name);
    let acquired = acquire_with_lock(&hub.fetch_queues().indexes, &row.url, &lock).await;
    let (_place, mut last_read) = match acquired {
        Ok(acquired) => acquired,
        Err(message) => return Ok(Err(message)),
    };
    if last_read.is_some_and(|(revision, began_at)| revision == row.revision && began_at > requested_at) {
        return Ok(Ok(()));
    }
    for read in 1..=MAX_READS {
        let began_at = hub.clock().now();
        let Some(stored) = store_attempt(hub, row).await? else { break };
        let fetched = fetch(hub, &stored).await;
        if store_fetched(hub, &stored, fetched, read == MAX_READS).await? {
            *last_read = Some((row.revision, began_at));
            break;
        }
    }
    Ok(Ok(()))
}

/// Stores the result of a read that began with this row; returns `false` if another server has stored one meanwhile, which may be a later
/// one. With `always` it is stored nevertheless.
async fn store_fetched(
    hub: &Hub,
    row: &ChartRepositoryRow,
    fetched: Result<FetchedIndex, ReadFailure>,
    always: bool,
) -> Result<bool, Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    store::chart_repository::lock(&mut tx, row.project, &row.name).await?;
    let found = store::chart_repository::get(&mut tx, row.project, &row.name).await?;
    // Changed or removed in the meantime: the result is that of another server.
    let Some(current) = found.filter(|current| is_unchanged(current, row)) else { return Ok(true) };
    if !always && !has_same_index(&current, row) {
        return Ok(false);
    }
    let had_failed = current.status.failure.is_some();
    let mut next = current.clone();
    match fetched {
        Ok(FetchedIndex::Unchanged) => next.status = unchanged_status(current.status, now),
        Ok(FetchedIndex::None) => {
            next.status = RepositoryStatus { refreshed_at: Some(now), ..RepositoryStatus::default() };
        }
        Ok(FetchedIndex::Changed(index)) => {
            let ChangedIndex { charts, bytes, digest, rejected, validators } = index;
            store::artifact::put(&mut tx, &digest, &bytes, now).await?;
            let stored = store::chart::list_by_repository(&mut tx, row.project, &row.name).await?;
            let stored = stored.iter().map(|chart| (&*chart.name, &*chart.version, &chart.digest));
            next.status = RepositoryStatus {
                chart_count: Some(u32::try_from(charts.len()).unwrap_or(u32::MAX)),
                rejected_entries: rejected,
                changed_versions: list_changed(&charts, stored),
                ..unchanged_status(RepositoryStatus::default(), now)
            };
            next.index = Some(digest);
            (next.etag, next.last_modified) = (validators.etag, validators.last_modified);
        }
        Err(failure) => next.status = failed_status(current.status, failure, now),
    }
    let may_resume = had_failed && next.status.failure.is_none();
    store::chart_repository::update(&mut tx, &next, row.revision).await?;
    if may_resume {
        // Workloads that wait for a chart of it.
        store::queue::PLACER.mark_all(&mut tx, now).await?;
    }
    hub.commit(tx, CommitEffects { wake_placer: may_resume, ..CommitEffects::default() }).await?;
    Ok(true)
}

/// Whether it is still the same repository; one that was added again with the same name has the same first revision.
fn is_unchanged(current: &ChartRepositoryRow, row: &ChartRepositoryRow) -> bool {
    (current.revision, current.created_at, &current.url) == (row.revision, row.created_at, &row.url)
}

/// Whether both have the same index, of the same response.
fn has_same_index(one: &ChartRepositoryRow, other: &ChartRepositoryRow) -> bool {
    (&one.index, &one.etag, &one.last_modified) == (&other.index, &other.etag, &other.last_modified)
}

/// Moves the time at which the index is due before it is read: should the server be killed while it reads the index, then the next
/// list of repositories does not start the same again. Returns the repository as it is stored now; `None` if it was changed or removed.
async fn store_attempt(hub: &Hub, row: &ChartRepositoryRow) -> Result<Option<ChartRepositoryRow>, Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    store::chart_repository::lock(&mut tx, row.project, &row.name).await?;
    let found = store::chart_repository::get(&mut tx, row.project, &row.name).await?;
    let Some(mut current) = found.filter(|current| is_unchanged(current, row)) else { return Ok(None) };
    current.status = attempted_status(current.status, now);
    store::chart_repository::update(&mut tx, &current, row.revision).await?;
    hub.commit(tx, CommitEffects::default()).await?;
    Ok(Some(current))
}

async fn fetch(hub: &Hub, row: &ChartRepositoryRow) -> Result<FetchedIndex, ReadFailure> {
    let client = hub.repository_client()?;
    let invalid = |finding: domain::Finding| ReadFailure { message: finding.message, hint: finding.hint };
    let repository = to_source(row).map_err(invalid)?;
    if repository.is_registry() {
        return Ok(FetchedIndex::None);
    }
    let validators = CacheValidators { etag: row.etag.clone(), last_modified: row.last_modified.clone() };
    let stored = row.index.is_some().then_some(&validators);
    let Some((index, validators)) = client.fetch_changed_index(&repository, stored).await? else {
        return Ok(FetchedIndex::Unchanged);
    };
    let converted = run_blocking(move || {
        let rejected = u32::try_from(index.rejected_count()).unwrap_or(u32::MAX);
        let charts = to_charts(&index);
        let bytes = serde_json::to_vec(&charts)?;
        let digest = Digest::compute(&bytes);
        Ok(ChangedIndex { charts, bytes, digest, rejected, validators })
    });
    let failed = |error: &dyn std::fmt::Display| ReadFailure {
        message: format!("The index could not be read: {error}"),
        hint: "Try again; if it fails again, look at the log of the server.".to_owned(),
    };
    let converted: Result<ChangedIndex, serde_json::Error> =
        converted.await.map_err(|error| failed(&error))?;
    converted.map(FetchedIndex::Changed).map_err(|error| failed(&error))
}

fn to_charts(index: &RepositoryIndex) -> Vec<IndexedChart> {
    let chart = |chart: source::repository::RepositoryChart<'_>| {
        let versions = index.versions(chart.name).unwrap_or_default().iter().map(|version| IndexedVersion {
            version: version.version.clone(),
            app_version: version.app_version.clone(),
            kubernetes_range: version.kubernetes_range.clone(),
            deprecated: version.is_deprecated,
            digest: version.digest.clone(),
            created_at: version.created_at,
        });
        IndexedChart {
            name: chart.name.to_owned(),
            description: chart.newest.description.clone(),
            versions: versions.collect(),
        }
    };
    index.charts().map(chart).collect()
}

/// Whether an index is read now: when its time has come, or it has none because it was never read.
fn is_due(status: &RepositoryStatus, now: Timestamp) -> bool {
    match status.next_refresh_at {
        Some(due) => due <= now,
        None => status.refreshed_at.is_none() && status.failure.is_none(),
    }
}

/// The status while the index is read; it stays if the server ends in the meantime. Then the next attempt records that in the status, and
/// the pause before the one after it is twice as long.
fn attempted_status(before: RepositoryStatus, now: Timestamp) -> RepositoryStatus {
    let unfinished = before.unfinished_refreshes;
    // Before it is due, a refresh that a user requested may be beside one that still runs on another server.
    if unfinished > 0 && before.next_refresh_at.is_some_and(|due| due > now) {
        return before;
    }
    let pause = REFRESH_MILLIS.saturating_mul(1 << unfinished.min(10)).min(MAX_UNFINISHED_MILLIS);
    let failure = match unfinished {
        0 => before.failure,
        attempts => Some(server_ended(attempts, pause).at(now, attempts)),
    };
    RepositoryStatus {
        unfinished_refreshes: unfinished.saturating_add(1),
        next_refresh_at: Some(now.plus_millis(pause)),
        failure,
        ..before
    }
}

/// The last attempts have no result.
fn server_ended(attempts: u32, pause: i64) -> ReadFailure {
    ReadFailure {
        message: format!(
            "The server ended while it read the index (attempts in a row: {attempts}). It is read again now."
        ),
        hint: format!(
            "If the server ends again, it waits {} minutes before the next attempt; look at its log, or remove the repository.",
            pause / 60_000
        ),
    }
}

/// The status after the index was found to be complete.
fn unchanged_status(before: RepositoryStatus, now: Timestamp) -> RepositoryStatus {
    RepositoryStatus {
        refreshed_at: Some(now),
        failure: None,
        unfinished_refreshes: 0,
        next_refresh_at: Some(now.plus_millis(REFRESH_MILLIS)),
        ..before
    }
}

/// The status after a failure: the last index stays, with its age.
fn failed_status(before: RepositoryStatus, failure: ReadFailure, now: Timestamp) -> RepositoryStatus {
    let attempts = before.failure.as_ref().map_or(0, |failure| failure.attempts).saturating_add(1);
    let pause = RETRY_MILLIS.saturating_mul(1 << (attempts - 1).min(10)).min(MAX_RETRY_MILLIS);
    RepositoryStatus {
        failure: Some(failure.at(now, attempts)),
        unfinished_refreshes: 0,
        next_refresh_at: Some(now.plus_millis(pause)),
        ..before
    }
}

/// Stored versions for which the index has another digest.
fn list_changed<'a>(
    charts: &[IndexedChart],
    stored: impl Iterator<Item = (&'a str, &'a str, &'a Digest)>,
) -> Vec<String> {
    let is_changed = |(name, version, digest): &(&str, &str, &Digest)| {
        let chart = charts.iter().find(|chart| chart.name == *name);
        let published = chart.and_then(|chart| chart.find(version)).and_then(|found| found.digest.as_ref());
        published.is_some_and(|published| published != *digest)
    };
    let changed = stored.filter(is_changed).map(|(name, version, _)| format!("{name} {version}"));
    changed.take(MAX_CHANGED_VERSIONS).collect()
}

#[cfg(test)]
mod tests;
