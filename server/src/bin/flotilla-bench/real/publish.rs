//! B1, B1b: from the publish call until the stream has said Applied, one workload at a time.

use std::time::Duration;

use super::table::{Row, Table, figures};
use super::world::World;
use super::{Args, bare};

const WARM_UP: usize = 10;
/// Between two publishes.
const APART: Duration = Duration::from_millis(300);

pub async fn run(args: &Args, table: &mut Table, world: &mut World, scenario: &str) -> anyhow::Result<()> {
    let runs = args.runs(100);
    let names: Vec<String> =
        (0..WARM_UP + runs).map(|n| format!("{}-{n}", scenario.to_lowercase())).collect();
    let draft = |name: &String| (name.clone(), bare::yaml(&bare::pair(name)));
    world.person.drafts(names.iter().map(draft).collect()).await?;
    world.person.catch_up().await?;
    let (warm_up, measured) = names.split_at(WARM_UP);
    for name in warm_up {
        world.person.publish(name, 1).await?;
        tokio::time::sleep(APART).await;
    }
    let idle = world.idle(args).await;
    let (before, mut ours) = (world.usage(), Vec::new());
    for name in measured {
        ours.push(world.person.publish(name, 1).await?);
        tokio::time::sleep(APART).await;
    }
    let mut row = Row::of(scenario, world, &before, measured.len());
    row.without(&idle, APART + ours.iter().sum::<Duration>() / u32::try_from(runs)?);
    row.ours = figures(ours);
    row.limit = Some(figures(limit(world, scenario, runs).await?));
    row.target = "p50 ≤ 10, p95 ≤ 20";
    table.add(row);
    Ok(())
}

/// Both objects at once by a plain client.
async fn limit(world: &World, scenario: &str, runs: usize) -> anyhow::Result<Vec<Duration>> {
    let client = world.planes[0].client();
    let mut all = Vec::new();
    for n in 0..WARM_UP + runs {
        let took = bare::apply_all(&client, &bare::pair(&format!("{}-{n}", scenario.to_lowercase()))).await?;
        if n >= WARM_UP {
            all.extend(took.last());
        }
        tokio::time::sleep(APART).await;
    }
    Ok(all)
}
