//! The engine's public interface.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::bundle::Bundle;
use domain::cluster::ClusterFacts;
use domain::helm_release::HelmReleaseReading;
use domain::plan::ClusterPlan;
use domain::report::DesiredPhase;
use domain::schema::EncodedSchema;
use domain::{Digest, ReleaseId};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::api::{ApiClient, DetectedOutage};
use crate::applied_release::{self, AppliedReleaseSummary, AppliedReleases};
use crate::discovery::Discovery;
use crate::error::Error;
use crate::observe::{ClusterState, ObservedState, cluster_resources, cluster_state};
use crate::permissions::PermissionCache;
use crate::release::{EngineContext, ReleaseInput, ReleaseWorkers, run_worker};
use crate::report_queue::ReportQueue;
use crate::schema::SchemaReader;
use crate::{Options, dry_run, facts};

/// Debounce: definitions often change in batches, and the kinds are read once per batch.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// Shortest interval between two notifications of changed facts: quotas and nodes change with every new pod.
const FACTS_INTERVAL: Duration = Duration::from_secs(10);

/// Reconciles one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    cx: Arc<EngineContext>,
    task_sender: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    task_receiver: Arc<Mutex<Option<mpsc::UnboundedReceiver<BoxFuture<'static, ()>>>>>,
    facts_changed: Arc<watch::Sender<u64>>,
}

/// A client for an engine: without kube's own retries, because the engine has its own deadlines and back-off.
///
/// # Errors
/// The configuration is invalid.
pub fn build_client(mut config: kube::Config) -> Result<kube::Client, kube::Error> {
    config.default_retry = false;
    kube::Client::try_from(config)
}

impl Engine {
    /// Connects: installs the `AppliedRelease` definition if needed, reads the served kinds and the records.
    ///
    /// # Errors
    /// The API server is unreachable or rejects one of the requests. Nothing has been started; the call can be
    /// repeated.
    pub async fn connect(client: kube::Client, options: Options) -> Result<Self, Error> {
        let api = ApiClient::new(client, &options);
        applied_release::ensure_definition(&api).await?;
        let discovery = Arc::new(Discovery::read(api.clone()).await?);
        let records = Arc::new(AppliedReleases::new(api.clone(), &options));
        records.replace_listed(&list_records(&api, options.retry_first).await?, 0);
        let (background, work) = mpsc::unbounded_channel();
        let workers = Arc::new(ReleaseWorkers::default());
        let observed = ObservedState::new(api.clone(), background.clone(), workers.clone());
        let cx = EngineContext {
            api,
            options,
            discovery,
            observed,
            applied_releases: records,
            workers,
            reports: ReportQueue::default(),
            permissions: PermissionCache::default(),
            schema_reader: SchemaReader::default(),
        };
        Ok(Self {
            cx: Arc::new(cx),
            task_sender: background,
            task_receiver: Arc::new(Mutex::new(Some(work))),
            facts_changed: Arc::new(watch::Sender::new(0)),
        })
    }

    /// Replaces the desired state of the cluster. Only releases whose input changed are reconciled.
    ///
    /// A release missing from the list stays on the cluster: only the desired phase `DoesNotExist` removes objects. Its
    /// record is marked with the current time as `evictionStart`.
    pub fn set_desired(&self, all: Vec<ReleaseInput>) {
        self.mark_evictions(all.iter().map(|desired| desired.desired.release).collect());
        for worker in self.cx.workers.replace_inputs(all) {
            // Fails only after the engine has stopped; no release is reconciled then.
            let _ = self.task_sender.send(Box::pin(run_worker(self.cx.clone(), worker)));
        }
    }

    fn mark_evictions(&self, listed: HashSet<ReleaseId>) {
        if self.cx.applied_releases.records_to_mark(&listed).is_empty() {
            return;
        }
        let cx = self.cx.clone();
        let task = async move {
            if let Err(error) = cx.applied_releases.mark_evictions(&listed, cx.options.now()).await {
                tracing::debug!(
                    reason = %error.reason(),
                    "a record could not be marked with evictionStart; retried with the next desired state"
                );
            }
        };
        let _ = self.task_sender.send(Box::pin(task));
    }

    /// Releases with a record on the cluster that are not in `listed`, by id.
    pub fn list_leftovers(&self, listed: &HashSet<ReleaseId>) -> Vec<ReleaseId> {
        let recorded = self.cx.applied_releases.summaries().into_iter().map(|recorded| recorded.release);
        recorded.filter(|release| !listed.contains(release)).collect()
    }

    /// Whether the engine already has the bundle with this digest for this release, so that it can be omitted.
    pub fn has_bundle(&self, release: ReleaseId, digest: &Digest) -> bool {
        self.cx.workers.has_bundle(release, digest)
    }

    /// The queue of reports. All clones share one queue, so only one consumer should read it.
    pub fn reports(&self) -> ReportQueue {
        self.cx.reports.clone()
    }

    /// The cluster's facts as of the engine's watches; requires [`Engine::run`].
    ///
    /// # Errors
    /// The version can't be read.
    pub async fn read_facts(&self) -> Result<ClusterFacts, Error> {
        facts::read(&self.cx.api, &self.cx.discovery, &self.cx.observed.cluster, &self.cx.permissions).await
    }

    /// What the cluster has of a Helm release.
    pub async fn read_helm_release(&self, namespace: &str, name: &str) -> HelmReleaseReading {
        crate::release::read_installed_helm_release(&self.cx.api, namespace, name).await
    }

    /// The schema of the served kinds, and every change of it. `None` until the first read, and permanently if the API
    /// server publishes no OpenAPI v3 documents.
    pub fn subscribe_schema(&self) -> watch::Receiver<Option<Arc<EncodedSchema>>> {
        self.cx.schema_reader.subscribe()
    }

    /// Changes whenever the facts may have changed: kinds, nodes, namespaces, quotas, or after an API server outage.
    pub fn subscribe_facts_changed(&self) -> watch::Receiver<u64> {
        self.facts_changed.subscribe()
    }

    /// The records on the cluster.
    pub fn applied_releases(&self) -> Vec<AppliedReleaseSummary> {
        self.cx.applied_releases.summaries()
    }

    /// The current outage of the API server, and every change of it.
    pub fn subscribe_outages(&self) -> watch::Receiver<Option<DetectedOutage>> {
        self.cx.api.reachability().subscribe()
    }

    /// Checks whether the API server responds; the result is that of [`Engine::subscribe_outages`].
    pub async fn probe_api_server(&self) {
        self.cx.api.probe().await;
    }

    /// Whether the API server is reachable.
    pub fn is_reachable(&self) -> bool {
        self.cx.api.reachability().outage().is_none()
    }

    /// The changes that `phase` would cause, per object, computed by the API server (`dryRun=All`, G404). `bundle` is
    /// the bundle of the phase. Nothing is written. `release` is `None` if the workload had no release on the cluster when
    /// the request was made.
    pub async fn dry_run(
        &self,
        workload: &str,
        release: Option<ReleaseId>,
        phase: &DesiredPhase,
        bundle: &Bundle,
    ) -> ClusterPlan {
        let _ =
            self.task_sender.send(Box::pin(refresh_permissions(self.cx.clone(), self.facts_changed.clone())));
        match phase {
            DesiredPhase::Present { policies, .. } => {
                let planned = dry_run::PlannedRelease { workload, release };
                dry_run::plan_present(&self.cx, planned, bundle, policies).await
            }
            DesiredPhase::Absent { deletion, policies } => {
                dry_run::plan_absent(&self.cx, release, *deletion, policies).await
            }
        }
    }

    /// Runs all tasks until cancelled. Effective once: a second call returns immediately.
    pub async fn run(&self, cancel: CancellationToken) {
        let work = self.task_receiver.lock().take();
        let Some(mut work) = work else { return };
        let mut tasks = JoinSet::new();
        self.spawn_tasks(&mut tasks);
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                Some(task) = work.recv() => { tasks.spawn(task); }
                Some(ended) = tasks.join_next() => {
                    if let Err(error) = ended && error.is_panic() {
                        tracing::error!("an engine task panicked; its work stops until the agent restarts");
                    }
                }
            }
        }
        tasks.shutdown().await;
    }

    fn spawn_tasks(&self, tasks: &mut JoinSet<()>) {
        let cx = &self.cx;
        let cluster_state = &cx.observed.cluster;
        tasks.spawn(cluster_state.clone().watch_namespaces(cx.api.clone(), cx.workers.clone()));
        tasks.spawn(cluster_state.clone().watch_definitions(cx.api.clone()));
        tasks.spawn(cluster_state::watch_records(
            cx.api.clone(),
            cx.applied_releases.clone(),
            cx.workers.clone(),
        ));
        tasks.spawn(cluster_resources::watch_cluster_resources(cluster_state.clone(), cx.api.clone()));
        tasks.spawn(notify_changed_resources(cluster_state.clone(), self.facts_changed.clone()));
        tasks.spawn(handle_changed_autoscalers(cx.clone()));
        tasks.spawn(refresh_kinds_on_change(cx.clone()));
        tasks.spawn(run_schema_reader(cx.clone()));
        tasks.spawn(handle_changed_kinds(cx.clone(), self.facts_changed.clone()));
        tasks.spawn(handle_reachability(cx.clone(), self.facts_changed.clone()));
    }
}

/// Lists the records for the first time. A definition that was just created may not be served yet (404), or its storage
/// may still be initializing (429); both are retried for at least 5 s.
async fn list_records(api: &ApiClient, max_wait: Duration) -> Result<Vec<serde_json::Value>, Error> {
    let started_at = tokio::time::Instant::now();
    loop {
        match api.get(&applied_release::served_kind().collection_path("")).await {
            Ok(mut list) => {
                return Ok(match list["items"].take() {
                    serde_json::Value::Array(items) => items,
                    _ => Vec::new(),
                });
            }
            Err(Error::NotFound(_) | Error::ApiMissing(_) | Error::Throttled { .. })
                if started_at.elapsed() < max_wait.max(Duration::from_secs(5)) =>
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads the kinds again when definitions changed.
async fn refresh_kinds_on_change(cx: Arc<EngineContext>) {
    loop {
        cx.observed.cluster.definitions_changed.notified().await;
        tokio::time::sleep(DEBOUNCE).await;
        if let Err(error) = cx.discovery.refresh().await {
            tracing::debug!(
                reason = %error.reason(),
                "the served kinds could not be read; the last known kinds stay in use"
            );
        }
        cx.schema_reader.mark_stale();
    }
}

async fn run_schema_reader(cx: Arc<EngineContext>) {
    cx.schema_reader.run(&cx.api).await;
}

/// Wakes releases that wait for a kind, and signals changed facts.
async fn handle_changed_kinds(cx: Arc<EngineContext>, facts_changed: Arc<watch::Sender<u64>>) {
    let mut kinds = cx.discovery.subscribe();
    while kinds.changed().await.is_ok() {
        cx.observed.remove_ended();
        cx.workers.wake_waiting();
        facts_changed.send_modify(|count| *count += 1);
    }
}

/// Wakes the releases when an autoscaler was created or deleted: the replicas that it sets are left to it, and those that it has set
/// are drift once it is gone, although the scaled object has not changed.
async fn handle_changed_autoscalers(cx: Arc<EngineContext>) {
    loop {
        cx.observed.cluster.resources.autoscalers_changed.notified().await;
        cx.workers.wake_all();
    }
}

/// Signals changed facts if the permissions changed. They can't be watched, so they are read after a dry run.
async fn refresh_permissions(cx: Arc<EngineContext>, facts_changed: Arc<watch::Sender<u64>>) {
    let namespaces = facts::namespace_names(&cx.observed.cluster);
    if cx.permissions.refresh(&cx.api, &cx.discovery.kinds(), &namespaces).await {
        facts_changed.send_modify(|count| *count += 1);
    }
}

/// Signals changed nodes, namespaces, quotas or classes.
async fn notify_changed_resources(cluster_state: Arc<ClusterState>, facts_changed: Arc<watch::Sender<u64>>) {
    loop {
        cluster_state.resources.changed.notified().await;
        tokio::time::sleep(DEBOUNCE).await;
        facts_changed.send_modify(|count| *count += 1);
        tokio::time::sleep(FACTS_INTERVAL).await;
    }
}

/// Wakes every release when the API server becomes unreachable or reachable again.
async fn handle_reachability(cx: Arc<EngineContext>, facts_changed: Arc<watch::Sender<u64>>) {
    let mut reach = cx.api.reachability().subscribe();
    while reach.changed().await.is_ok() {
        let outage = reach.borrow_and_update().clone();
        let is_reachable = outage.is_none();
        match outage {
            Some(outage) => tracing::warn!(
                cause = outage.cause,
                "the API server does not respond; requests are repeated without further messages"
            ),
            None => {
                let failed_requests = cx.api.reachability().failures_of_outage();
                tracing::warn!(failed_requests, "the API server responds again");
            }
        }
        cx.workers.wake_all();
        if is_reachable {
            // It may have been upgraded meanwhile and serve other kinds.
            if let Err(error) = cx.discovery.refresh().await {
                tracing::debug!(
                    reason = %error.reason(),
                    "the served kinds could not be read; the last known kinds stay in use"
                );
            }
            cx.schema_reader.mark_stale();
            facts_changed.send_modify(|count| *count += 1);
        }
    }
}
