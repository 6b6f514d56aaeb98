//! Benchmarks of publishing and self-healing, with a baseline measured in the same run.
//!
//! Machines differ and are noisy, so every result has a baseline: a plain client applies the same objects to clusters of
//! the same kind. The ratio is the result to compare. `publish` and `drift` run on simulated
//! clusters in this process; `real` starts control planes, the server and agents as separate processes. Run with
//! `cargo xtask bench NAME`.

#![expect(clippy::print_stdout, reason = "the results are the output")]

mod chaos;
mod chart;
mod drift;
mod figures;
mod fleet;
mod guard;
mod plan;
mod publish;
mod races;
mod real;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Benchmarks of Flotilla")]
struct BenchArgs {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// From the publish call to Applied on the event stream; baseline: server-side apply
    Publish {
        /// Numbers of clusters
        #[arg(long, value_delimiter = ',', default_value = "1,100")]
        clusters: Vec<usize>,
        /// Publishes measured per number of clusters
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
    /// From a change of an applied object until it is reverted
    Drift {
        /// Changes of each kind
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
    /// From creating a plan until every dry-run result has arrived; baseline: plain dry runs
    Plan {
        /// Number of clusters
        #[arg(long, default_value_t = 100)]
        clusters: usize,
        /// Number of runs
        #[arg(long, default_value_t = 20)]
        runs: usize,
    },
    /// A plan of a chart with three distinct sets of values: runs of Helm and time; baseline: helm by itself
    Chart {
        /// The packed chart; it should read the value replicaCount
        #[arg(long, value_name = "FILE.tgz")]
        chart: PathBuf,
        /// The helm program
        #[arg(long, env = "FLOTILLA_HELM", value_name = "FILE")]
        helm: PathBuf,
        /// Numbers of clusters
        #[arg(long, value_delimiter = ',', default_value = "100,1000")]
        clusters: Vec<usize>,
    },
    /// Guard rails over many objects and clusters, as they run while typing and before publishing
    Guard {
        /// Number of objects
        #[arg(long, default_value_t = 50)]
        objects: usize,
        /// Number of clusters
        #[arg(long, default_value_t = 100)]
        clusters: usize,
        /// Number of runs
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
    /// A run under faults, whose history is checked for the invariants I1 to I7
    Chaos(chaos::ChaosArgs),
    /// Requests that come at once, against every rule of docs/consistency.md: on SQLite, and on PostgreSQL with one and two servers
    Races(races::RacesArgs),
    /// All scenarios on real API servers: publish, burst, fan-out, drift, restart, outage, memory
    Real(real::RealArgs),
}

fn main() -> anyhow::Result<ExitCode> {
    // Before any thread exists: the sandbox of a renderer needs a process with one.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == source::sandbox::COMMAND) {
        return Ok(source::sandbox::run(arguments, source::sandbox::SandboxLayers::ALL));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(BenchArgs::parse().benchmark))?;
    Ok(ExitCode::SUCCESS)
}

async fn run(benchmark: Benchmark) -> anyhow::Result<()> {
    match benchmark {
        Benchmark::Publish { clusters, runs } => {
            for count in clusters {
                publish::run(count, runs).await?;
            }
            Ok(())
        }
        Benchmark::Drift { runs } => drift::run(runs).await,
        Benchmark::Plan { clusters, runs } => Box::pin(plan::run(clusters, runs)).await,
        Benchmark::Chart { chart, helm, clusters } => {
            for count in clusters {
                Box::pin(chart::run(&chart, &helm, count)).await?;
            }
            Ok(())
        }
        Benchmark::Guard { objects, clusters, runs } => {
            guard::run(objects, clusters, runs);
            Ok(())
        }
        Benchmark::Chaos(args) => Box::pin(chaos::run(args)).await,
        Benchmark::Races(args) => Box::pin(races::run(args)).await,
        Benchmark::Real(args) => Box::pin(real::run(args)).await,
    }
}
