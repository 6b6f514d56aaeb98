//! Where a scenario takes place: a namespace of a simulated or a real cluster, with an engine that serves one release.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::ReleaseId;
use domain::bundle::Bundle;
use domain::health::{Health, HealthStatus};
use domain::plan::Effect;
use domain::release::{StageName, StageState, Sync};
use domain::report::{Goal, ReleaseReport, Want};
use domain::workload::{DeletionPolicy, Policies};
use engine::Desired;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use testkit::{Ailment, ControlPlane};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::watching::Agent;

/// Longer than anything here may take, on a machine that is busy; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

enum World {
    Simulated(kubesim::Cluster),
    Shared(&'static ControlPlane),
    Own(Box<ControlPlane>),
}

/// One scenario's surroundings.
pub struct Place {
    world: World,
    pub agent: Agent,
    /// The hub of its agents: one per scenario.
    pub hub: String,
    pub namespace: String,
    pub release: ReleaseId,
    generation: AtomicI64,
}

/// API version and kind.
pub type Kind = (&'static str, &'static str);

pub const CONFIG_MAP: Kind = ("v1", "ConfigMap");
pub const DEPLOYMENT: Kind = ("apps/v1", "Deployment");
pub const NAMESPACE: Kind = ("v1", "Namespace");
pub const POD: Kind = ("v1", "Pod");
pub const RECORD: Kind = ("flotilla.dev/v1alpha1", "AppliedRelease");

const CLUSTER_WIDE: [&str; 8] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "Namespace",
    "AppliedRelease",
    "CustomResourceDefinition",
    "PersistentVolume",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

impl Place {
    pub async fn simulated(scenario: &str) -> Place {
        let options =
            kubesim::Options { pod_start: Duration::from_millis(10), ..kubesim::Options::default() };
        let place = Place::in_world(World::Simulated(kubesim::Cluster::new(options)), scenario).await;
        place
            .create(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}}),
                "test",
            )
            .await;
        place
    }

    pub async fn real(scenario: &str, own: bool) -> Place {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        let world = if own {
            World::Own(Box::new(ControlPlane::start(testkit::Options::default()).await))
        } else {
            World::Shared(SHARED.get_or_init(|| ControlPlane::start(testkit::Options::full())).await)
        };
        let place = Place::in_world(world, scenario).await;
        place.plane().unwrap().namespace(&place.namespace).await;
        place
    }

    async fn in_world(world: World, scenario: &str) -> Place {
        let number =
            scenario.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(131).wrapping_add(byte.into()));
        let mut namespace = scenario.replace('_', "-");
        namespace.truncate(60);
        let agent = Agent::start(client(&world), scenario, Duration::ZERO).await;
        let release = ReleaseId::from_parts(1_700_000_000_000, number.into());
        Place {
            world,
            agent,
            hub: scenario.to_owned(),
            namespace: namespace.trim_end_matches('-').to_owned(),
            release,
            generation: AtomicI64::new(0),
        }
    }

    /// The real control plane, if it is one.
    pub fn plane(&self) -> Option<&ControlPlane> {
        match &self.world {
            World::Simulated(_) => None,
            World::Shared(plane) => Some(plane),
            World::Own(plane) => Some(plane),
        }
    }

    /// The simulated cluster, if it is one.
    pub fn cluster(&self) -> Option<&kubesim::Cluster> {
        match &self.world {
            World::Simulated(cluster) => Some(cluster),
            _ => None,
        }
    }

    /// Replaces the engine by another whose clock is ahead by so much, with the same orders.
    pub async fn later(&mut self, ahead: Duration, objects: Vec<Value>) {
        self.agent = Agent::start(client(&self.world), &self.hub, ahead).await;
        self.wants(objects, Policies::default());
    }

    /// Replaces the engine by one that reaches its cluster over this connection; it has no orders yet.
    pub async fn serve_over(&mut self, client: kube::Client) {
        self.agent = Agent::start(client, &self.hub, Duration::ZERO).await;
    }

    /// Wants these objects, in this place's namespace unless they say another.
    pub fn wants(&self, objects: Vec<Value>, policies: Policies) -> Want {
        let bundle = self.bundle(objects);
        let revision = u32::try_from(self.generation.load(Ordering::Relaxed) + 1).unwrap();
        let want = self.want(Goal::Present { bundle: bundle.digest(), revision, policies });
        let desired = Desired { want: want.clone(), bundle: Some(bundle), pulled: StageState::Done };
        self.agent.engine.set_desired(vec![desired]);
        want
    }

    /// What having these objects would do.
    pub async fn effect(&self, objects: Vec<Value>, policies: Policies) -> Effect {
        let bundle = self.bundle(objects);
        self.agent.engine.effect(Some(self.release), &present(policies), &bundle).await
    }

    pub fn bundle(&self, objects: Vec<Value>) -> Arc<Bundle> {
        Arc::new(Bundle::new(objects.into_iter().map(|object| self.settle(object)).collect()))
    }

    /// Wants nothing of the release any more.
    pub fn wants_nothing(&self, deletion: DeletionPolicy) {
        let want = self.want(Goal::Absent { deletion, policies: Policies::default() });
        self.agent.engine.set_desired(vec![Desired { want, bundle: None, pulled: StageState::Pending }]);
    }

    fn want(&self, goal: Goal) -> Want {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        Want { release: self.release, workload: "shop".into(), generation, sync_nonce: 0, goal }
    }

    /// An object with its namespace.
    fn settle(&self, mut object: Value) -> Value {
        let kind = object["kind"].as_str().unwrap_or_default();
        if !CLUSTER_WIDE.contains(&kind) && object["metadata"].get("namespace").is_none() {
            object["metadata"]["namespace"] = self.namespace.clone().into();
        }
        object
    }

    /// Waits until the newest report is about the newest want and as asked.
    pub async fn until(&self, what: &str, ok: impl Fn(&ReleaseReport) -> bool) -> ReleaseReport {
        let begun = Instant::now();
        loop {
            let generation = self.generation.load(Ordering::Relaxed);
            let report = self.agent.report(self.release);
            if let Some(report) = report.filter(|report| report.generation == generation && ok(report)) {
                return report;
            }
            assert!(begun.elapsed() < PATIENCE, "not {what}: {:#?}", self.agent.report(self.release));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub async fn until_operational(&self) -> ReleaseReport {
        self.until("operational", |report| {
            report.sync == Sync::Synced
                && stage(report, StageName::Operational).is_some_and(StageState::is_over)
        })
        .await
    }

    pub async fn until_applied(&self) -> ReleaseReport {
        self.until("applied", |report| report.applied.is_some()).await
    }

    pub async fn until_gone(&self) -> ReleaseReport {
        self.until("gone", |report| report.gone).await
    }

    /// Waits until a stage is in trouble for this reason; returns its message.
    pub async fn until_trouble(&self, name: StageName, reason: &str) -> (ReleaseReport, String) {
        let found = |report: &ReleaseReport| {
            let trouble = stage(report, name)?.trouble()?;
            (trouble.reason == reason).then(|| trouble.message.clone())
        };
        let report = self.until(reason, |report| found(report).is_some()).await;
        let message = found(&report).unwrap();
        (report, message)
    }

    /// Waits until an object of the release has this health; returns message and causes.
    pub async fn until_health(
        &self,
        name: &str,
        status: HealthStatus,
        reason: &str,
    ) -> (Health, Vec<String>) {
        let find = |report: &ReleaseReport| {
            let found = report.resources.iter().find(|one| one.object.name == name)?;
            let is = found.health.status == status && found.health.reason == reason;
            is.then(|| (found.health.clone(), found.causes.clone()))
        };
        let report =
            self.until(&format!("{name} {status:?} {reason}"), |report| find(report).is_some()).await;
        find(&report).unwrap()
    }

    /// Waits for a condition on the cluster.
    pub async fn eventually(&self, what: &str, ok: impl AsyncFn() -> bool) {
        let begun = Instant::now();
        while !ok().await {
            assert!(begun.elapsed() < PATIENCE, "not {what}: {:#?}", self.agent.report(self.release));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// What somebody else does with the cluster.
impl Place {
    fn api(&self, (version, kind): Kind) -> Api<DynamicObject> {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if CLUSTER_WIDE.contains(&kind) {
            Api::all_with(client(&self.world), &resource)
        } else {
            Api::namespaced_with(client(&self.world), &self.namespace, &resource)
        }
    }

    pub async fn create(&self, object: Value, manager: &str) -> Value {
        let object = self.settle(object);
        let kind = (leak(&object["apiVersion"]), leak(&object["kind"]));
        let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
        let object = serde_json::from_value(object).unwrap();
        value(self.api(kind).create(&params, &object).await.unwrap())
    }

    pub async fn apply_as(&self, object: Value, manager: &str) -> Value {
        let object = self.settle(object);
        let kind = (leak(&object["apiVersion"]), leak(&object["kind"]));
        let name = leak(&object["metadata"]["name"]);
        value(self.api(kind).patch(name, &PatchParams::apply(manager), &Patch::Apply(object)).await.unwrap())
    }

    pub async fn get(&self, kind: Kind, name: &str) -> Option<Value> {
        self.api(kind).get_opt(name).await.unwrap().map(value)
    }

    pub async fn list(&self, kind: Kind) -> Vec<Value> {
        self.api(kind).list(&ListParams::default()).await.unwrap().into_iter().map(value).collect()
    }

    /// The record of this place's release.
    pub async fn record(&self) -> Option<Value> {
        let release = self.release.to_string();
        self.list(RECORD).await.into_iter().find(|record| record["spec"]["releaseId"] == release)
    }

    pub async fn merge(&self, kind: Kind, name: &str, patch: Value, manager: &str) -> Value {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        value(self.api(kind).patch(name, &params, &Patch::Merge(patch)).await.unwrap())
    }

    pub async fn merge_status(&self, kind: Kind, name: &str, patch: Value) {
        let params = PatchParams { field_manager: Some("controller".into()), ..PatchParams::default() };
        self.api(kind).patch_status(name, &params, &Patch::Merge(json!({"status": patch}))).await.unwrap();
    }

    pub async fn delete(&self, kind: Kind, name: &str) {
        self.api(kind).delete(name, &DeleteParams::background()).await.unwrap();
    }

    pub fn client(&self) -> kube::Client {
        client(&self.world)
    }

    /// What the stock kubectl prints, in this place's namespace; `None` where there is none to run.
    pub async fn kubectl(&self, arguments: &[&str]) -> Option<String> {
        if !testkit::available("kubectl") {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("kubeconfig");
        // A served cluster answers as long as this lives.
        let mut server = None;
        let text = match &self.world {
            World::Simulated(cluster) => {
                let served = server.insert(cluster.serve("127.0.0.1:0".parse().unwrap()).await.unwrap());
                cluster.kubeconfig(&served.url())
            }
            World::Shared(plane) => plane.kubeconfig().to_owned(),
            World::Own(plane) => plane.kubeconfig().to_owned(),
        };
        std::fs::write(&config, text).unwrap();
        let mut kubectl = tokio::process::Command::from(testkit::program("kubectl"));
        kubectl.args(["--namespace", &self.namespace]).args(arguments);
        kubectl.env("KUBECONFIG", config).env("HOME", folder.path());
        let output = tokio::time::timeout(PATIENCE, kubectl.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "kubectl {arguments:?}: {output:?}");
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

/// A goal for questions; its digest and revision play no part in them.
pub fn present(policies: Policies) -> Goal {
    Goal::Present { bundle: domain::Digest::of(b""), revision: 1, policies }
}

fn client(world: &World) -> kube::Client {
    match world {
        World::Simulated(cluster) => kube::Client::new(cluster.service(), "default"),
        World::Shared(plane) => plane.client(),
        World::Own(plane) => plane.client(),
    }
}

fn value(object: DynamicObject) -> Value {
    serde_json::to_value(object).unwrap()
}

/// Kinds are `'static` everywhere else; the few that are read from objects live as long as the tests.
fn leak(text: &Value) -> &'static str {
    text.as_str().unwrap().to_owned().leak()
}

pub fn stage(report: &ReleaseReport, name: StageName) -> Option<&StageState> {
    report.stages.iter().find(|said| said.name == name).map(|said| &said.state)
}

pub fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}})
}

/// A template whose pods are well, or have an ailment: by image on the simulated cluster, by annotation on the real.
pub fn template(name: &str, ailment: Option<Ailment>) -> Value {
    let image = match ailment {
        None | Some(Ailment::SlowStart(_)) => "nginx:1",
        Some(Ailment::Crash) => "crashloop:1",
        Some(Ailment::OutOfMemory) => "oomkill:1",
        Some(Ailment::ImagePull) => "does-not-exist:1",
        Some(Ailment::NeverReady) => "neverready:1",
    };
    let annotations: Value = ailment.into_iter().flat_map(Ailment::annotations).collect();
    json!({"metadata": {"labels": {"app": name}, "annotations": annotations},
        "spec": {"containers": [{"name": "web", "image": image}]}})
}

/// A Deployment, StatefulSet, DaemonSet or ReplicaSet.
pub fn workload(kind: &str, name: &str, ailment: Option<Ailment>) -> Value {
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
