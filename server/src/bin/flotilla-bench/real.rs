//! Benchmarks on real API servers: control planes, the server and one agent per cluster, each a separate process.
//!
//! One client publishes over REST and follows the event stream; all times are by its clock. Scenarios run in the order
//! in which the cluster fills up, so that none is measured on a fuller cluster than intended.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::ValueEnum;

mod agent_memory;
mod away;
mod baseline;
mod burst;
mod environment;
mod fan_out;
mod publish;
mod publisher;
mod repair;
mod restart;
mod spawn;
mod table;

use environment::BenchEnvironment;
use table::ResultTable;

/// The scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// From the publish call to Applied, one workload at a time
    #[value(name = "B1")]
    Publish,
    /// The same on a full cluster
    #[value(name = "B1b")]
    PublishFull,
    /// Hundreds of concurrent publishes
    #[value(name = "B2")]
    Burst,
    /// One publish to several clusters
    #[value(name = "B3")]
    FanOut,
    /// From a change of an applied object until it is reverted
    #[value(name = "B4")]
    Repair,
    /// Kill and restart of the agent, then of the server
    #[value(name = "B6")]
    Restart,
    /// Memory of the agent and the server
    #[value(name = "B7")]
    Memory,
    /// Publishes while the cluster's API server is down
    #[value(name = "B8")]
    Outage,
}

/// Arguments of `flotilla-bench real`.
#[derive(Debug, Clone, clap::Args)]
pub struct RealArgs {
    /// Only these scenarios
    #[arg(long, value_enum, value_delimiter = ',', ignore_case = true)]
    only: Vec<Scenario>,
    /// Fewer runs and shorter pauses: a smoke test, not a measurement
    #[arg(long)]
    quick: bool,
    /// Runs per scenario [default: 100; for repairs 50; quick: 10]
    #[arg(long)]
    runs: Option<usize>,
    /// Workloads on a full cluster [default: 500; quick: 60]
    #[arg(long)]
    full: Option<usize>,
    /// Numbers of clusters of the fan-out
    #[arg(long, value_delimiter = ',', default_value = "5,10")]
    clusters: Vec<usize>,
    /// Seconds that the API server is down [default: 60; quick: 5]
    #[arg(long)]
    away: Option<u64>,
    /// Also write the table to this file, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Log filter of server and agents
    #[arg(long, default_value = "warn")]
    log: String,
    /// Keep the folder with the logs and the database
    #[arg(long)]
    keep: bool,
}

impl RealArgs {
    fn includes(&self, scenario: Scenario) -> bool {
        self.only.is_empty() || self.only.contains(&scenario)
    }

    fn runs(&self, usual: usize) -> usize {
        self.runs.unwrap_or(if self.quick { 10 } else { usual })
    }

    fn full(&self) -> usize {
        self.full.unwrap_or(if self.quick { 60 } else { 500 })
    }

    fn outage_duration(&self) -> u64 {
        self.away.unwrap_or(if self.quick { 5 } else { 60 })
    }
}

/// Runs the scenarios and prints the results.
pub async fn run(args: RealArgs) -> anyhow::Result<()> {
    ensure!(testkit::is_available("the benchmark"), "no control planes: run `cargo xtask bench real`");
    let mut table = ResultTable::default();
    let measured = tokio::select! {
        measured = Box::pin(measure(&args, &mut table)) => measured,
        // Control planes and child processes are killed on drop.
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    table.print();
    if let Some(file) = &args.json {
        std::fs::write(file, table.json()).with_context(|| format!("can't write {}", file.display()))?;
    }
    measured
}

async fn measure(args: &RealArgs, table: &mut ResultTable) -> anyhow::Result<()> {
    let alone = |scenario: &Scenario| *scenario != Scenario::FanOut;
    if Scenario::value_variants().iter().filter(|one| alone(one)).any(|one| args.includes(*one)) {
        let mut world = BenchEnvironment::start(args, 1).await?;
        measure_one_cluster(args, table, &mut world).await?;
        world.stop().await;
    }
    if args.includes(Scenario::FanOut) {
        let most = args.clusters.iter().copied().max().unwrap_or(1);
        let mut world = BenchEnvironment::start(args, most).await?;
        for clusters in &args.clusters {
            fan_out::run(args, table, &mut world, *clusters).await?;
        }
        world.stop().await;
    }
    Ok(())
}

async fn measure_one_cluster(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &mut BenchEnvironment,
) -> anyhow::Result<()> {
    if args.includes(Scenario::Memory) {
        agent_memory::run(table, world, "idle").await;
    }
    if args.includes(Scenario::Repair) {
        repair::measure_few(args, table, world).await?;
    }
    if args.includes(Scenario::Publish) {
        publish::run(args, table, world, "B1").await?;
    }
    if args.includes(Scenario::Burst) {
        burst::run(args, table, world).await?;
    }
    let needs_full =
        [Scenario::Memory, Scenario::PublishFull, Scenario::Repair, Scenario::Restart, Scenario::Outage];
    if needs_full.iter().any(|one| args.includes(*one)) {
        burst::fill_cluster(args, world).await?;
    }
    if args.includes(Scenario::Memory) {
        agent_memory::run(table, world, "full").await;
    }
    if args.includes(Scenario::PublishFull) {
        publish::run(args, table, world, "B1b").await?;
    }
    if args.includes(Scenario::Repair) {
        repair::measure_full(args, table, world).await?;
    }
    if args.includes(Scenario::Restart) {
        restart::measure_agent_restart(args, table, world).await?;
        restart::measure_server_restart(args, table, world).await?;
    }
    if args.includes(Scenario::Outage) {
        away::run(args, table, world).await?;
    }
    Ok(())
}
