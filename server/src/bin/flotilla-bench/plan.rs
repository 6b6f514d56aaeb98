//! E-2: from asking for a plan until every cluster has answered, beside the same dry runs by a plain client.

use std::time::{Duration, Instant};

use domain::workload::{Source, SourceFile};
use futures::StreamExt;
use hub::{Terms, WorkloadEdit};
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};

use crate::figures::{Figures, cpu_millis};
use crate::fleet::{Fleet, client, manifests};

/// The workload.
const NAME: &str = "planned";
/// Requests under way at once, as many as the engine has per cluster.
const CONCURRENCY: usize = 16;
/// Longer than any plan takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub async fn run(clusters: usize, runs: usize) -> anyhow::Result<()> {
    let fleet = Fleet::start(clusters, false).await?;
    fleet.draft(NAME, manifests(NAME)).await?;
    fleet.hub.workload_publish(&fleet.actor, NAME, "", Terms::default()).await?;
    until_there(&fleet).await;
    edit(&fleet).await?;
    let (mut ours, mut hub_only, mut cpu) = (Figures::default(), Figures::default(), 0.0);
    for n in 0..=runs {
        let (used, start) = (cpu_millis(), Instant::now());
        let made = fleet.hub.plan_make(&fleet.actor, NAME).await?;
        let asked = start.elapsed();
        let plan = fleet.hub.plan_wait(made.id, PATIENCE).await?;
        anyhow::ensure!(plan.heard().0 == clusters, "{:?} answered", plan.heard());
        anyhow::ensure!(plan.groups().len() == 1, "{:#?}", plan.groups());
        // The first one warms up.
        if n > 0 {
            ours.add(start.elapsed());
            hub_only.add(asked);
            cpu += cpu_millis() - used;
        }
    }
    let (bare, bare_cpu) = bare(&fleet, runs).await?;
    fleet.end().await;
    let share = 100.0 * (cpu - bare_cpu).max(0.0) / cpu;
    println!("plan of a change, {clusters} clusters, ServiceAccount + Deployment");
    println!("  {}", ours.line("plan → all answered"));
    println!("  {}", hub_only.line("of that: decide, render, ask"));
    println!("  {}", bare.line("bare get + dry run"));
    println!(
        "  ratio p50 {:.2}, p95 {:.2}",
        ours.percentile(50) / bare.percentile(50),
        ours.percentile(95) / bare.percentile(95)
    );
    println!(
        "  CPU per cluster {:.2} ms, bare {:.2} ms: {share:.0} % is our own (simulated API server included in both)",
        cpu / (runs * clusters) as f64,
        bare_cpu / (runs * clusters) as f64
    );
    Ok(())
}

async fn until_there(fleet: &Fleet) {
    let there =
        |cluster: &kubesim::Cluster| cluster.get(("apps/v1", "Deployment"), ("bench", NAME)).is_some();
    while !fleet.clusters.iter().all(there) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Another image and another number of replicas.
async fn edit(fleet: &Fleet) -> anyhow::Result<()> {
    let text = manifests(NAME).replace("web:1.0", "web:2.0").replace("replicas: 1", "replicas: 2");
    let mut spec = fleet.hub.workload_view(NAME).await?.workload.draft;
    spec.source = Source::Yaml { files: vec![SourceFile { name: "app.yaml".into(), text }] };
    let edit = WorkloadEdit { spec: Some(spec), labels: None };
    fleet.hub.workload_edit(&fleet.actor, NAME, edit, None).await?;
    Ok(())
}

/// The limit: what the agents ask of their API servers, by a plain client.
async fn bare(fleet: &Fleet, runs: usize) -> anyhow::Result<(Figures, f64)> {
    let clients: Vec<_> = fleet.clusters.iter().map(client).collect();
    let (mut figures, mut cpu) = (Figures::default(), 0.0);
    for n in 0..=runs {
        let (used, start) = (cpu_millis(), Instant::now());
        let mut all = futures::stream::iter(clients.iter().map(both)).buffer_unordered(CONCURRENCY);
        while let Some(done) = all.next().await {
            done?;
        }
        if n > 0 {
            figures.add(start.elapsed());
            cpu += cpu_millis() - used;
        }
    }
    Ok((figures, cpu))
}

async fn both(client: &kube::Client) -> anyhow::Result<()> {
    let files = [SourceFile { name: "app.yaml".into(), text: manifests(NAME) }];
    for object in domain::manifest::parse(&files).objects() {
        let (group, version) =
            object["apiVersion"].as_str().unwrap_or_default().split_once('/').unwrap_or(("", "v1"));
        let kind = GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap_or_default());
        let api: kube::Api<DynamicObject> =
            kube::Api::namespaced_with(client.clone(), "bench", &ApiResource::from_gvk(&kind));
        api.get(NAME).await?;
        let trial = PatchParams { dry_run: true, ..PatchParams::apply("bench").force() };
        api.patch(NAME, &trial, &Patch::Apply(&object)).await?;
    }
    Ok(())
}
