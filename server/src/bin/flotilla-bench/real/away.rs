//! B8: workloads are changed while the cluster's API server is down; time from its restart until they are applied.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::Value;

use super::environment::{BenchEnvironment, WORKLOAD_NAMESPACE};
use super::table::{ResultTable, ScenarioResult, collect_durations};
use super::{RealArgs, baseline, burst};

/// Number of changes during the outage.
const CHANGES: usize = 100;
/// The image version they change to.
const NEW: &str = "2.0";

pub async fn run(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &mut BenchEnvironment,
) -> anyhow::Result<()> {
    let names: Vec<String> = (0..CHANGES.min(args.full())).map(burst::workload_name).collect();
    let changed = |name: &str| vec![baseline::two_objects(name)[0].clone(), baseline::deployment(name, NEW)];
    for name in &names {
        world.publisher.edit_draft(name, baseline::to_manifests(&changed(name))).await?;
    }
    world.publisher.skip_past_events().await?;
    world.planes[0].kill_api_server();
    let down = Instant::now();
    world.publisher.start_publishing(names.clone()).await??;
    tokio::time::sleep(Duration::from_secs(args.outage_duration()).saturating_sub(down.elapsed())).await;
    world.planes[0].restart_api_server().await;
    let (back, before) = (Instant::now(), world.cpu_usage());
    let durations = world
        .publisher
        .wait_until_applied(names.iter().map(|name| (name.clone(), 1)).collect::<HashMap<_, _>>(), back);
    let durations = durations.await?;
    let api: Api<Deployment> = Api::namespaced(world.planes[0].client(), WORKLOAD_NAMESPACE);
    for name in &names {
        let image = api.get(name).await?.spec.and_then(|spec| spec.template.spec?.containers.pop()?.image);
        ensure!(
            image.is_some_and(|image| image.ends_with(NEW)),
            "{name} was reported as applied, but has the old image"
        );
    }
    let mut row = ScenarioResult::measured(
        format!("B8 {} s down, {} changes", args.outage_duration(), names.len()),
        world,
        &before,
        names.len(),
    );
    row.ours = collect_durations(durations);
    let objects: Vec<Value> = names.iter().flat_map(|name| changed(name)).collect();
    row.baseline =
        Some(collect_durations(baseline::apply_objects(&world.planes[0].client(), &objects).await?));
    row.target = "max ≤ 2000";
    table.add(row);
    Ok(())
}
