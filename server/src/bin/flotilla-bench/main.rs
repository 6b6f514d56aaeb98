//! Benchmarks: how long publishing and healing take, beside the bare limit measured in the same run.
//!
//! Machines differ and are noisy, so every figure of ours stands beside what the same objects cost when a plain client
//! applies them to clusters of the same kind, and the ratio is what counts. `publish` and `drift` run on simulated
//! clusters in this process; `real` starts control planes, the server and agents as processes of their own. Run by
//! `cargo xtask bench NAME`.

#![expect(clippy::print_stdout, reason = "the figures are the output")]

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
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// From the publish call to Applied on the event stream, beside bare server-side apply
    Publish {
        /// Numbers of clusters
        #[arg(long, value_delimiter = ',', default_value = "1,100")]
        clusters: Vec<usize>,
        /// Publishes measured per number of clusters
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
    /// From a change of an applied object to the moment it is back
    Drift {
        /// Changes of each sort
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
    /// From asking for a plan until every cluster has answered, beside bare dry runs
    Plan {
        /// Number of clusters
        #[arg(long, default_value_t = 100)]
        clusters: usize,
        /// How often
        #[arg(long, default_value_t = 20)]
        runs: usize,
    },
    /// Guard rails over many objects and clusters: what a person waits for while typing and before publishing
    Guard {
        /// Number of objects
        #[arg(long, default_value_t = 50)]
        objects: usize,
        /// Number of clusters
        #[arg(long, default_value_t = 100)]
        clusters: usize,
        /// How often
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
    /// Everything that can be measured on real API servers: publish, burst, fan-out, drift, restart, outage, memory
    Real(real::Args),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Args::parse().what {
        What::Publish { clusters, runs } => {
            for count in clusters {
                publish::run(count, runs).await?;
            }
            Ok(())
        }
        What::Drift { runs } => drift::run(runs).await,
        What::Plan { clusters, runs } => plan::run(clusters, runs).await,
        What::Guard { objects, clusters, runs } => {
            guard::run(objects, clusters, runs);
            Ok(())
        }
        What::Real(args) => Box::pin(real::run(args)).await,
    }
}
