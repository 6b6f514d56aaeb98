//! B2: hundreds of publishes at once, until the stream has said Applied of the last.

use std::time::Duration;

use serde_json::Value;

use super::table::{Row, Table, figures};
use super::world::World;
use super::{Args, bare};

/// Name of the workloads that fill the cluster.
pub fn name(number: usize) -> String {
    format!("full-{number}")
}

pub async fn run(args: &Args, table: &mut Table, world: &mut World) -> anyhow::Result<()> {
    let names = drafts(args, world).await?;
    world.filled = true;
    let before = world.usage();
    let told = world.person.publish_all(&names).await?;
    // What is still written after the last word belongs to it too.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut row = Row::of(format!("B2 {} × 2 objects", names.len()), world, &before, names.len());
    row.note = format!("all Applied after {:.2} s", told.last().map_or(0.0, Duration::as_secs_f64));
    row.ours = figures(told);
    let objects: Vec<Value> = names.iter().flat_map(|name| bare::pair(name)).collect();
    let took = bare::apply_all(&world.planes[0].client(), &objects).await?;
    row.note += &format!(", limit {:.2} s", took.last().map_or(0.0, Duration::as_secs_f64));
    row.limit = Some(figures(took));
    row.target = "max ≤ 2500, CPU ≤ 6";
    table.add(row);
    Ok(())
}

/// Fills the cluster without measuring, if it is not full yet.
pub async fn fill(args: &Args, world: &mut World) -> anyhow::Result<()> {
    if !world.filled {
        let names = drafts(args, world).await?;
        world.person.publish_all(&names).await?;
        world.filled = true;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    Ok(())
}

async fn drafts(args: &Args, world: &mut World) -> anyhow::Result<Vec<String>> {
    let names: Vec<String> = (0..args.full()).map(name).collect();
    let draft = |name: &String| (name.clone(), bare::yaml(&bare::pair(name)));
    world.person.drafts(names.iter().map(draft).collect()).await?;
    world.person.catch_up().await?;
    Ok(names)
}
