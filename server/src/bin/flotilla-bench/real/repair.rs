//! B4: from a change of an applied object until it is reverted.

use std::pin::Pin;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::{Value, json};

use super::environment::{BASELINE_NAMESPACE, BenchEnvironment, WORKLOAD_NAMESPACE};
use super::table::{ResultTable, ScenarioResult, collect_durations};
use super::{RealArgs, baseline, burst};

/// Number of workloads in the small case.
const FEW_OBJECTS: usize = 10;
/// Pause between a repair and the next change, so that the engine has written its record.
const PAUSE: Duration = Duration::from_millis(100);
/// Time limit of a repair.
const REPAIR_TIMEOUT: Duration = Duration::from_secs(60);

/// A change of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    Delete,
    Label,
    Spec,
}

const DISTURBANCES: [(Disturbance, &str); 3] = [
    (Disturbance::Delete, "delete"),
    (Disturbance::Label, "edit a label"),
    (Disturbance::Spec, "edit the spec"),
];

/// With few objects on the cluster.
pub async fn measure_few(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &mut BenchEnvironment,
) -> anyhow::Result<()> {
    let names: Vec<String> = (0..FEW_OBJECTS).map(|n| format!("b4-{n}")).collect();
    let draft = |name: &String| (name.clone(), baseline::to_manifests(&baseline::two_objects(name)));
    world.publisher.create_drafts(names.iter().map(draft).collect()).await?;
    world.publisher.skip_past_events().await?;
    world.publisher.publish_all(&names).await?;
    run(args, table, world, &names).await
}

/// On the full cluster.
pub async fn measure_full(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &mut BenchEnvironment,
) -> anyhow::Result<()> {
    let names: Vec<String> = (0..args.full()).map(burst::workload_name).collect();
    run(args, table, world, &names).await
}

async fn run(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &BenchEnvironment,
    names: &[String],
) -> anyhow::Result<()> {
    let runs = args.runs(50);
    let client = world.planes[0].client();
    let api: Api<Deployment> = Api::namespaced(client.clone(), WORKLOAD_NAMESPACE);
    let mut next = 0;
    for (harm, word) in DISTURBANCES {
        let idle = world.measure_idle(args).await;
        let (mut watch, before, mut ours) =
            (DeploymentWatch::open(&api).await?, world.cpu_usage(), Vec::new());
        for _ in 0..runs {
            let name = &names[next % names.len()];
            if next >= names.len() {
                // The object was repaired before: a requested sync resets the back-off.
                world.publisher.sync_workload(name).await?;
                tokio::time::sleep(PAUSE).await;
            }
            next += 1;
            ours.push(measure_repair(&api, &mut watch, harm, name, None).await?);
            tokio::time::sleep(PAUSE).await;
        }
        let scenario = format!("B4 {word}, {} placed", names.len() * 2);
        let mut row = ScenarioResult::measured(scenario, world, &before, runs);
        row.subtract_idle(&idle, PAUSE + ours.iter().sum::<Duration>() / u32::try_from(runs)?);
        row.ours = collect_durations(ours);
        row.baseline = Some(collect_durations(measure_baseline(&client, harm, runs).await?));
        row.target = "p50 ≤ 8, p95 ≤ 15";
        table.add(row);
    }
    Ok(())
}

/// The baseline: a watch and one apply by a plain client.
async fn measure_baseline(
    client: &kube::Client,
    harm: Disturbance,
    runs: usize,
) -> anyhow::Result<Vec<Duration>> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), BASELINE_NAMESPACE);
    let mut all = Vec::new();
    let name = "repaired";
    baseline::apply_object(client, &baseline::deployment(name, "1.0")).await?;
    let mut watch = DeploymentWatch::open(&api).await?;
    for _ in 0..runs {
        all.push(measure_repair(&api, &mut watch, harm, name, Some(client)).await?);
        tokio::time::sleep(PAUSE).await;
    }
    Ok(all)
}

/// Changes one object; returns the time from the API server's response until it is reverted. With a `healer`, that client
/// reverts it instead of the engine.
async fn measure_repair(
    api: &Api<Deployment>,
    watch: &mut DeploymentWatch,
    harm: Disturbance,
    name: &str,
    healer: Option<&kube::Client>,
) -> anyhow::Result<Duration> {
    let act = async {
        harm.apply(api, name).await?;
        anyhow::Ok(Instant::now())
    };
    let follow = async {
        watch.wait_for_event(name, |event| harm.is_applied(event)).await?;
        if let Some(client) = healer {
            baseline::apply_object(client, &baseline::deployment(name, "1.0")).await?;
        }
        watch.wait_for_event(name, |event| harm.is_repaired(event)).await?;
        anyhow::Ok(Instant::now())
    };
    let both = async { tokio::try_join!(act, follow) };
    let (done, healed) = tokio::time::timeout(REPAIR_TIMEOUT, both)
        .await
        .with_context(|| format!("{name} was not reverted in time"))??;
    Ok(healed.saturating_duration_since(done))
}

impl Disturbance {
    async fn apply(self, api: &Api<Deployment>, name: &str) -> anyhow::Result<()> {
        let patch = match self {
            Self::Delete => {
                api.delete(name, &DeleteParams::background()).await?;
                return Ok(());
            }
            Self::Label => json!({"metadata": {"labels": {"tier": "other"}}}),
            Self::Spec => json!({"spec": {"replicas": 7}}),
        };
        let params = PatchParams { field_manager: Some("kubectl-edit".into()), ..PatchParams::default() };
        api.patch(name, &params, &Patch::Merge::<Value>(patch)).await?;
        Ok(())
    }

    fn is_applied(self, event: &WatchEvent<Deployment>) -> bool {
        match (self, event) {
            (Self::Delete, WatchEvent::Deleted(_)) => true,
            (Self::Label | Self::Spec, WatchEvent::Modified(one)) => !self.has_desired_state(one),
            _ => false,
        }
    }

    fn is_repaired(self, event: &WatchEvent<Deployment>) -> bool {
        match event {
            WatchEvent::Added(one) | WatchEvent::Modified(one) => self.has_desired_state(one),
            _ => false,
        }
    }

    fn has_desired_state(self, one: &Deployment) -> bool {
        let label = one.metadata.labels.as_ref().and_then(|labels| labels.get("tier"));
        let replicas = one.spec.as_ref().and_then(|spec| spec.replicas);
        match self {
            Self::Delete => true,
            Self::Label => label.is_some_and(|tier| tier == "web"),
            Self::Spec => replicas.is_none_or(|replicas| replicas == 1),
        }
    }
}

/// A watch on the Deployments of a namespace.
struct DeploymentWatch(Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<Deployment>>> + Send>>);

impl DeploymentWatch {
    async fn open(api: &Api<Deployment>) -> anyhow::Result<Self> {
        let now = api.list_metadata(&ListParams::default()).await?.metadata.resource_version;
        let stream = api.watch(&WatchParams::default(), &now.unwrap_or_default()).await?;
        Ok(Self(Box::pin(stream)))
    }

    async fn wait_for_event(
        &mut self,
        name: &str,
        ok: impl Fn(&WatchEvent<Deployment>) -> bool,
    ) -> anyhow::Result<()> {
        while let Some(event) = self.0.next().await {
            let event = event?;
            let about = match &event {
                WatchEvent::Added(one) | WatchEvent::Modified(one) | WatchEvent::Deleted(one) => {
                    one.metadata.name.as_deref()
                }
                _ => None,
            };
            if about == Some(name) && ok(&event) {
                return Ok(());
            }
        }
        anyhow::bail!("the watch ended")
    }
}
