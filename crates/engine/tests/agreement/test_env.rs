//! The environment of a scenario: a namespace of a simulated or real cluster, and an engine with one release.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::ReleaseId;
use domain::bundle::Bundle;
use domain::failure_cause::FailureCause;
use domain::health::{Health, HealthStatus};
use domain::plan::ClusterPlan;
use domain::release::{StageName, StageState, SyncStatus};
use domain::report::{DesiredPhase, DesiredRelease, FieldRevertRequest, ReleaseReport};
use domain::workload::{DeletionPolicy, Policies};
use engine::ReleaseInput;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use testkit::{ControlPlane, PodFault};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::test_agent::TestAgent;

/// Time limit of every wait, on a busy machine; a test that reaches it fails.
const TIMEOUT: Duration = testkit::patience();

enum ClusterBackend {
    Simulated(kubesim::SimCluster),
    Shared(&'static ControlPlane),
    Exclusive(Box<ControlPlane>),
}

/// The environment of one scenario.
pub struct TestEnv {
    backend: ClusterBackend,
    pub agent: TestAgent,
    /// The hub of its engines: one per scenario.
    pub hub: String,
    pub namespace: String,
    pub release: ReleaseId,
    generation: AtomicI64,
}

/// API version and kind.
pub type KindName = (&'static str, &'static str);

pub const CONFIG_MAP: KindName = ("v1", "ConfigMap");
pub const CLAIM: KindName = ("v1", "PersistentVolumeClaim");
pub const CRON_JOB: KindName = ("batch/v1", "CronJob");
pub const DAEMON_SET: KindName = ("apps/v1", "DaemonSet");
pub const DEPLOYMENT: KindName = ("apps/v1", "Deployment");
pub const JOB: KindName = ("batch/v1", "Job");
pub const NAMESPACE: KindName = ("v1", "Namespace");
pub const POD: KindName = ("v1", "Pod");
pub const RECORD: KindName = ("flotilla.dev/v1alpha1", "AppliedRelease");
pub const SERVICE_ACCOUNT: KindName = ("v1", "ServiceAccount");
pub const STATEFUL_SET: KindName = ("apps/v1", "StatefulSet");

const CLUSTER_WIDE: [&str; 17] = [
    "APIService",
    "ClusterRole",
    "ClusterRoleBinding",
    "Namespace",
    "AppliedRelease",
    "CustomResourceDefinition",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

impl TestEnv {
    pub async fn simulated(scenario: &str) -> TestEnv {
        let options =
            kubesim::SimOptions { pod_start: Duration::from_millis(10), ..kubesim::SimOptions::default() };
        let env =
            TestEnv::with_backend(ClusterBackend::Simulated(kubesim::SimCluster::new(options)), scenario)
                .await;
        env.create(
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": env.namespace}}),
            "test",
        )
        .await;
        env
    }

    pub async fn real(scenario: &str, own: bool) -> TestEnv {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        let world = if own {
            ClusterBackend::Exclusive(Box::new(
                ControlPlane::start(testkit::ControlPlaneOptions::default()).await,
            ))
        } else {
            ClusterBackend::Shared(
                SHARED
                    .get_or_init(|| ControlPlane::start(testkit::ControlPlaneOptions::with_workloads()))
                    .await,
            )
        };
        let env = TestEnv::with_backend(world, scenario).await;
        env.control_plane().unwrap().create_namespace(&env.namespace).await;
        env
    }

    async fn with_backend(world: ClusterBackend, scenario: &str) -> TestEnv {
        let number =
            scenario.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(131).wrapping_add(byte.into()));
        let mut namespace = scenario.replace('_', "-");
        namespace.truncate(60);
        let agent = TestAgent::start(client(&world), scenario, Duration::ZERO).await;
        let release = ReleaseId::from_parts(1_700_000_000_000, number.into());
        TestEnv {
            backend: world,
            agent,
            hub: scenario.to_owned(),
            namespace: namespace.trim_end_matches('-').to_owned(),
            release,
            generation: AtomicI64::new(0),
        }
    }

    /// The real control plane; `None` for a simulated cluster.
    pub fn control_plane(&self) -> Option<&ControlPlane> {
        match &self.backend {
            ClusterBackend::Simulated(_) => None,
            ClusterBackend::Shared(plane) => Some(plane),
            ClusterBackend::Exclusive(plane) => Some(plane),
        }
    }

    /// The simulated cluster; `None` for a real control plane.
    pub fn simulated_cluster(&self) -> Option<&kubesim::SimCluster> {
        match &self.backend {
            ClusterBackend::Simulated(cluster) => Some(cluster),
            _ => None,
        }
    }

    /// Replaces the engine by one whose clock is ahead, and sets the same desired state.
    pub async fn restart_agent_ahead(&mut self, ahead: Duration, objects: Vec<Value>) {
        self.agent = TestAgent::start(client(&self.backend), &self.hub, ahead).await;
        self.set_present(objects, Policies::default());
    }

    /// Replaces the engine by one with this connection and without a desired state.
    pub async fn restart_agent_over(&mut self, client: kube::Client) {
        self.agent = TestAgent::start(client, &self.hub, Duration::ZERO).await;
    }

    /// Sets these objects as desired, by default in the namespace of the scenario.
    pub fn set_present(&self, objects: Vec<Value>, policies: Policies) -> DesiredRelease {
        self.set_bundle(self.bundle(objects), policies)
    }

    /// Sets this bundle as desired.
    pub fn set_bundle(&self, bundle: Arc<Bundle>, policies: Policies) -> DesiredRelease {
        let revision = u32::try_from(self.generation.load(Ordering::Relaxed) + 1).unwrap();
        let desired_release =
            self.next_release(DesiredPhase::Present { bundle: bundle.digest(), revision, policies });
        let desired = ReleaseInput {
            desired: desired_release.clone(),
            bundle: Some(bundle),
            pull_stage: StageState::Done,
            suspended: false,
            field_reverts: Vec::new(),
        };
        self.agent.engine.set_desired(vec![desired]);
        desired_release
    }

    /// Dry run of these objects.
    pub async fn dry_run(&self, objects: Vec<Value>, policies: Policies) -> ClusterPlan {
        let bundle = self.bundle(objects);
        self.agent.engine.dry_run("shop", Some(self.release), &present_phase(policies), &bundle).await
    }

    pub fn bundle(&self, objects: Vec<Value>) -> Arc<Bundle> {
        Arc::new(Bundle::new(objects.into_iter().map(|object| self.with_namespace(object)).collect()))
    }

    /// Sets the desired phase of the release to absent.
    pub fn set_absent(&self, deletion: DeletionPolicy) {
        let desired_release =
            self.next_release(DesiredPhase::Absent { deletion, policies: Policies::default() });
        self.agent.engine.set_desired(vec![ReleaseInput {
            desired: desired_release,
            bundle: None,
            pull_stage: StageState::Pending,
            suspended: false,
            field_reverts: Vec::new(),
        }]);
    }

    /// Sets what was desired before as it is, suspended or resumed, with its bundle if it has one.
    pub fn set_suspended(&self, desired: &DesiredRelease, bundle: Option<Arc<Bundle>>, suspended: bool) {
        self.agent.engine.set_desired(vec![ReleaseInput {
            desired: desired.clone(),
            bundle,
            pull_stage: StageState::Done,
            suspended,
            field_reverts: Vec::new(),
        }]);
    }

    /// Sets what was desired before with requests to revert single fields.
    pub fn set_field_reverts(
        &self,
        desired: &DesiredRelease,
        bundle: Arc<Bundle>,
        field_reverts: Vec<FieldRevertRequest>,
    ) {
        self.agent.engine.set_desired(vec![ReleaseInput {
            desired: desired.clone(),
            bundle: Some(bundle),
            pull_stage: StageState::Done,
            suspended: false,
            field_reverts,
        }]);
    }

    /// The next desired release, with this bundle; it is not set.
    pub fn next_bundle(&self, bundle: &Bundle) -> DesiredRelease {
        let revision = u32::try_from(self.generation.load(Ordering::Relaxed) + 1).unwrap();
        let policies = Policies::default();
        self.next_release(DesiredPhase::Present { bundle: bundle.digest(), revision, policies })
    }

    /// The next desired release, which is absent; it is not set.
    pub fn next_absent(&self, deletion: DeletionPolicy) -> DesiredRelease {
        self.next_release(DesiredPhase::Absent { deletion, policies: Policies::default() })
    }

    fn next_release(&self, phase: DesiredPhase) -> DesiredRelease {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        DesiredRelease { release: self.release, workload: "shop".into(), generation, sync_nonce: 0, phase }
    }

    /// Sets the namespace of an object if it is missing.
    fn with_namespace(&self, mut object: Value) -> Value {
        let kind = object["kind"].as_str().unwrap_or_default();
        if !CLUSTER_WIDE.contains(&kind) && object["metadata"].get("namespace").is_none() {
            object["metadata"]["namespace"] = self.namespace.clone().into();
        }
        object
    }

    /// Waits until the latest report is of the latest generation and matches.
    pub async fn wait_for_report(
        &self,
        expected: &str,
        is_ok: impl Fn(&ReleaseReport) -> bool,
    ) -> ReleaseReport {
        let started_at = Instant::now();
        loop {
            let generation = self.generation.load(Ordering::Relaxed);
            let report = self.agent.report(self.release);
            if let Some(report) = report.filter(|report| report.generation == generation && is_ok(report)) {
                return report;
            }
            assert!(started_at.elapsed() < TIMEOUT, "not {expected}: {:#?}", self.agent.report(self.release));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub async fn until_operational(&self) -> ReleaseReport {
        self.wait_for_report("operational", |report| {
            report.sync == SyncStatus::Synced
                && stage_state(report, StageName::Operational).is_some_and(StageState::is_finished)
        })
        .await
    }

    pub async fn until_applied(&self) -> ReleaseReport {
        self.wait_for_report("applied", |report| report.applied.is_some()).await
    }

    pub async fn until_gone(&self) -> ReleaseReport {
        self.wait_for_report("gone", |report| report.removed).await
    }

    /// Waits until a stage has this reason; returns the report and the message.
    pub async fn until_stage_reason(&self, name: StageName, reason: &str) -> (ReleaseReport, String) {
        let found = |report: &ReleaseReport| {
            let actual = stage_state(report, name)?.reason()?;
            (actual.reason.as_str() == reason).then(|| actual.message.clone())
        };
        let report = self.wait_for_report(reason, |report| found(report).is_some()).await;
        let message = found(&report).unwrap();
        (report, message)
    }

    /// Waits until an object of the release has this health; returns message and causes.
    pub async fn until_health(
        &self,
        name: &str,
        status: HealthStatus,
        reason: &str,
    ) -> (Health, Vec<FailureCause>) {
        let find = |report: &ReleaseReport| {
            let found = report.resources.iter().find(|resource| resource.object.name == name)?;
            let is_expected = found.health.status == status && found.health.reason == reason;
            is_expected.then(|| (found.health.clone(), found.failure_causes.clone()))
        };
        let report = self
            .wait_for_report(&format!("{name} {status:?} {reason}"), |report| find(report).is_some())
            .await;
        find(&report).unwrap()
    }

    /// Waits for a condition on the cluster.
    pub async fn wait_until(&self, expected: &str, is_ok: impl AsyncFn() -> bool) {
        let started_at = Instant::now();
        while !is_ok().await {
            assert!(started_at.elapsed() < TIMEOUT, "not {expected}: {:#?}", self.agent.report(self.release));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Operations of other clients on the cluster.
impl TestEnv {
    pub fn api(&self, (version, kind): KindName) -> Api<DynamicObject> {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if CLUSTER_WIDE.contains(&kind) {
            Api::all_with(client(&self.backend), &resource)
        } else {
            Api::namespaced_with(client(&self.backend), &self.namespace, &resource)
        }
    }

    pub async fn create(&self, object: Value, manager: &str) -> Value {
        let object = self.with_namespace(object);
        let kind = (leak(&object["apiVersion"]), leak(&object["kind"]));
        let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
        let object = serde_json::from_value(object).unwrap();
        to_json(self.api(kind).create(&params, &object).await.unwrap())
    }

    /// Creates an object in the namespace that it names.
    pub async fn create_in_namespace(&self, object: Value, manager: &str) -> Value {
        let (group, version) = ("", object["apiVersion"].as_str().unwrap());
        let resource =
            ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap()));
        let namespace = object["metadata"]["namespace"].as_str().unwrap();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client(), namespace, &resource);
        let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
        to_json(api.create(&params, &serde_json::from_value(object).unwrap()).await.unwrap())
    }

    pub async fn apply_as(&self, object: Value, manager: &str) -> Value {
        let object = self.with_namespace(object);
        let kind = (leak(&object["apiVersion"]), leak(&object["kind"]));
        let name = leak(&object["metadata"]["name"]);
        to_json(
            self.api(kind).patch(name, &PatchParams::apply(manager), &Patch::Apply(object)).await.unwrap(),
        )
    }

    pub async fn get(&self, kind: KindName, name: &str) -> Option<Value> {
        self.api(kind).get_opt(name).await.unwrap().map(to_json)
    }

    pub async fn list(&self, kind: KindName) -> Vec<Value> {
        self.api(kind).list(&ListParams::default()).await.unwrap().into_iter().map(to_json).collect()
    }

    /// The record of the release.
    pub async fn record(&self) -> Option<Value> {
        let release = self.release.to_string();
        self.list(RECORD).await.into_iter().find(|record| record["spec"]["releaseId"] == release)
    }

    pub async fn merge_patch(&self, kind: KindName, name: &str, patch: Value, manager: &str) -> Value {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        to_json(self.api(kind).patch(name, &params, &Patch::Merge(patch)).await.unwrap())
    }

    /// Sets the replicas through the subresource `scale`.
    pub async fn scale(&self, kind: KindName, name: &str, replicas: u32, manager: &str) {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.api(kind).patch_scale(name, &params, &patch).await.unwrap();
    }

    pub async fn merge_patch_status(&self, kind: KindName, name: &str, patch: Value) {
        let params = PatchParams { field_manager: Some("controller".into()), ..PatchParams::default() };
        self.api(kind).patch_status(name, &params, &Patch::Merge(json!({"status": patch}))).await.unwrap();
    }

    pub async fn delete(&self, kind: KindName, name: &str) {
        self.api(kind).delete(name, &DeleteParams::background()).await.unwrap();
    }

    pub fn client(&self) -> kube::Client {
        client(&self.backend)
    }

    /// Output of kubectl in the namespace of the scenario; `None` if kubectl is not available.
    pub async fn kubectl(&self, arguments: &[&str]) -> Option<String> {
        if !testkit::is_available("kubectl") {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("kubeconfig");
        // Keeps a simulated cluster served until the end of this function.
        let mut server = None;
        let text = match &self.backend {
            ClusterBackend::Simulated(cluster) => {
                let served = server.insert(cluster.serve("127.0.0.1:0".parse().unwrap()).await.unwrap());
                cluster.kubeconfig(&served.url())
            }
            ClusterBackend::Shared(plane) => plane.kubeconfig().to_owned(),
            ClusterBackend::Exclusive(plane) => plane.kubeconfig().to_owned(),
        };
        std::fs::write(&config, text).unwrap();
        let mut kubectl = tokio::process::Command::from(testkit::command("kubectl"));
        kubectl.args(["--namespace", &self.namespace]).args(arguments);
        kubectl.env("KUBECONFIG", config).env("HOME", folder.path());
        let output = tokio::time::timeout(TIMEOUT, kubectl.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "kubectl {arguments:?}: {output:?}");
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

/// A present phase for dry runs, which ignore digest and revision.
pub fn present_phase(policies: Policies) -> DesiredPhase {
    DesiredPhase::Present { bundle: domain::Digest::compute(b""), revision: 1, policies }
}

fn client(world: &ClusterBackend) -> kube::Client {
    match world {
        ClusterBackend::Simulated(cluster) => kube::Client::new(cluster.service(), "default"),
        ClusterBackend::Shared(plane) => plane.client(),
        ClusterBackend::Exclusive(plane) => plane.client(),
    }
}

fn to_json(object: DynamicObject) -> Value {
    serde_json::to_value(object).unwrap()
}

/// Leaks the text of a kind, because [`KindName`] is `'static`; there are few in a test run.
fn leak(text: &Value) -> &'static str {
    text.as_str().unwrap().to_owned().leak()
}

pub fn stage_state(report: &ReleaseReport, name: StageName) -> Option<&StageState> {
    report.stages.iter().find(|stage| stage.name == name).map(|stage| &stage.state)
}

pub fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}})
}

/// A pod template, optionally with a fault: by image on the simulated cluster, by annotation on a real one.
pub fn template(name: &str, ailment: Option<PodFault>) -> Value {
    let image = match ailment {
        None | Some(PodFault::SlowStart(_)) => "nginx:1",
        Some(PodFault::Crash) => "crashloop:1",
        Some(PodFault::OutOfMemory) => "oomkill:1",
        Some(PodFault::ImagePull) => "does-not-exist:1",
        Some(PodFault::NeverReady) => "neverready:1",
    };
    let annotations: Value = ailment.into_iter().flat_map(PodFault::annotations).collect();
    json!({"metadata": {"labels": {"app": name}, "annotations": annotations},
        "spec": {"containers": [{"name": "web", "image": image}]}})
}

/// A Deployment, StatefulSet, DaemonSet or ReplicaSet.
pub fn workload(kind: &str, name: &str, ailment: Option<PodFault>) -> Value {
    let mut object = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template(name, ailment)}});
    if kind != "DaemonSet" {
        object["spec"]["replicas"] = 2.into();
    }
    if kind == "StatefulSet" {
        object["spec"]["serviceName"] = name.into();
    }
    object
}
