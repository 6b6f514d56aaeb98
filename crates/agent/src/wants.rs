//! Wants: the whole list, again and again, and the bundles that it names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use domain::Timestamp;
use domain::bundle::Bundle;
use domain::release::StageState;
use domain::release::stage::Trouble;
use domain::report::{Goal, Want, Wants};
use domain::{Digest, ReleaseId};
use engine::Desired;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use crate::connect::Backoff;
use crate::kept::Whole;
use crate::link::Link;
use crate::run::Agent;

/// Bundles fetched at once.
const FETCHES: usize = 8;
/// A list is read again no sooner than so long after the last, for every release that was in it: it is whole each time,
/// and while versions come thick and fast not every one has to be seen.
const REST_PER_RELEASE: Duration = Duration::from_micros(100);
/// The longest such rest.
const REST_MOST: Duration = Duration::from_millis(250);

/// What the agent has of a bundle.
enum Held {
    Fetching,
    Here(Arc<Bundle>),
    /// Not yet: waiting or failed, with the next try.
    Not(StageState),
}

/// Keeps the engine told of everything the cluster should hold.
pub(crate) async fn run<L: Link>(
    agent: &Arc<Agent<L>>,
    before: Whole,
    keep: watch::Sender<Option<Arc<Whole>>>,
    lists: watch::Sender<Option<Wants>>,
) {
    let newest = lists.subscribe();
    tokio::join!(follow(agent, lists), hold(agent, newest, before, keep));
}

/// Asks for a list newer than the last one, for ever.
async fn follow<L: Link>(agent: &Agent<L>, lists: watch::Sender<Option<Wants>>) {
    let mut backoff = Backoff::new(&agent.options);
    loop {
        let since = agent.wants_version.load(Relaxed);
        let answer = tokio::select! {
            answer = agent.link.wants(since) => answer,
            () = agent.newer_wants.notified() => continue,
        };
        match answer {
            Ok(list) => {
                backoff.reset();
                agent.wants_version.store(list.version, Relaxed);
                let releases = u32::try_from(list.releases.len()).unwrap_or(u32::MAX);
                lists.send_replace(Some(list));
                tokio::time::sleep(REST_PER_RELEASE.saturating_mul(releases).min(REST_MOST)).await;
            }
            Err(error) => backoff.wait_for(&agent.link, "the list of wants can't be read", &error).await,
        }
    }
}

/// Fetches what the newest list names and the agent lacks, forgets what it no longer names, and tells the engine.
/// Until the hub says what it wants, that is what it wanted before.
async fn hold<L: Link>(
    agent: &Arc<Agent<L>>,
    mut newest: watch::Receiver<Option<Wants>>,
    mut before: Whole,
    keep: watch::Sender<Option<Arc<Whole>>>,
) {
    let (tell, mut told) = mpsc::channel(FETCHES);
    let held = before.bundles.iter().map(|(digest, bundle)| (digest.clone(), Held::Here(bundle.clone())));
    let held = held.collect();
    let mut bundles = Bundles { held, running: HashMap::new(), tasks: JoinSet::new(), tell };
    let mut list = before.list.clone();
    if !list.releases.is_empty() {
        agent.engine.set_desired(bundles.desired(&list));
    }
    loop {
        tokio::select! {
            changed = newest.changed() => {
                if changed.is_err() {
                    return;
                }
                list = newest.borrow_and_update().clone().unwrap_or_default();
                bundles.follow(agent, &list);
            }
            Some((digest, news)) = told.recv() => {
                bundles.take(digest, news);
                // Whatever else has arrived meanwhile is told to the engine in one go.
                while let Ok((digest, news)) = told.try_recv() {
                    bundles.take(digest, news);
                }
            }
        }
        agent.engine.set_desired(bundles.desired(&list));
        if agent.options.keep.is_some() {
            before = Whole::of(&list, |digest| bundles.here(digest), &before);
            keep.send_replace(Some(Arc::new(before.clone())));
        }
    }
}

struct Bundles {
    held: HashMap<Digest, Held>,
    running: HashMap<Digest, AbortHandle>,
    tasks: JoinSet<()>,
    tell: mpsc::Sender<(Digest, Held)>,
}

impl Bundles {
    fn follow<L: Link>(&mut self, agent: &Arc<Agent<L>>, list: &Wants) {
        let named: HashSet<&Digest> =
            list.releases.iter().filter_map(bundle_of).map(|(_, digest)| digest).collect();
        self.held.retain(|digest, _| named.contains(digest));
        self.running.retain(|digest, task| {
            let wanted = named.contains(digest);
            if !wanted {
                task.abort();
            }
            wanted
        });
        // Finished tasks leave nothing behind that anybody reads.
        while self.tasks.try_join_next().is_some() {}
        for (release, digest) in list.releases.iter().filter_map(bundle_of) {
            if !self.held.contains_key(digest) {
                self.held.insert(digest.clone(), Held::Fetching);
                let fetch = fetch(agent.clone(), release, digest.clone(), self.tell.clone());
                self.running.insert(digest.clone(), self.tasks.spawn(fetch));
            }
        }
    }

    fn take(&mut self, digest: Digest, news: Held) {
        if let Some(held) = self.held.get_mut(&digest) {
            *held = news;
        }
    }

    fn here(&self, digest: &Digest) -> Option<Arc<Bundle>> {
        match self.held.get(digest) {
            Some(Held::Here(bundle)) => Some(bundle.clone()),
            _ => None,
        }
    }

    fn desired(&self, list: &Wants) -> Vec<Desired> {
        list.releases.iter().map(|want| self.desired_one(want)).collect()
    }

    fn desired_one(&self, want: &Want) -> Desired {
        let held = bundle_of(want).and_then(|(_, digest)| self.held.get(digest));
        let (bundle, pulled) = match held {
            Some(Held::Here(bundle)) => (Some(bundle.clone()), StageState::Done),
            Some(Held::Not(state)) => (None, state.clone()),
            Some(Held::Fetching) => {
                (None, StageState::Running { message: "Fetching the bundle.".to_owned() })
            }
            None => (None, StageState::Skipped { message: "Nothing to fetch.".to_owned() }),
        };
        Desired { want: want.clone(), bundle, pulled }
    }
}

/// The release and the bundle that a want names, if it names one.
pub(crate) fn bundle_of(want: &Want) -> Option<(ReleaseId, &Digest)> {
    match &want.goal {
        Goal::Present { bundle, .. } => Some((want.release, bundle)),
        Goal::Absent { .. } => None,
    }
}

/// Fetches one bundle until it is here. A hub that does not have it yet or can't be reached is waited for, which is no
/// error (S4-9); bytes that are not what was promised are one. Either is told with its reason and the next try.
async fn fetch<L: Link>(
    agent: Arc<Agent<L>>,
    release: ReleaseId,
    digest: Digest,
    tell: mpsc::Sender<(Digest, Held)>,
) {
    let mut backoff = Backoff::new(&agent.options);
    let mut attempts = 0;
    loop {
        let mut asked_for = Duration::ZERO;
        let (state, trouble): (fn(Trouble) -> StageState, _) = match agent.link.bundle(release, &digest).await
        {
            Ok(bytes) => match checked(&bytes, &digest) {
                Ok(bundle) => {
                    // A closed channel means that the agent is stopping.
                    let _ = tell.send((digest, Held::Here(Arc::new(bundle)))).await;
                    return;
                }
                Err(failed) => (StageState::Failed, failed),
            },
            Err(error) => {
                asked_for = error.retry_after().unwrap_or_default();
                let message = format!("The bundle {} is not there yet: {error}.", digest.short());
                let reason = "WaitingForArtifact".to_owned();
                (StageState::Waiting, Trouble { reason, message, ..Trouble::default() })
            }
        };
        attempts += 1;
        let delay = backoff.delay().max(asked_for);
        let millis = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        let next_retry = Some(now(&agent).plus_millis(millis));
        let state = state(Trouble { attempts, next_retry, ..trouble });
        let _ = tell.send((digest.clone(), Held::Not(state))).await;
        tokio::time::sleep(delay).await;
    }
}

/// The agent trusts no bytes that do not have the digest it was told (S0-7).
fn checked(bytes: &[u8], digest: &Digest) -> Result<Bundle, Trouble> {
    let trouble =
        |reason: &str, message: String| Trouble { reason: reason.to_owned(), message, ..Trouble::default() };
    if Digest::of(bytes) != *digest {
        let message = format!("What came for bundle {} has another hash; it is thrown away.", digest.short());
        return Err(trouble("HashMismatch", message));
    }
    Bundle::from_bytes(bytes).map_err(|why| trouble("BundleFetchFailed", why.to_string()))
}

fn now<L>(agent: &Agent<L>) -> Timestamp {
    (agent.options.engine.clock)()
}
