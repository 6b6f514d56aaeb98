//! E-2: from creating a plan until every dry-run result has arrived; baseline: the same dry runs by a plain client.

use std::time::{Duration, Instant};

use domain::workload::{Source, SourceFile};
use futures::StreamExt;
use hub::{PublishOptions, WorkloadEdit};
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};

use crate::figures::{Durations, cpu_millis};
use crate::fleet::{BenchFleet, cluster_client, manifests};

/// Name of the workload.
const NAME: &str = "planned";
/// Concurrent requests, as many as the engine has per cluster.
const CONCURRENCY: usize = 16;
/// Longer than any plan takes.
const PLAN_TIMEOUT: Duration = Duration::from_secs(60);

pub async fn run(clusters: usize, runs: usize) -> anyhow::Result<()> {
    let fleet = BenchFleet::start(clusters, false).await?;
    fleet.create_draft(NAME, manifests(NAME)).await?;
    fleet.hub.publish_workload(&fleet.actor, NAME, "", PublishOptions::default()).await?;
    wait_until_applied(&fleet).await;
    edit_draft(&fleet).await?;
    let (mut ours, mut hub_only, mut cpu) = (Durations::default(), Durations::default(), 0.0);
    for n in 0..=runs {
        let (used, start) = (cpu_millis(), Instant::now());
        let plan = fleet.hub.create_plan(&fleet.actor, NAME, &PublishOptions::default()).await?;
        let created = start.elapsed();
        let plan = fleet.hub.wait_for_plan(plan.id, PLAN_TIMEOUT).await?;
        anyhow::ensure!(plan.dry_run_counts().0 == clusters, "{:?} answered", plan.dry_run_counts());
        anyhow::ensure!(plan.groups().len() == 1, "{:#?}", plan.groups());
        // The first run is a warm-up.
        if n > 0 {
            ours.add(start.elapsed());
            hub_only.add(created);
            cpu += cpu_millis() - used;
        }
    }
    let (bare, bare_cpu) = measure_baseline(&fleet, runs).await?;
    fleet.stop().await;
    let share = 100.0 * (cpu - bare_cpu).max(0.0) / cpu;
    println!("plan of a change, {clusters} clusters, ServiceAccount + Deployment");
    println!("  {}", ours.summary_line("plan → all answered"));
    println!("  {}", hub_only.summary_line("of that: decide, render, ask"));
    println!("  {}", bare.summary_line("bare get + dry run"));
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

async fn wait_until_applied(fleet: &BenchFleet) {
    let there =
        |cluster: &kubesim::SimCluster| cluster.get(("apps/v1", "Deployment"), ("bench", NAME)).is_some();
    while !fleet.clusters.iter().all(there) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Changes the image and the number of replicas.
async fn edit_draft(fleet: &BenchFleet) -> anyhow::Result<()> {
    let text = manifests(NAME).replace("web:1.0", "web:2.0").replace("replicas: 1", "replicas: 2");
    let mut spec = fleet.hub.get_workload(NAME).await?.workload.draft;
    spec.source = Source::Yaml { files: vec![SourceFile { name: "app.yaml".into(), text }] };
    let edit = WorkloadEdit { spec: Some(spec), ..WorkloadEdit::default() };
    fleet.hub.edit_workload(&fleet.actor, NAME, edit, None).await?;
    Ok(())
}

/// The baseline: the agents' API requests by a plain client.
async fn measure_baseline(fleet: &BenchFleet, runs: usize) -> anyhow::Result<(Durations, f64)> {
    let clients: Vec<_> = fleet.clusters.iter().map(cluster_client).collect();
    let (mut figures, mut cpu) = (Durations::default(), 0.0);
    for n in 0..=runs {
        let (used, start) = (cpu_millis(), Instant::now());
        let mut all =
            futures::stream::iter(clients.iter().map(get_and_dry_run)).buffer_unordered(CONCURRENCY);
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

async fn get_and_dry_run(client: &kube::Client) -> anyhow::Result<()> {
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
