//! Polls the full desired state, fetches the bundles that it names, and sets both in the engine.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use domain::Timestamp;
use domain::bundle::Bundle;
use domain::release::stage::StageReason;
use domain::release::{Reason, StageState};
use domain::report::{DesiredRelease, DesiredState};
use domain::{Digest, ReleaseId};
use engine::{AppliedReleaseSummary, ReleaseInput};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use crate::backoff::Backoff;
use crate::cached_state::{CachedState, named_bundle};
use crate::context::AgentContext;
use crate::link::Link;

/// Concurrent requests for bundles. A new agent of a full cluster fetches hundreds of bundles; more requests at once would
/// only hold more bundles in memory, because the link to the hub is shared, and would delay the agents of other clusters.
const MAX_CONCURRENT_FETCHES: usize = 8;
/// Capacity of the channel of fetch results.
const RESULT_CHANNEL_CAPACITY: usize = 8;
/// Minimum pause between two reads of the full desired state, per release in it: in a burst of versions not every one has
/// to be read.
const PAUSE_PER_RELEASE: Duration = Duration::from_micros(100);
/// Upper bound of that pause.
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// State of one bundle.
enum BundleState {
    Fetching,
    Fetched(Arc<Bundle>),
    /// Waiting or failed, with the next attempt.
    Unavailable(StageState),
}

/// Keeps the engine's desired state up to date.
pub(crate) async fn run<L: Link>(
    agent: &Arc<AgentContext<L>>,
    cached: CachedState,
    cache_updates: watch::Sender<Option<Arc<CachedState>>>,
    states: watch::Sender<Option<DesiredState>>,
) {
    let newest = states.subscribe();
    tokio::join!(poll_desired_state(agent, states), update_engine(agent, newest, cached, cache_updates));
}

/// Polls for a state newer than the last one.
async fn poll_desired_state<L: Link>(agent: &AgentContext<L>, states: watch::Sender<Option<DesiredState>>) {
    let mut backoff = Backoff::new(&agent.options);
    loop {
        let since = agent.desired_state_version.load(Relaxed);
        let response = tokio::select! {
            response = agent.link.fetch_desired_state(since) => response,
            () = agent.newer_desired_state.notified() => continue,
        };
        match response {
            Ok(state) => {
                backoff.reset();
                agent.desired_state_version.store(state.version, Relaxed);
                let releases = state.releases.len().saturating_add(state.suspended.len());
                let releases = u32::try_from(releases).unwrap_or(u32::MAX);
                states.send_replace(Some(state));
                tokio::time::sleep(PAUSE_PER_RELEASE.saturating_mul(releases).min(MAX_PAUSE)).await;
            }
            Err(error) => {
                backoff
                    .wait_or_reachable(
                        &agent.link,
                        "the desired state can't be read from the hub and will be retried",
                        &error,
                    )
                    .await
            }
        }
    }
}

/// Fetches missing bundles of the newest state, drops bundles that it no longer names, and updates the engine. Uses the
/// cached state until the hub sends one.
async fn update_engine<L: Link>(
    agent: &Arc<AgentContext<L>>,
    mut newest: watch::Receiver<Option<DesiredState>>,
    mut cached: CachedState,
    cache_updates: watch::Sender<Option<Arc<CachedState>>>,
) {
    let (sender, mut results) = mpsc::channel(RESULT_CHANNEL_CAPACITY);
    let mut bundles = BundleFetcher::new(&cached, sender);
    let mut list = cached.desired_state.clone();
    retain_recorded(&mut list, &agent.engine.applied_releases());
    if list_all(&list).next().is_some() {
        agent.engine.set_desired(bundles.desired_releases(&list));
    }
    loop {
        tokio::select! {
            changed = newest.changed() => {
                if changed.is_err() {
                    return;
                }
                list = newest.borrow_and_update().clone().unwrap_or_default();
                bundles.update_fetches(agent, &list);
                update_leftovers(agent, &list);
            }
            Some((digest, state)) = results.recv() => {
                bundles.set_state(digest, state);
                // Results that arrived meanwhile are passed to the engine in the same update.
                while let Ok((digest, state)) = results.try_recv() {
                    bundles.set_state(digest, state);
                }
            }
        }
        agent.engine.set_desired(bundles.desired_releases(&list));
        if agent.options.cache.is_some() {
            cached =
                CachedState::with_fetched_bundles(&list, |digest| bundles.fetched_bundle(digest), &cached);
            cache_updates.send_replace(Some(Arc::new(cached.clone())));
        }
    }
}

/// Removes the cached releases without a record on the cluster. The cache is written after a pause, so such a release may have been
/// removed since; it is applied when the hub says that it is still desired (I4).
fn retain_recorded(cached: &mut DesiredState, records: &[AppliedReleaseSummary]) {
    let recorded: HashSet<ReleaseId> = records.iter().map(|record| record.release).collect();
    cached.releases.retain(|desired| recorded.contains(&desired.release));
    cached.suspended.retain(|desired| recorded.contains(&desired.release));
}

/// The releases of a desired state, those that are suspended included.
fn list_all(list: &DesiredState) -> impl Iterator<Item = &DesiredRelease> {
    list.releases.iter().chain(&list.suspended)
}

/// Most leftovers that are reported; the next ones follow when these are removed.
const MAX_LEFTOVERS: usize = 10_000;

/// Reports the records of releases that the hub no longer names, if they changed: it may have given them up.
fn update_leftovers<L: Link>(agent: &AgentContext<L>, list: &DesiredState) {
    let listed = list_all(list).map(|desired| desired.release).collect();
    let mut leftovers = agent.engine.list_leftovers(&listed);
    leftovers.truncate(MAX_LEFTOVERS);
    agent.leftovers.send_if_modified(|before| {
        let is_changed = *before != leftovers;
        *before = leftovers;
        is_changed
    });
}

struct BundleFetcher {
    states: HashMap<Digest, BundleState>,
    fetches: HashMap<Digest, AbortHandle>,
    tasks: JoinSet<()>,
    permits: Arc<Semaphore>,
    results: mpsc::Sender<(Digest, BundleState)>,
}

impl BundleFetcher {
    /// A fetcher that has the cached bundles.
    fn new(cached: &CachedState, results: mpsc::Sender<(Digest, BundleState)>) -> Self {
        let states = cached.bundles.iter();
        let states = states.map(|(digest, bundle)| (digest.clone(), BundleState::Fetched(bundle.clone())));
        Self {
            states: states.collect(),
            fetches: HashMap::new(),
            tasks: JoinSet::new(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_FETCHES)),
            results,
        }
    }

    fn update_fetches<L: Link>(&mut self, agent: &Arc<AgentContext<L>>, list: &DesiredState) {
        let named: HashSet<&Digest> =
            list_all(list).filter_map(named_bundle).map(|(_, digest)| digest).collect();
        self.states.retain(|digest, _| named.contains(digest));
        self.fetches.retain(|digest, task| {
            let is_named = named.contains(digest);
            if !is_named {
                task.abort();
            }
            is_named
        });
        // Finished tasks are only removed; their results came through the channel.
        while self.tasks.try_join_next().is_some() {}
        for (release, digest) in list_all(list).filter_map(named_bundle) {
            if !self.states.contains_key(digest) {
                self.states.insert(digest.clone(), BundleState::Fetching);
                let target = FetchTarget { release, digest: digest.clone(), permits: self.permits.clone() };
                let fetch = fetch_bundle(agent.clone(), target, self.results.clone());
                self.fetches.insert(digest.clone(), self.tasks.spawn(fetch));
            }
        }
    }

    fn set_state(&mut self, digest: Digest, new: BundleState) {
        if let Some(state) = self.states.get_mut(&digest) {
            *state = new;
        }
    }

    fn fetched_bundle(&self, digest: &Digest) -> Option<Arc<Bundle>> {
        match self.states.get(digest) {
            Some(BundleState::Fetched(bundle)) => Some(bundle.clone()),
            _ => None,
        }
    }

    fn desired_releases(&self, list: &DesiredState) -> Vec<ReleaseInput> {
        let active = list.releases.iter().map(|desired| self.desired_release(desired, false));
        let suspended = list.suspended.iter().map(|desired| self.desired_release(desired, true));
        let mut all: Vec<ReleaseInput> = active.chain(suspended).collect();
        for request in &list.field_reverts {
            let of_release = all.iter_mut().find(|input| input.desired.release == request.release);
            if let Some(input) = of_release {
                input.field_reverts.push(request.clone());
            }
        }
        all
    }

    fn desired_release(&self, desired: &DesiredRelease, suspended: bool) -> ReleaseInput {
        let state = named_bundle(desired).and_then(|(_, digest)| self.states.get(digest));
        let (bundle, pulled) = match state {
            Some(BundleState::Fetched(bundle)) => (Some(bundle.clone()), StageState::Done),
            Some(BundleState::Unavailable(stage)) => (None, stage.clone()),
            Some(BundleState::Fetching) => {
                (None, StageState::Running { message: "Fetching the bundle.".to_owned() })
            }
            None => (None, StageState::Skipped { message: "Nothing to fetch.".to_owned() }),
        };
        ReleaseInput {
            desired: desired.clone(),
            bundle,
            pull_stage: pulled,
            suspended,
            field_reverts: Vec::new(),
        }
    }
}

/// A bundle to fetch.
struct FetchTarget {
    /// A release that names it.
    release: ReleaseId,
    digest: Digest,
    permits: Arc<Semaphore>,
}

/// Fetches one bundle; retries until it succeeds. A hub that can't be reached or does not have the bundle yet makes the
/// stage wait, which is no failure (S4-9); bytes with another digest make it fail. Both report reason and next attempt.
async fn fetch_bundle<L: Link>(
    agent: Arc<AgentContext<L>>,
    FetchTarget { release, digest, permits }: FetchTarget,
    results: mpsc::Sender<(Digest, BundleState)>,
) {
    let mut backoff = Backoff::new(&agent.options);
    let mut attempts = 0;
    loop {
        // The semaphore is never closed.
        let permit = permits.acquire().await;
        let mut retry_after = Duration::ZERO;
        let (state, reason): (fn(StageReason) -> StageState, _) =
            match agent.link.fetch_bundle(release, &digest).await {
                Ok(bytes) => match verify_bundle(&bytes, &digest) {
                    Ok(bundle) => {
                        // A closed channel means that the agent is stopping.
                        let _ = results.send((digest, BundleState::Fetched(Arc::new(bundle)))).await;
                        return;
                    }
                    Err(reason) => (StageState::Failed, reason),
                },
                Err(error) => {
                    retry_after = error.retry_after().unwrap_or_default();
                    let message = format!("The bundle {} is not available yet: {error}.", digest.short());
                    (StageState::Waiting, StageReason::new(Reason::WaitingForArtifact, message))
                }
            };
        // A bundle that waits for its next attempt delays no other one.
        drop(permit);
        attempts += 1;
        let delay = backoff.next_delay().max(retry_after);
        let millis = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        let next_retry = Some(now(&agent).plus_millis(millis));
        let state = state(StageReason { attempts, next_retry, ..reason });
        let _ = results.send((digest.clone(), BundleState::Unavailable(state))).await;
        tokio::time::sleep(delay).await;
    }
}

/// Rejects bytes whose digest is not the expected one (S0-7).
fn verify_bundle(bytes: &[u8], digest: &Digest) -> Result<Bundle, StageReason> {
    if Digest::compute(bytes) != *digest {
        let message = format!(
            "The bytes received for bundle {} do not match its digest and were discarded.",
            digest.short()
        );
        return Err(StageReason::new(Reason::HashMismatch, message));
    }
    Bundle::from_bytes(bytes).map_err(|error| StageReason::new(Reason::BundleFetchFailed, error.to_string()))
}

fn now<L>(agent: &AgentContext<L>) -> Timestamp {
    (agent.options.engine.clock)()
}

#[cfg(test)]
mod tests;
