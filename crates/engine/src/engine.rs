//! The engine as its agent sees it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::bundle::Bundle;
use domain::cluster::ClusterFacts;
use domain::plan::Effect;
use domain::report::Goal;
use domain::schema::Written;
use domain::{Digest, ReleaseId};
use futures::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::discovery::Discovery;
use crate::error::Error;
use crate::observe::{Cluster, Observed, cluster, land};
use crate::record::{self, Recorded, Records};
use crate::release::{Context, Desired, Slots, serve};
use crate::reports::Reports;
use crate::rights::Rights;
use crate::schema::Structure;
use crate::{Options, dry_run, facts};

/// Definitions come in crowds; their kinds are read once per crowd.
const CROWD: Duration = Duration::from_millis(20);
/// Quotas and nodes change with every pod that comes: the hub is told at once, and then not again for this long.
const FACTS_APART: Duration = Duration::from_secs(10);

/// Serves one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    cx: Arc<Context>,
    background: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    work: Arc<Mutex<Option<mpsc::UnboundedReceiver<BoxFuture<'static, ()>>>>>,
    facts_changed: Arc<watch::Sender<u64>>,
}

/// A client for an engine: without kube's own retries, because the engine has its own deadlines and pauses.
///
/// # Errors
/// When the configuration can't be used.
pub fn client(mut config: kube::Config) -> Result<kube::Client, kube::Error> {
    config.default_retry = false;
    kube::Client::try_from(config)
}

impl Engine {
    /// Connects: makes sure that the cluster knows our kind, reads its kinds and what is recorded on it.
    ///
    /// # Errors
    /// When the API server can't be reached or refuses one of these; nothing has begun then, so try again.
    pub async fn connect(client: kube::Client, options: Options) -> Result<Self, Error> {
        let api = Api::new(client, &options);
        record::ensure_definition(&api).await?;
        let discovery = Arc::new(Discovery::read(api.clone()).await?);
        let records = Arc::new(Records::new(api.clone(), &options));
        records.listed(&list_records(&api, options.retry_first).await?, 0);
        let (background, work) = mpsc::unbounded_channel();
        let slots = Arc::new(Slots::default());
        let observed = Observed::new(api.clone(), background.clone(), slots.clone());
        let cx = Context {
            api,
            options,
            discovery,
            observed,
            records,
            slots,
            reports: Reports::default(),
            rights: Rights::default(),
            structure: Structure::default(),
        };
        Ok(Self {
            cx: Arc::new(cx),
            background,
            work: Arc::new(Mutex::new(Some(work))),
            facts_changed: Arc::new(watch::Sender::new(0)),
        })
    }

    /// Takes the whole list of what should be on the cluster. Only releases about which something changed are woken.
    ///
    /// A release that is not in the list any more is left alone: only a want with the goal `Absent` removes anything.
    ///
    /// The record of a release that is not named any more is marked with the time, so that people see what was left behind.
    pub fn set_desired(&self, all: Vec<Desired>) {
        self.mark_evictions(all.iter().map(|desired| desired.want.release).collect());
        for slot in self.cx.slots.set(all) {
            // Nobody takes this once the engine has stopped; then nothing is served anyway.
            let _ = self.background.send(Box::pin(serve(self.cx.clone(), slot)));
        }
    }

    fn mark_evictions(&self, named: HashSet<ReleaseId>) {
        if self.cx.records.to_mark(&named).is_empty() {
            return;
        }
        let cx = self.cx.clone();
        let mark = async move {
            if let Err(error) = cx.records.mark_evictions(&named, cx.options.now()).await {
                tracing::debug!(reason = error.label(), "a record could not be marked");
            }
        };
        let _ = self.background.send(Box::pin(mark));
    }

    /// Whether the engine still has the bundle with this digest for this release, so that it need not be given again.
    pub fn holds(&self, release: ReleaseId, digest: &Digest) -> bool {
        self.cx.slots.holds(release, digest)
    }

    /// Where reports come out. All receivers share one queue: use one.
    pub fn reports(&self) -> Reports {
        self.cx.reports.clone()
    }

    /// The cluster's facts, as the engine's watches see them: it has to be running.
    ///
    /// # Errors
    /// When the version can't be read.
    pub async fn facts(&self) -> Result<ClusterFacts, Error> {
        facts::read(&self.cx.api, &self.cx.discovery, &self.cx.observed.cluster, &self.cx.rights).await
    }

    /// What the API server says of the structure of its kinds, and whenever that changes. Nothing at first, and for ever
    /// with a server that does not describe itself.
    pub fn schema(&self) -> watch::Receiver<Option<Arc<Written>>> {
        self.cx.structure.subscribe()
    }

    /// Told whenever the facts may have changed: kinds, nodes, namespaces or quotas did, or the API server was away.
    pub fn facts_changed(&self) -> watch::Receiver<u64> {
        self.facts_changed.subscribe()
    }

    /// What is recorded on the cluster.
    pub fn records(&self) -> Vec<Recorded> {
        self.cx.records.all()
    }

    /// Whether the API server is heard from.
    pub fn is_reachable(&self) -> bool {
        self.cx.api.reach().silence().is_none()
    }

    /// What carrying out `goal` would do, object by object, asked of the API server itself (`dryRun=All`, G404). `bundle`
    /// is the one that the goal names. Nothing is written.
    pub async fn effect(&self, release: Option<ReleaseId>, goal: &Goal, bundle: &Bundle) -> Effect {
        let _ = self.background.send(Box::pin(tell_rights(self.cx.clone(), self.facts_changed.clone())));
        match goal {
            Goal::Present { policies, .. } => dry_run::present(&self.cx, release, bundle, policies).await,
            Goal::Absent { deletion, policies } => {
                dry_run::absent(&self.cx, release, *deletion, policies).await
            }
        }
    }

    /// Does the work until cancelled. To be called once; a second call returns at once.
    pub async fn run(&self, cancel: CancellationToken) {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut work) = work else { return };
        let mut tasks = JoinSet::new();
        self.begin(&mut tasks);
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                Some(task) = work.recv() => { tasks.spawn(task); }
                Some(ended) = tasks.join_next() => {
                    if let Err(error) = ended && error.is_panic() {
                        tracing::error!("a task of the engine panicked");
                    }
                }
            }
        }
        tasks.shutdown().await;
    }

    fn begin(&self, tasks: &mut JoinSet<()>) {
        let cx = &self.cx;
        let seen = &cx.observed.cluster;
        tasks.spawn(seen.clone().follow_namespaces(cx.api.clone(), cx.slots.clone()));
        tasks.spawn(seen.clone().follow_definitions(cx.api.clone()));
        tasks.spawn(cluster::follow_records(cx.api.clone(), cx.records.clone(), cx.slots.clone()));
        tasks.spawn(land::follow(seen.clone(), cx.api.clone()));
        tasks.spawn(tell_land(seen.clone(), self.facts_changed.clone()));
        tasks.spawn(follow_kinds(cx.clone()));
        tasks.spawn(follow_structure(cx.clone()));
        tasks.spawn(tell_kinds(cx.clone(), self.facts_changed.clone()));
        tasks.spawn(tell_reach(cx.clone(), self.facts_changed.clone()));
    }
}

/// The first list of records; a definition that was made a moment ago may not be served yet, or the server says that
/// it still prepares its storage.
async fn list_records(api: &Api, patience: Duration) -> Result<Vec<serde_json::Value>, Error> {
    let begun = tokio::time::Instant::now();
    loop {
        match api.get(&record::resource().collection("")).await {
            Ok(mut list) => {
                return Ok(match list["items"].take() {
                    serde_json::Value::Array(items) => items,
                    _ => Vec::new(),
                });
            }
            Err(Error::NotFound(_) | Error::ApiMissing(_) | Error::Throttled { .. })
                if begun.elapsed() < patience.max(Duration::from_secs(5)) =>
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads the kinds anew when definitions changed.
async fn follow_kinds(cx: Arc<Context>) {
    loop {
        cx.observed.cluster.definitions.notified().await;
        tokio::time::sleep(CROWD).await;
        if let Err(error) = cx.discovery.refresh().await {
            tracing::debug!(reason = error.label(), "the kinds of the cluster could not be read");
        }
        cx.structure.look_again();
    }
}

async fn follow_structure(cx: Arc<Context>) {
    cx.structure.follow(&cx.api).await;
}

/// Wakes releases that wait for a kind, and tells that facts changed.
async fn tell_kinds(cx: Arc<Context>, facts_changed: Arc<watch::Sender<u64>>) {
    let mut kinds = cx.discovery.subscribe();
    while kinds.changed().await.is_ok() {
        cx.observed.forget_ended();
        cx.slots.wake_waiting();
        facts_changed.send_modify(|count| *count += 1);
    }
}

/// Tells that the rights changed, once somebody plans: that can't be watched, and who plans wants to know.
async fn tell_rights(cx: Arc<Context>, facts_changed: Arc<watch::Sender<u64>>) {
    let namespaces = facts::names(&cx.observed.cluster);
    if cx.rights.moved(&cx.api, &cx.discovery.kinds(), &namespaces).await {
        facts_changed.send_modify(|count| *count += 1);
    }
}

/// Tells that nodes, namespaces, quotas or classes changed.
async fn tell_land(seen: Arc<Cluster>, facts_changed: Arc<watch::Sender<u64>>) {
    loop {
        seen.land.changed.notified().await;
        tokio::time::sleep(CROWD).await;
        facts_changed.send_modify(|count| *count += 1);
        tokio::time::sleep(FACTS_APART).await;
    }
}

/// Wakes every release when the API server falls silent or answers again.
async fn tell_reach(cx: Arc<Context>, facts_changed: Arc<watch::Sender<u64>>) {
    let mut reach = cx.api.reach().subscribe();
    while reach.changed().await.is_ok() {
        let silence = reach.borrow_and_update().clone();
        let silent = silence.is_some();
        match silence {
            Some(silence) => tracing::info!(cause = silence.cause, "the API server fell silent"),
            None => tracing::info!("the API server answers again"),
        }
        cx.slots.wake_all();
        if !silent {
            // It may be another version by now, with other kinds.
            if let Err(error) = cx.discovery.refresh().await {
                tracing::debug!(reason = error.label(), "the kinds of the cluster could not be read");
            }
            cx.structure.look_again();
            facts_changed.send_modify(|count| *count += 1);
        }
    }
}
