//! A simulated cluster and its agent, which is killed and restarted, and whose reports are recorded.

use std::sync::Arc;
use std::time::Duration;

use agent::cache::{SecretCache, SharedCache};
use agent::{AgentOptions, EngineOptions, HttpLink, JoinConfig, Link, LinkError, ReconnectBackoff};
use domain::helm_release::{HelmReleaseReading, HelmReleaseRequest};
use domain::plan::ClusterPlan;
use domain::report::{DesiredState, Heartbeat, ReportAck, ReportBatch};
use domain::schema::EncodedSchema;
use domain::{Digest, PlanId, ReleaseId};
use hub::Clock;
use kubesim::{ObservedChange, SimCluster};
use serde_json::{Value, json};
use testkit::history::{Action, ApiServerChange, HistoryRecorder, ListedObject, SentReport};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::balancer::Balancer;
use super::environment::NAMESPACE;

/// Namespace of the agent's cache.
const AGENT_NAMESPACE: &str = "flotilla-agent";
/// Label of the objects of a release.
const RELEASE_LABEL: &str = "flotilla.dev/release";
/// Objects of the workloads' namespace that belong to nobody: a deletion would violate I5.
const BYSTANDERS: [&str; 3] = ["bystander", "web-0-part-9", "kube-root-ca"];

/// A cluster with its agent.
pub struct ChaosCluster {
    pub cluster: SimCluster,
    /// Its link to the servers.
    pub link: Balancer,
    join: JoinConfig,
    /// Offset of the agent's clock, in milliseconds.
    clock_offset: i64,
    recorder: Arc<HistoryRecorder>,
    running: Option<RunningAgent>,
}

struct RunningAgent {
    kill: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl ChaosCluster {
    /// A cluster with bystanders, whose writes are recorded.
    pub fn new(
        join: JoinConfig,
        link: Balancer,
        clock_offset: i64,
        recorder: Arc<HistoryRecorder>,
    ) -> anyhow::Result<Self> {
        let name = join.name.clone();
        let cluster = SimCluster::new(kubesim::SimOptions { name: name.clone(), ..Default::default() });
        let create = |object: Value| {
            cluster.create(object, "kubectl").map_err(|error| anyhow::anyhow!("{name}: {error:?}"))
        };
        for namespace in [AGENT_NAMESPACE, NAMESPACE] {
            create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))?;
        }
        for bystander in BYSTANDERS {
            create(json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": bystander, "namespace": NAMESPACE}}))?;
        }
        let observer = recorder.clone();
        cluster.observe_changes(move |change| {
            if let Some(change) = cluster_change(change) {
                observer.record_cluster(&name, change);
            }
        });
        Ok(Self { cluster, link, join, clock_offset, recorder, running: None })
    }

    /// Starts the agent; it joins if it has no identity.
    pub fn start(&mut self) -> anyhow::Result<()> {
        let (kill, killed) = oneshot::channel();
        let (cluster, join) = (self.cluster.clone(), self.join.clone());
        let (recorder, offset) = (self.recorder.clone(), self.clock_offset);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = run_agent(cluster, join, recorder, offset) => {}
                    // A dropped sender is the end of the run.
                    _ = killed => {}
                }
            });
            // Ends all its tasks where they are.
            runtime.shutdown_background();
        });
        self.running = Some(RunningAgent { kill, thread });
        Ok(())
    }

    /// Ends the agent wherever it is; what it has cached stays.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        let Some(running) = self.running.take() else { return Ok(()) };
        // It is an error if the agent has ended by itself.
        let _ = running.kill.send(());
        let joined = tokio::task::spawn_blocking(move || running.thread.join()).await?;
        joined.map_err(|_| anyhow::anyhow!("the agent of {} panicked", self.cluster.name()))
    }

    /// Deletes an object of a workload, as a user of the cluster would.
    pub fn delete_object(&self, name: &str) {
        let change = ApiServerChange::UserDeletes { name: name.to_owned() };
        self.recorder.record_cluster(self.cluster.name(), change);
        // It may not exist.
        let _ = self.cluster.delete(("v1", "ConfigMap"), (NAMESPACE, name));
    }

    /// Content of the main object of a workload.
    pub fn content(&self, workload: &str) -> Option<String> {
        let object = self.cluster.get(("v1", "ConfigMap"), (NAMESPACE, workload))?;
        Some(text_at(&object, "/data/value"))
    }
}

async fn run_agent(cluster: SimCluster, join: JoinConfig, recorder: Arc<HistoryRecorder>, offset: i64) {
    let client = kube::Client::new(cluster.service(), "default");
    let cache = SharedCache::new(SecretCache::new(client.clone(), AGENT_NAMESPACE));
    let system = Clock::system();
    let clock = Clock::from_fn(move || system.now().plus_millis(offset)).with_counted_leaps();
    let mut options = AgentOptions::new(EngineOptions::new(move || clock.now()));
    options.cache = Some(cache.clone());
    options.heartbeat_interval = Duration::from_secs(1);
    (options.retry_initial_delay, options.retry_max_delay) =
        (Duration::from_millis(50), Duration::from_millis(500));
    options.engine.heal_first = Duration::from_millis(100);
    (options.engine.retry_first, options.engine.retry_max) =
        (Duration::from_millis(200), Duration::from_secs(2));
    let identity = loop {
        match agent::join(&cache, Some(&join), &options, Some(client.clone())).await {
            Ok(identity) => break identity,
            Err(error) => println!("{} could not join: {error}", join.name),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    let backoff = ReconnectBackoff { initial: Duration::from_millis(50), max: Duration::from_millis(500) };
    let inner = match HttpLink::new(identity, cache, &options, backoff) {
        Ok(link) => link,
        Err(error) => return println!("{} can't use its identity: {error}", join.name),
    };
    let link = HistoryLink { inner, recorder, cluster: join.name };
    agent::run(link, client, options, CancellationToken::new()).await;
}

/// A link that records reports before they are sent.
struct HistoryLink {
    inner: HttpLink,
    recorder: Arc<HistoryRecorder>,
    cluster: String,
}

impl Link for HistoryLink {
    async fn start_session(&self) -> Result<i64, LinkError> {
        self.inner.start_session().await
    }

    async fn fetch_desired_state(&self, since: i64) -> Result<DesiredState, LinkError> {
        self.inner.fetch_desired_state(since).await
    }

    async fn fetch_bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.inner.fetch_bundle(release, digest).await
    }

    async fn fetch_planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.inner.fetch_planned_bundle(plan, digest).await
    }

    async fn submit_cluster_plan(&self, plan: PlanId, result: ClusterPlan) -> Result<(), LinkError> {
        self.inner.submit_cluster_plan(plan, result).await
    }

    async fn submit_helm_release(
        &self,
        request: &HelmReleaseRequest,
        reading: HelmReleaseReading,
    ) -> Result<(), LinkError> {
        self.inner.submit_helm_release(request, reading).await
    }

    async fn send_reports(&self, batch: ReportBatch) -> Result<ReportAck, LinkError> {
        for report in &batch.releases {
            self.recorder.record(Action::ReportSent(SentReport {
                cluster: self.cluster.clone(),
                release: report.release.to_string(),
                generation: report.generation,
                applied: report.applied.as_ref().map(ToString::to_string),
                sync: format!("{:?}", report.sync),
                health: format!("{:?}", report.health.status),
                removed: report.removed,
            }));
        }
        self.inner.send_reports(batch).await
    }

    async fn upload_schema(&self, schema: &EncodedSchema) -> Result<(), LinkError> {
        self.inner.upload_schema(schema).await
    }

    async fn send_heartbeat(&self, heartbeat: Heartbeat) -> Result<(), LinkError> {
        self.inner.send_heartbeat(heartbeat).await
    }

    async fn wait_until_reachable(&self) {
        self.inner.wait_until_reachable().await;
    }
}

fn text_at(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What the history records of a write: records of releases, and the ConfigMaps of the workloads' namespace.
fn cluster_change(change: ObservedChange<'_>) -> Option<ApiServerChange> {
    let object = change.object;
    let kind = object["kind"].as_str()?;
    let (uid, name) = (text_at(object, "/metadata/uid"), text_at(object, "/metadata/name"));
    match (kind, change.is_deleted) {
        ("AppliedRelease", true) => {
            Some(ApiServerChange::RecordDeleted { release: text_at(object, "/spec/releaseId") })
        }
        ("AppliedRelease", false) => {
            let resources = object.pointer("/spec/resources").and_then(Value::as_array);
            let listed = |entry: &Value| {
                let recorded = ListedObject { name: text_at(entry, "/name"), uid: text_at(entry, "/uid") };
                // It may have been created again since, with another uid.
                let by_label = ListedObject { uid: String::new(), ..recorded.clone() };
                [Some(recorded), (entry["missing"] == true).then_some(by_label)].into_iter().flatten()
            };
            Some(ApiServerChange::RecordWritten {
                release: text_at(object, "/spec/releaseId"),
                generation: object.pointer("/spec/generation").and_then(Value::as_i64)?,
                objects: resources.into_iter().flatten().flat_map(listed).collect(),
            })
        }
        ("ConfigMap", _) if object["metadata"]["namespace"] != NAMESPACE => None,
        ("ConfigMap", true) => Some(ApiServerChange::ObjectDeleted { uid, name }),
        ("ConfigMap", false) => {
            let owner = object["metadata"]["labels"][RELEASE_LABEL].as_str().unwrap_or_default().to_owned();
            Some(ApiServerChange::ObjectWritten { uid, name, owner, content: text_at(object, "/data/value") })
        }
        _ => None,
    }
}
