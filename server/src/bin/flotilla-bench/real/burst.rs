//! B2: hundreds of concurrent publishes, until the stream has reported the last one as Applied.

use std::time::Duration;

use serde_json::Value;

use super::environment::BenchEnvironment;
use super::table::{ResultTable, ScenarioResult, collect_durations};
use super::{RealArgs, baseline};

/// Name of the workloads that fill the cluster.
pub fn workload_name(number: usize) -> String {
    format!("full-{number}")
}

pub async fn run(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &mut BenchEnvironment,
) -> anyhow::Result<()> {
    let names = create_drafts(args, world).await?;
    world.filled = true;
    let before = world.cpu_usage();
    let durations = world.publisher.publish_all(&names).await?;
    // CPU time of writes after the last report is included.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut row =
        ScenarioResult::measured(format!("B2 {} × 2 objects", names.len()), world, &before, names.len());
    row.note = format!("all Applied after {:.2} s", durations.last().map_or(0.0, Duration::as_secs_f64));
    row.ours = collect_durations(durations);
    let objects: Vec<Value> = names.iter().flat_map(|name| baseline::two_objects(name)).collect();
    let took = baseline::apply_objects(&world.planes[0].client(), &objects).await?;
    row.note += &format!(", limit {:.2} s", took.last().map_or(0.0, Duration::as_secs_f64));
    row.baseline = Some(collect_durations(took));
    row.target = "max ≤ 2500, CPU ≤ 6";
    table.add(row);
    Ok(())
}

/// Fills the cluster without measuring, if it is not full yet.
pub async fn fill_cluster(args: &RealArgs, world: &mut BenchEnvironment) -> anyhow::Result<()> {
    if !world.filled {
        let names = create_drafts(args, world).await?;
        world.publisher.publish_all(&names).await?;
        world.filled = true;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    Ok(())
}

async fn create_drafts(args: &RealArgs, world: &mut BenchEnvironment) -> anyhow::Result<Vec<String>> {
    let names: Vec<String> = (0..args.full()).map(workload_name).collect();
    let draft = |name: &String| (name.clone(), baseline::to_manifests(&baseline::two_objects(name)));
    world.publisher.create_drafts(names.iter().map(draft).collect()).await?;
    world.publisher.skip_past_events().await?;
    Ok(names)
}
