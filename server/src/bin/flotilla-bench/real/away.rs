//! B8: workloads are changed while the cluster's API server is down; how long after it is back they are applied.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::Value;

use super::table::{Row, Table, figures};
use super::world::{OURS, World};
use super::{Args, bare, burst};

/// Changes made meanwhile.
const CHANGES: usize = 100;
/// The version they change to.
const NEW: &str = "2.0";

pub async fn run(args: &Args, table: &mut Table, world: &mut World) -> anyhow::Result<()> {
    let names: Vec<String> = (0..CHANGES.min(args.full())).map(burst::name).collect();
    let changed = |name: &str| vec![bare::pair(name)[0].clone(), bare::deployment(name, NEW)];
    for name in &names {
        world.person.edit(name, bare::yaml(&changed(name))).await?;
    }
    world.person.catch_up().await?;
    world.planes[0].stop();
    let down = Instant::now();
    world.person.start_publishing(names.clone()).await??;
    tokio::time::sleep(Duration::from_secs(args.away()).saturating_sub(down.elapsed())).await;
    world.planes[0].restart().await;
    let (back, before) = (Instant::now(), world.usage());
    let told = world
        .person
        .until_applied(names.iter().map(|name| (name.clone(), 1)).collect::<HashMap<_, _>>(), back);
    let told = told.await?;
    let api: Api<Deployment> = Api::namespaced(world.planes[0].client(), OURS);
    for name in &names {
        let image = api.get(name).await?.spec.and_then(|spec| spec.template.spec?.containers.pop()?.image);
        ensure!(image.is_some_and(|image| image.ends_with(NEW)), "{name} was told and is not changed");
    }
    let mut row =
        Row::of(format!("B8 {} s down, {} changes", args.away(), names.len()), world, &before, names.len());
    row.ours = figures(told);
    let objects: Vec<Value> = names.iter().flat_map(|name| changed(name)).collect();
    row.limit = Some(figures(bare::apply_all(&world.planes[0].client(), &objects).await?));
    row.target = "max ≤ 2000";
    table.add(row);
    Ok(())
}
