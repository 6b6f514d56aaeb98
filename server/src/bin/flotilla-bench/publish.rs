//! B1 and B3: from the publish call until the event stream has reported Applied for every cluster; baseline: a plain
//! client that applies the same objects to clusters of the same kind.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use domain::ReleaseId;
use domain::event::{Event, EventDetail};
use domain::release::ReleaseState;
use futures::StreamExt;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};

use crate::figures::{Durations, cpu_millis};
use crate::fleet::{BenchFleet, cluster_client, manifests, simulated_cluster};

const WARM_UP: usize = 10;
/// Concurrent requests, as many as the engine has per cluster.
const CONCURRENCY: usize = 16;

pub async fn run(clusters: usize, runs: usize) -> anyhow::Result<()> {
    let fleet = BenchFleet::start(clusters, false).await?;
    for n in 0..WARM_UP + runs {
        fleet.create_draft(&format!("w{n}"), manifests(&format!("w{n}"))).await?;
    }
    let (mut ours, mut cpu) = (Durations::default(), 0.0);
    for n in 0..WARM_UP + runs {
        let (took, used) = measure_publish(&fleet, &format!("w{n}"), clusters).await?;
        if n >= WARM_UP {
            ours.add(took);
            cpu += used;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fleet.stop().await;
    let (bare, bare_cpu) = measure_baseline(clusters, runs).await?;
    let releases = (runs * clusters) as f64;
    println!("publish, {clusters} clusters, ServiceAccount + Deployment");
    println!("  {}", ours.summary_line("publish → Applied"));
    println!("  {}", bare.summary_line("bare server-side apply"));
    println!(
        "  ratio p50 {:.2}, p95 {:.2}",
        ours.percentile(50) / bare.percentile(50),
        ours.percentile(95) / bare.percentile(95)
    );
    println!(
        "  CPU per release {:.2} ms, bare {:.2} ms (simulated API server included in both)",
        cpu / releases,
        bare_cpu / releases
    );
    Ok(())
}

/// One publish; returns the time until all clusters have applied it, and the CPU milliseconds.
async fn measure_publish(fleet: &BenchFleet, name: &str, clusters: usize) -> anyhow::Result<(Duration, f64)> {
    let mut notices = fleet.hub.subscribe_events();
    let mut position = *notices.borrow_and_update();
    let (cpu, start) = (cpu_millis(), Instant::now());
    fleet.hub.publish_workload(&fleet.actor, name, "", hub::PublishOptions::default()).await?;
    let mut applied: HashSet<ReleaseId> = HashSet::new();
    while applied.len() < clusters {
        let events = fleet.hub.list_events_after(position, 500).await?;
        if events.is_empty() {
            notices.changed().await?;
            continue;
        }
        position = events.last().map_or(position, |event| event.seq);
        applied.extend(
            events.iter().filter(|event| is_applied_event(event, name)).filter_map(|event| event.release),
        );
    }
    Ok((start.elapsed(), cpu_millis() - cpu))
}

/// The first state after Applied is Progressing; a fast cluster may skip it.
fn is_applied_event(event: &Event, name: &str) -> bool {
    let applied = [ReleaseState::Progressing, ReleaseState::Healthy, ReleaseState::Degraded];
    event.workload_name == name
        && matches!(&event.detail, Some(EventDetail::ReleaseState { to, .. }) if applied.contains(to))
}

/// The baseline: the same two objects by a plain client, in parallel on every cluster.
async fn measure_baseline(count: usize, runs: usize) -> anyhow::Result<(Durations, f64)> {
    let clusters: Vec<_> = (0..count).map(|n| simulated_cluster(&format!("bare{n}"), false)).collect();
    let clients: Vec<_> = clusters.iter().map(cluster_client).collect();
    for cluster in &clusters {
        let namespace =
            serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench"}});
        cluster.create(namespace, "bench")?;
    }
    let (mut figures, mut cpu) = (Durations::default(), 0.0);
    for n in 0..WARM_UP + runs {
        let name = format!("w{n}");
        let (used, start) = (cpu_millis(), Instant::now());
        let applies = clients.iter().map(|client| apply_both(client, &name));
        let mut applies = futures::stream::iter(applies).buffer_unordered(CONCURRENCY);
        while let Some(done) = applies.next().await {
            done?;
        }
        if n >= WARM_UP {
            figures.add(start.elapsed());
            cpu += cpu_millis() - used;
        }
    }
    Ok((figures, cpu))
}

async fn apply_both(client: &kube::Client, name: &str) -> anyhow::Result<()> {
    let objects = manifests(name);
    let mut objects = objects.split("---\n");
    let account =
        apply_object(client, GroupVersionKind::gvk("", "v1", "ServiceAccount"), objects.next(), name);
    let deployment =
        apply_object(client, GroupVersionKind::gvk("apps", "v1", "Deployment"), objects.next(), name);
    futures::try_join!(account, deployment)?;
    Ok(())
}

async fn apply_object(
    client: &kube::Client,
    kind: GroupVersionKind,
    yaml: Option<&str>,
    name: &str,
) -> anyhow::Result<()> {
    let files =
        [domain::workload::SourceFile { name: "app.yaml".into(), text: yaml.unwrap_or_default().into() }];
    let parsed = domain::manifest::parse(&files);
    let object = parsed.objects().into_iter().next();
    let api: kube::Api<DynamicObject> =
        kube::Api::namespaced_with(client.clone(), "bench", &ApiResource::from_gvk(&kind));
    api.patch(name, &PatchParams::apply("bench"), &Patch::Apply(&object)).await?;
    Ok(())
}
