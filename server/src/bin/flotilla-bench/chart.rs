//! A chart on many clusters with three distinct sets of values: runs of Helm, and time of a plan; then with one override changed.
//! Baseline: `helm template` by itself, as often as the plan needs it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;
use domain::OverrideId;
use domain::chart::ChartSource;
use domain::overrides::{ClusterSelector, DEFAULT_PRIORITY, Override};
use domain::placement::{Placement, Predicate};
use domain::server_status::SandboxMode;
use domain::workload::{NewWorkload, Source, WorkloadSpec};
use hub::{PublishOptions, WorkloadEdit};
use source::helm::Helm;
use source::sandbox::{self, Sandbox};
use source::scratch::ScratchFolder;

use crate::fleet::BenchFleet;

/// Name of the workload.
const NAME: &str = "charted";
/// Distinct sets of values.
const SETS: usize = 3;

pub async fn run(chart: &Path, helm: &Path, clusters: usize) -> anyhow::Result<()> {
    let archive = std::fs::read(chart).with_context(|| format!("can't read {}", chart.display()))?;
    let fleet = BenchFleet::start(clusters, false).await?;
    let command = vec![std::env::current_exe()?.into(), sandbox::COMMAND.into()];
    let scratch = ScratchFolder::open(&ScratchFolder::default_parent())?;
    let sandbox = Sandbox::measure(command, SandboxMode::Strict, scratch).await;
    fleet.hub.set_helm(Helm::find(Some(helm), sandbox).await?);
    let uploaded = fleet.hub.upload_chart(&fleet.actor, archive).await?;
    let reference = uploaded.reference();
    let source =
        Source::Chart(ChartSource { chart: reference, version: uploaded.version, ..ChartSource::default() });
    let placement = Placement { predicates: vec![Predicate::default()], ..Placement::default() };
    let overrides = (1..SETS).map(|set| override_for(set, clusters, set + 1)).collect();
    let spec =
        WorkloadSpec { namespace: "bench".into(), source, placement, overrides, ..WorkloadSpec::default() };
    let new = NewWorkload { name: NAME.into(), spec: spec.clone(), ..NewWorkload::default() };
    fleet.hub.create_workload(&fleet.actor, new).await?;
    println!("plan of a chart, {clusters} clusters, {SETS} distinct sets of values");
    let first = measure_plan(&fleet, "first plan").await?;
    measure_plan(&fleet, "same plan again").await?;
    let mut changed = spec;
    changed.overrides[0] = override_for(1, clusters, 9);
    let edit = WorkloadEdit { spec: Some(changed), ..WorkloadEdit::default() };
    fleet.hub.edit_workload(&fleet.actor, NAME, edit, None).await?;
    measure_plan(&fleet, "one override changed").await?;
    let bare = measure_helm(helm, chart)?;
    println!("  {SETS} × helm template by itself: {bare:.0} ms; ratio of the first plan {:.2}", first / bare);
    fleet.stop().await;
    Ok(())
}

/// Other values for the clusters of this third of the fleet.
fn override_for(set: usize, clusters: usize, replicas: usize) -> Override {
    let names = (0..clusters).filter(|n| n % SETS == set).map(|n| format!("c{n}")).collect();
    Override {
        id: OverrideId::from_parts(1, set as u128),
        name: format!("set-{set}"),
        target: ClusterSelector { clusters: names, ..ClusterSelector::default() },
        priority: DEFAULT_PRIORITY,
        values: format!("replicaCount: {replicas}\n"),
        patches: Vec::new(),
    }
}

/// Milliseconds of one plan, without the dry runs on the clusters.
async fn measure_plan(fleet: &BenchFleet, what: &str) -> anyhow::Result<f64> {
    let (before, start) = (fleet.hub.count_renderings(), Instant::now());
    let plan = fleet.hub.create_plan(&fleet.actor, NAME, &PublishOptions::default()).await?;
    let millis = start.elapsed().as_secs_f64() * 1_000.0;
    let runs = fleet.hub.count_renderings() - before;
    anyhow::ensure!(!plan.findings.iter().any(domain::Finding::is_blocking), "{:?}", plan.findings);
    println!("  {what}: {runs} runs of helm, {millis:.0} ms until the dry runs are requested");
    Ok(millis)
}

/// Milliseconds of as many runs of Helm as there are sets, one after the other.
fn measure_helm(helm: &Path, chart: &Path) -> anyhow::Result<f64> {
    let start = Instant::now();
    for _ in 0..SETS {
        let status = Command::new(helm).args(["template", NAME]).arg(chart).stdout(Stdio::null()).status()?;
        anyhow::ensure!(status.success(), "helm template failed");
    }
    Ok(start.elapsed().as_secs_f64() * 1_000.0)
}
