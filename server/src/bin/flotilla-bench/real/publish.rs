//! B1, B1b: from the publish call until the stream has reported Applied, one workload at a time.

use std::time::Duration;

use super::environment::BenchEnvironment;
use super::table::{ResultTable, ScenarioResult, collect_durations};
use super::{RealArgs, baseline};

const WARM_UP: usize = 10;
/// Pause between two publishes.
const PAUSE: Duration = Duration::from_millis(300);

pub async fn run(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &mut BenchEnvironment,
    scenario: &str,
) -> anyhow::Result<()> {
    let runs = args.runs(100);
    let names: Vec<String> =
        (0..WARM_UP + runs).map(|n| format!("{}-{n}", scenario.to_lowercase())).collect();
    let draft = |name: &String| (name.clone(), baseline::to_manifests(&baseline::two_objects(name)));
    world.publisher.create_drafts(names.iter().map(draft).collect()).await?;
    world.publisher.skip_past_events().await?;
    let (warm_up, measured) = names.split_at(WARM_UP);
    for name in warm_up {
        world.publisher.publish(name, 1).await?;
        tokio::time::sleep(PAUSE).await;
    }
    let idle = world.measure_idle(args).await;
    let (before, mut ours) = (world.cpu_usage(), Vec::new());
    for name in measured {
        ours.push(world.publisher.publish(name, 1).await?);
        tokio::time::sleep(PAUSE).await;
    }
    let mut row = ScenarioResult::measured(scenario, world, &before, measured.len());
    row.subtract_idle(&idle, PAUSE + ours.iter().sum::<Duration>() / u32::try_from(runs)?);
    row.ours = collect_durations(ours);
    row.baseline = Some(collect_durations(measure_baseline(world, scenario, runs).await?));
    row.target = "p50 ≤ 10, p95 ≤ 20";
    table.add(row);
    Ok(())
}

/// Both objects in parallel by a plain client.
async fn measure_baseline(
    world: &BenchEnvironment,
    scenario: &str,
    runs: usize,
) -> anyhow::Result<Vec<Duration>> {
    let client = world.planes[0].client();
    let mut all = Vec::new();
    for n in 0..WARM_UP + runs {
        let took = baseline::apply_objects(
            &client,
            &baseline::two_objects(&format!("{}-{n}", scenario.to_lowercase())),
        )
        .await?;
        if n >= WARM_UP {
            all.extend(took.last());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(all)
}
