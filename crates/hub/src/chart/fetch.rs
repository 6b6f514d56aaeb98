//! Fetches charts from their repositories. A chart is fetched once and stored by its digest; from then on the repository is not
//! needed, and what it changes afterwards is never used silently.

use std::collections::HashMap;
use std::time::Duration;

use domain::Finding;
use domain::actions::ActionUnavailable;
use domain::chart::ChartVersion;
use domain::event::{EventKind, NewEvent};
use domain::release::Reason;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use source::repository::{ChartRequest, RepositoryError, RepositoryErrorKind, RepositoryVersion};
use source::request_context::RequestContext;
use source::requester::current_turn;
use source::retained_memory::run_with_memory;
use store::chart_repository::ChartRepositoryRow;

use super::rendering::RenderingFailure;
use super::upload::read_chart;
use crate::blocking::read_archive;
use crate::chart_repository::to_source;
use crate::fetch_queues::{acquire, acquire_within, describe_ended, fetch_key, run_while_needed};
use crate::hub::CommitEffects;
use crate::manifests::RenderWait;
use crate::{Actor, Error, Hub};

/// How long a request waits for the versions of a chart in a registry, for its turn and for the response: less than what proxies allow.
const REGISTRY_WAIT: Duration = Duration::from_secs(25);

/// A fetch that runs; every requester awaits the same one.
type SharedChartFetch = Shared<BoxFuture<'static, Result<ChartVersion, RenderingFailure>>>;

/// The version of a chart in a repository of this revision, fetched in the turn of a user: nobody waits in the turns of another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ChartFetchKey {
    repository: String,
    revision: i64,
    name: String,
    version: String,
    turn: String,
}

/// Fetches charts on this server.
#[derive(Default)]
pub(crate) struct ChartFetcher {
    running: Mutex<HashMap<ChartFetchKey, SharedChartFetch>>,
}

impl ChartFetcher {
    /// Whether a request or the placer awaits a fetch.
    fn is_awaited(&self, key: &ChartFetchKey) -> bool {
        // One of them is in the map.
        self.running.lock().get(key).and_then(Shared::strong_count).is_some_and(|count| count > 1)
    }
}

impl Hub {
    /// Fetches a chart and waits as long as the requester does. When the placer stops waiting, the workload is marked dirty once
    /// the fetch ends.
    pub(super) async fn fetch_within(
        &self,
        repository: &ChartRepositoryRow,
        name: &str,
        version: &str,
        wait: RenderWait,
    ) -> Result<ChartVersion, RenderingFailure> {
        let fetch = self.start_fetch(repository, name, version);
        if let Ok(result) = tokio::time::timeout(wait.limit(), fetch.clone()).await {
            return result;
        }
        if let RenderWait::Placer(workload) = wait {
            let hub = self.clone();
            tokio::spawn(async move {
                // A failure waits for the full pass of the placer, so that it is not repeated at once.
                if fetch.await.is_ok() {
                    hub.mark_dirty_or_log(workload).await;
                }
            });
        }
        Err(RenderingFailure::retried(
            format!("Chart {}/{name} {version} is still being fetched.", repository.name),
            "Wait a moment and try again; the fetch goes on, unless other users wait for its place.",
        ))
    }

    /// The versions of a chart in a registry, the newest first; `None` if the repository is no registry.
    ///
    /// # Errors
    /// The registry can't be read now, so its versions are not known.
    pub(crate) async fn list_registry_versions(
        &self,
        row: &ChartRepositoryRow,
        name: &str,
    ) -> Result<Option<Vec<RepositoryVersion>>, ActionUnavailable> {
        let unknown = |why: String| {
            ActionUnavailable(format!("The versions of {}/{name} are not known now: {why}", row.name))
        };
        let repository = to_source(row).map_err(|finding| unknown(finding.message))?;
        if !repository.is_registry() {
            return Ok(None);
        }
        let client = self.repository_client().map_err(|failure| unknown(failure.message))?;
        let deadline = tokio::time::Instant::now() + REGISTRY_WAIT;
        let place = acquire_within(&self.fetch_queues().charts, &row.url, REGISTRY_WAIT).await;
        let _place = place.map_err(unknown)?;
        let versions = tokio::time::timeout_at(deadline, client.list_versions(&repository, name));
        match versions.await {
            Ok(Ok(versions)) => Ok(Some(versions)),
            Ok(Err(error)) => Err(unknown(error.message)),
            Err(_) => Err(unknown(format!(
                "no response within {} s, the wait for its turn included.",
                REGISTRY_WAIT.as_secs()
            ))),
        }
    }

    /// Starts a fetch, or joins the one that runs.
    fn start_fetch(&self, repository: &ChartRepositoryRow, name: &str, version: &str) -> SharedChartFetch {
        let key = ChartFetchKey {
            repository: repository.name.clone(),
            revision: repository.revision,
            name: name.to_owned(),
            version: version.to_owned(),
            turn: current_turn(),
        };
        let mut running = self.chart_fetcher().running.lock();
        if let Some(fetch) = running.get(&key) {
            return fetch.clone();
        }
        let (hub, row, task_key) = (self.clone(), repository.clone(), key.clone());
        // A task of its own: a fetch goes on when its requester is gone.
        let task = RequestContext::current().with_own_wait().spawn(async move {
            let fetched = fetch(&hub, &row, &task_key).await.unwrap_or_else(|error| {
                let message = format!("The chart could not be stored: {error}");
                Err(RenderingFailure::retried(message, "It is tried again."))
            });
            hub.chart_fetcher().running.lock().remove(&task_key);
            fetched
        });
        let shared = async move {
            task.await.unwrap_or_else(|error| {
                tracing::error!(%error, "a fetch ended unexpectedly");
                let message = "The fetch of the chart ended unexpectedly.";
                Err(RenderingFailure::retried(message, "It is tried again; the log has the details."))
            })
        };
        let shared = shared.boxed().shared();
        running.insert(key, shared.clone());
        shared
    }
}

async fn fetch(
    hub: &Hub,
    row: &ChartRepositoryRow,
    key: &ChartFetchKey,
) -> Result<Result<ChartVersion, RenderingFailure>, Error> {
    let client = match hub.repository_client() {
        Ok(client) => client,
        Err(failure) => return Ok(Err(RenderingFailure::retried(failure.message, failure.hint))),
    };
    let repository = match to_source(row) {
        Ok(repository) => repository,
        Err(finding) => {
            return Ok(Err(RenderingFailure { findings: vec![finding], reason: Reason::RenderFailed }));
        }
    };
    let place = match acquire(&hub.fetch_queues().charts, &row.url).await {
        Ok(place) => place,
        Err(message) => return Ok(Err(RenderingFailure::retried(message, "It is tried again."))),
    };
    if let Some(stored) = find_fetched(hub, row, key).await? {
        return Ok(Ok(stored));
    }
    // What the last index published: content that changed since then is not what was chosen.
    let index = hub.load_index(row).await?;
    let chart = index.as_ref().and_then(|index| index.iter().find(|chart| chart.name == key.name));
    let expected = chart.and_then(|chart| chart.find(&key.version)).and_then(|found| found.digest.clone());
    let request = ChartRequest { name: &key.name, version: &key.version, expected: expected.as_ref() };
    let is_awaited = || hub.chart_fetcher().is_awaited(key);
    let reading = Box::pin(client.fetch_chart(&repository, request));
    let queue = &hub.fetch_queues().charts;
    let (archive, received) = match run_while_needed(queue, &fetch_key(&row.url), is_awaited, reading).await {
        Some(Ok(fetched)) => (fetched.archive, fetched.received),
        Some(Err(error)) => return Ok(Err(to_failure(error, key))),
        None => {
            return Ok(Err(RenderingFailure::retried(describe_ended(&row.url), "It is tried again.")));
        }
    };
    drop(place);
    run_with_memory(received, store_fetched(hub, row, archive)).await
}

/// The chart, if it was fetched for another user meanwhile.
async fn find_fetched(
    hub: &Hub,
    row: &ChartRepositoryRow,
    key: &ChartFetchKey,
) -> Result<Option<ChartVersion>, Error> {
    let mut tx = hub.read().await?;
    let stored = store::chart::get(&mut tx, row.project, &row.name, &key.name, &key.version).await?;
    let Some(chart) = stored else { return Ok(None) };
    let has_archive = store::artifact::exists(&mut tx, &chart.digest).await?;
    Ok(has_archive.then_some(chart))
}

async fn store_fetched(
    hub: &Hub,
    row: &ChartRepositoryRow,
    archive: Vec<u8>,
) -> Result<Result<ChartVersion, RenderingFailure>, Error> {
    let (now, repository) = (hub.clock().now(), row.name.clone());
    let created_by = Actor::system().name;
    let read = read_archive(archive, move |archive| {
        read_chart(&repository, &archive, created_by, now).map(|chart| (chart, archive))
    });
    let (chart, archive) = match read.await? {
        Ok(read) => read,
        Err(finding) => {
            return Ok(Err(RenderingFailure { findings: vec![finding], reason: Reason::RenderFailed }));
        }
    };
    let mut tx = hub.write().await?;
    let current = store::chart_repository::get(&mut tx, row.project, &row.name).await?;
    if current.is_none_or(|current| current.revision != row.revision) {
        let message = format!("The repository {} was changed while the chart was fetched.", row.name);
        return Ok(Err(RenderingFailure::retried(message, "Try again.")));
    }
    let stored = store::chart::get(&mut tx, row.project, &row.name, &chart.name, &chart.version).await?;
    match stored {
        // Another server has fetched it, or its archive was lost.
        Some(stored) if stored.digest == chart.digest => {
            store::artifact::put(&mut tx, &chart.digest, &archive, now).await?;
            hub.commit(tx, CommitEffects::default()).await?;
            return Ok(Ok(stored));
        }
        Some(stored) => return Ok(Err(mismatch(&stored, &chart))),
        None => {}
    }
    store::artifact::put(&mut tx, &chart.digest, &archive, now).await?;
    store::chart::insert(&mut tx, row.project, &chart).await?;
    let message = format!(
        "Chart {} {} was fetched from {} ({}).",
        chart.reference(),
        chart.version,
        row.url,
        chart.digest.short()
    );
    let event = NewEvent::new(EventKind::ChartFetched, &Actor::system().name, message);
    hub.commit(tx, CommitEffects::with_event(event)).await?;
    Ok(Ok(chart))
}

/// The same version has other content than the stored one.
fn mismatch(stored: &ChartVersion, fetched: &ChartVersion) -> RenderingFailure {
    let message = format!(
        "{} {} is stored with the digest {}, but its repository now has {}.",
        stored.reference(),
        stored.version,
        stored.digest.short(),
        fetched.digest.short()
    );
    let hint = "A version must never change. Ask the maintainers of the repository what happened.";
    RenderingFailure {
        findings: vec![Finding::error("G112", message, hint).with_path("/source/version")],
        reason: Reason::HashMismatch,
    }
}

fn to_failure(error: RepositoryError, key: &ChartFetchKey) -> RenderingFailure {
    let ChartFetchKey { repository, name, version, .. } = key;
    let message = format!("Chart {repository}/{name} {version} can't be fetched: {}", error.message);
    if error.kind.is_temporary() {
        return RenderingFailure::retried(message, format!("{} It is tried again.", error.hint));
    }
    let (path, reason) = match error.kind {
        RepositoryErrorKind::DigestMismatch => ("/source/version", Reason::HashMismatch),
        RepositoryErrorKind::NotFound => ("/source/version", Reason::RenderFailed),
        _ => ("/source/chart", Reason::RenderFailed),
    };
    RenderingFailure { findings: vec![Finding::error("G112", message, error.hint).with_path(path)], reason }
}
