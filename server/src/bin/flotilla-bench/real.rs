//! Benchmarks on real API servers: control planes, the server and one agent per cluster, each a process of its own.
//!
//! One client publishes over REST and follows the event stream; its clock is the only one. What belongs together runs
//! in the order in which the cluster fills up, so that nothing is measured on a cluster that is fuller than it should be.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::ValueEnum;

mod agent_memory;
mod away;
mod bare;
mod burst;
mod fan_out;
mod person;
mod publish;
mod repair;
mod restart;
mod spawn;
mod table;
mod world;

use table::Table;
use world::World;

/// The scenarios, by what they ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// From the publish call to Applied, one workload at a time
    #[value(name = "B1")]
    Publish,
    /// The same on a cluster that is full
    #[value(name = "B1b")]
    PublishFull,
    /// Hundreds of publishes at once
    #[value(name = "B2")]
    Burst,
    /// One publish to several clusters
    #[value(name = "B3")]
    FanOut,
    /// From a change of an applied object until it is back
    #[value(name = "B4")]
    Repair,
    /// The agent, then the server, killed and started again
    #[value(name = "B6")]
    Restart,
    /// Memory of the agent and the server
    #[value(name = "B7")]
    Memory,
    /// Publishes while the cluster's API server is down
    #[value(name = "B8")]
    Away,
}

/// What is measured, and how much of it.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Only these scenarios
    #[arg(long, value_enum, value_delimiter = ',', ignore_case = true)]
    only: Vec<Scenario>,
    /// Fewer runs and shorter pauses: shows that it works, measures badly
    #[arg(long)]
    quick: bool,
    /// Runs per scenario [default: 100; for repairs 50; quick: 10]
    #[arg(long)]
    runs: Option<usize>,
    /// Workloads that make a cluster full [default: 500; quick: 60]
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
    /// What server and agents log
    #[arg(long, default_value = "warn")]
    log: String,
    /// Keep the folder with the logs and the database
    #[arg(long)]
    keep: bool,
}

impl Args {
    fn wants(&self, scenario: Scenario) -> bool {
        self.only.is_empty() || self.only.contains(&scenario)
    }

    fn runs(&self, usual: usize) -> usize {
        self.runs.unwrap_or(if self.quick { 10 } else { usual })
    }

    fn full(&self) -> usize {
        self.full.unwrap_or(if self.quick { 60 } else { 500 })
    }

    fn away(&self) -> u64 {
        self.away.unwrap_or(if self.quick { 5 } else { 60 })
    }
}

/// Measures and prints.
pub async fn run(args: Args) -> anyhow::Result<()> {
    ensure!(testkit::available("the benchmark"), "no control planes: run it by `cargo xtask bench real`");
    let mut table = Table::default();
    let measured = tokio::select! {
        measured = Box::pin(measure(&args, &mut table)) => measured,
        // The control planes and children end with what holds them.
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    table.print();
    if let Some(file) = &args.json {
        std::fs::write(file, table.json()).with_context(|| format!("can't write {}", file.display()))?;
    }
    measured
}

async fn measure(args: &Args, table: &mut Table) -> anyhow::Result<()> {
    let alone = |scenario: &Scenario| *scenario != Scenario::FanOut;
    if Scenario::value_variants().iter().filter(|one| alone(one)).any(|one| args.wants(*one)) {
        let mut world = World::start(args, 1).await?;
        one_cluster(args, table, &mut world).await?;
        world.end().await;
    }
    if args.wants(Scenario::FanOut) {
        let most = args.clusters.iter().copied().max().unwrap_or(1);
        let mut world = World::start(args, most).await?;
        for clusters in &args.clusters {
            fan_out::run(args, table, &mut world, *clusters).await?;
        }
        world.end().await;
    }
    Ok(())
}

async fn one_cluster(args: &Args, table: &mut Table, world: &mut World) -> anyhow::Result<()> {
    if args.wants(Scenario::Memory) {
        agent_memory::run(table, world, "idle").await;
    }
    if args.wants(Scenario::Repair) {
        repair::few(args, table, world).await?;
    }
    if args.wants(Scenario::Publish) {
        publish::run(args, table, world, "B1").await?;
    }
    if args.wants(Scenario::Burst) {
        burst::run(args, table, world).await?;
    }
    let needs_full =
        [Scenario::Memory, Scenario::PublishFull, Scenario::Repair, Scenario::Restart, Scenario::Away];
    if needs_full.iter().any(|one| args.wants(*one)) {
        burst::fill(args, world).await?;
    }
    if args.wants(Scenario::Memory) {
        agent_memory::run(table, world, "full").await;
    }
    if args.wants(Scenario::PublishFull) {
        publish::run(args, table, world, "B1b").await?;
    }
    if args.wants(Scenario::Repair) {
        repair::full(args, table, world).await?;
    }
    if args.wants(Scenario::Restart) {
        restart::agent(args, table, world).await?;
        restart::server(args, table, world).await?;
    }
    if args.wants(Scenario::Away) {
        away::run(args, table, world).await?;
    }
    Ok(())
}
