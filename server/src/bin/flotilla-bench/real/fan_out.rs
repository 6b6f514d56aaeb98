//! B3: one publish of five objects to several clusters, until the stream has reported the last one as Applied.

use std::time::{Duration, Instant};

use futures::future::try_join_all;

use super::environment::BenchEnvironment;
use super::table::{ResultTable, ScenarioResult, collect_durations};
use super::{RealArgs, baseline};

const WARM_UP: usize = 3;
const PAUSE: Duration = Duration::from_millis(500);

pub async fn run(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &mut BenchEnvironment,
    clusters: usize,
) -> anyhow::Result<()> {
    let runs = args.runs(30);
    let chosen: Vec<String> = (0..clusters).map(|number| format!("c{number}")).collect();
    let names: Vec<String> = (0..WARM_UP + runs).map(|n| format!("b3-{clusters}-{n}")).collect();
    for name in &names {
        world
            .publisher
            .create_draft(name, baseline::to_manifests(&baseline::five_objects(name)), &chosen)
            .await?;
    }
    world.publisher.skip_past_events().await?;
    let (warm_up, measured) = names.split_at(WARM_UP);
    for name in warm_up {
        world.publisher.publish(name, clusters).await?;
    }
    let idle = world.measure_idle(args).await;
    let (before, mut ours) = (world.cpu_usage(), Vec::new());
    for name in measured {
        ours.push(world.publisher.publish(name, clusters).await?);
        tokio::time::sleep(PAUSE).await;
    }
    let mut row =
        ScenarioResult::measured(format!("B3 5 objects to {clusters}"), world, &before, runs * clusters);
    let each = (PAUSE + ours.iter().sum::<Duration>() / u32::try_from(runs)?) / u32::try_from(clusters)?;
    row.subtract_idle(&idle, each);
    row.ours = collect_durations(ours);
    row.baseline = Some(collect_durations(measure_baseline(world, clusters, runs).await?));
    row.target = "10 clusters: ≤ 250";
    table.add(row);
    Ok(())
}

/// All objects on all clusters in parallel by plain clients.
async fn measure_baseline(
    world: &BenchEnvironment,
    clusters: usize,
    runs: usize,
) -> anyhow::Result<Vec<Duration>> {
    let clients: Vec<kube::Client> =
        world.planes[..clusters].iter().map(testkit::ControlPlane::client).collect();
    let mut all = Vec::new();
    for n in 0..WARM_UP + runs {
        let objects = baseline::five_objects(&format!("b3-{clusters}-{n}"));
        let begun = Instant::now();
        try_join_all(clients.iter().map(|client| baseline::apply_objects(client, &objects))).await?;
        if n >= WARM_UP {
            all.push(begun.elapsed());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(all)
}
