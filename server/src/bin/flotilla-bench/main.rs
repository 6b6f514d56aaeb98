//! Benchmarks of publishing and self-healing, with a baseline measured in the same run.
//!
//! Machines differ and are noisy, so every result has a baseline: a plain client applies the same objects to clusters of
//! the same kind. The ratio is the result to compare. `publish` and `drift` run on simulated
//! clusters in this process; `real` starts control planes, the server and agents as separate processes. Run with
//! `cargo xtask bench USER_NAME`.

#![expect(clippy::print_stdout, reason = "the results are the output")]

mod chaos;
mod drift;
mod figures;
mod fleet;
mod guard;
mod plan;
mod publish;
mod real;

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
    /// All scenarios on real API servers: publish, burst, fan-out, drift, restart, outage, memory
    Real(real::RealArgs),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match BenchArgs::parse().benchmark {
        Benchmark::Publish { clusters, runs } => {
            for count in clusters {
                publish::run(count, runs).await?;
            }
            Ok(())
        }
        Benchmark::Drift { runs } => drift::run(runs).await,
        Benchmark::Plan { clusters, runs } => plan::run(clusters, runs).await,
        Benchmark::Guard { objects, clusters, runs } => {
            guard::run(objects, clusters, runs);
            Ok(())
        }
        Benchmark::Chaos(args) => Box::pin(chaos::run(args)).await,
        Benchmark::Real(args) => Box::pin(real::run(args)).await,
    }
}
