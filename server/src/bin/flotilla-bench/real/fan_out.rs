//! B3: one publish of five objects to several clusters, until the stream has said Applied of the last.

use std::time::{Duration, Instant};

use futures::future::try_join_all;

use super::table::{Row, Table, figures};
use super::world::World;
use super::{Args, bare};

const WARM_UP: usize = 3;
const APART: Duration = Duration::from_millis(500);

pub async fn run(args: &Args, table: &mut Table, world: &mut World, clusters: usize) -> anyhow::Result<()> {
    let runs = args.runs(30);
    let chosen: Vec<String> = (0..clusters).map(|number| format!("c{number}")).collect();
    let names: Vec<String> = (0..WARM_UP + runs).map(|n| format!("b3-{clusters}-{n}")).collect();
    for name in &names {
        world.person.draft(name, bare::yaml(&bare::five(name)), &chosen).await?;
    }
    world.person.catch_up().await?;
    let (warm_up, measured) = names.split_at(WARM_UP);
    for name in warm_up {
        world.person.publish(name, clusters).await?;
    }
    let idle = world.idle(args).await;
    let (before, mut ours) = (world.usage(), Vec::new());
    for name in measured {
        ours.push(world.person.publish(name, clusters).await?);
        tokio::time::sleep(APART).await;
    }
    let mut row = Row::of(format!("B3 5 objects to {clusters}"), world, &before, runs * clusters);
    let each = (APART + ours.iter().sum::<Duration>() / u32::try_from(runs)?) / u32::try_from(clusters)?;
    row.without(&idle, each);
    row.ours = figures(ours);
    row.limit = Some(figures(limit(world, clusters, runs).await?));
    row.target = "10 clusters: ≤ 250";
    table.add(row);
    Ok(())
}

/// All objects on all clusters at once by plain clients.
async fn limit(world: &World, clusters: usize, runs: usize) -> anyhow::Result<Vec<Duration>> {
    let clients: Vec<kube::Client> =
        world.planes[..clusters].iter().map(testkit::ControlPlane::client).collect();
    let mut all = Vec::new();
    for n in 0..WARM_UP + runs {
        let objects = bare::five(&format!("b3-{clusters}-{n}"));
        let begun = Instant::now();
        try_join_all(clients.iter().map(|client| bare::apply_all(client, &objects))).await?;
        if n >= WARM_UP {
            all.push(begun.elapsed());
        }
        tokio::time::sleep(APART).await;
    }
    Ok(all)
}
