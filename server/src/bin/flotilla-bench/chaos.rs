//! A run under faults whose history is checked for the invariants I1 to I7 (`testkit::history`).
//!
//! Servers are child processes: one on SQLite, or two on one PostgreSQL database. Agents run in this process, each on a runtime
//! of its own, so that dropping the runtime ends it as `kill -9` would; their clusters are simulated, their certificates are
//! real. Clients publish revisions, overrides, rollouts and rollbacks, and unpublish, through a balancer; faults happen at random. Then all faults end,
//! the run waits for convergence, reads everything, and checks the history. With violations it is saved, and the run fails. Two more clients
//! send requests at once of which a rule over several rows allows one; such a rule that does not hold is a violation too.

mod agents;
mod balancer;
mod database;
mod environment;
mod faults;
mod final_reads;
mod publisher;
mod rivals;
mod servers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use testkit::history::{self, Action, HistoryRecorder, Outcome};
use tokio_util::sync::CancellationToken;

pub use database::ChaosDatabase;
use environment::ChaosEnvironment;
pub use environment::KEY;

/// Arguments of `flotilla-bench chaos`.
#[derive(Debug, Clone, clap::Args)]
pub struct ChaosArgs {
    /// Seconds during which faults happen
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Seconds between the kills of a server
    #[arg(long, default_value_t = 10)]
    kill_every: u64,
    /// Seed of the random decisions [default: a random one, which is printed]
    #[arg(long)]
    seed: Option<u64>,
    /// PostgreSQL server, such as postgres://user@127.0.0.1:5432/postgres: two servers run on a new database there. Without
    /// it one server runs on SQLite
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Publishes that must have been accepted before the run ends
    #[arg(long, default_value_t = 0)]
    min_accepted: usize,
    /// Number of clusters
    #[arg(long, default_value_t = 3)]
    clusters: usize,
    /// Number of workloads
    #[arg(long, default_value_t = 6)]
    workloads: usize,
    /// Seconds within which everything must converge after the faults
    #[arg(long, default_value_t = 300)]
    converge_within: u64,
    /// Folder for the history of a run with violations
    #[arg(long, default_value = "target/chaos")]
    output: PathBuf,
    /// Log filter of the servers
    #[arg(long, default_value = "error")]
    log: String,
}

/// Runs, and fails if an invariant is violated.
pub async fn run(args: ChaosArgs) -> anyhow::Result<()> {
    let seed = args.seed.unwrap_or_else(rand::random);
    println!("seed {seed}");
    let recorder = Arc::new(HistoryRecorder::new(seed));
    let mut world = ChaosEnvironment::start(&args, recorder.clone()).await?;
    let stop = CancellationToken::new();
    let publishers: Vec<_> = (0..args.workloads)
        .map(|number| tokio::spawn(publisher::run(world.publisher(number, seed), stop.clone())))
        .collect();
    let rivals = tokio::spawn(rivals::run(world.client.clone(), StdRng::seed_from_u64(!seed), stop.clone()));
    let mut random = StdRng::seed_from_u64(seed);
    let faults = faults::inject(&mut world, &args, &mut random).await;
    wait_for_publishes(&recorder, args.min_accepted).await;
    stop.cancel();
    for publisher in publishers {
        publisher.await?;
    }
    let rivals = rivals.await?;
    faults?;
    let settled = final_reads::wait_for_convergence(&world, Duration::from_secs(args.converge_within)).await;
    final_reads::record(&world).await?;
    world.stop().await;
    let history = recorder.finish(world.database.read_log().await?);
    world.database.drop_database().await?;
    print_summary(&history);
    println!("{}", rivals.summary());
    let in_history = history::check(&history);
    let violations: Vec<String> =
        in_history.iter().map(ToString::to_string).chain(rivals.violations).collect();
    if violations.is_empty() {
        println!(
            "I1 to I7 and the rules of rival requests hold; converged {:.1} s after the last fault",
            settled.as_secs_f64()
        );
        return Ok(());
    }
    let file = args.output.join(format!("history-{seed}.json"));
    history.save(&file).with_context(|| format!("can't write {}", file.display()))?;
    for violation in &violations {
        println!("{violation}");
    }
    bail!("{} violations with seed {seed}; the history is in {}", violations.len(), file.display())
}

/// Lets a slow machine go on after the faults until this many publishes are accepted. Gives up in the end: the summary then
/// shows how many there are.
async fn wait_for_publishes(recorder: &HistoryRecorder, least: usize) {
    let begun = tokio::time::Instant::now();
    let is_accepted =
        |action: &Action| matches!(action, Action::Completed { outcome: Outcome::Accepted { .. }, .. });
    while recorder.count(is_accepted) < least && begun.elapsed() < testkit::patience() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn print_summary(history: &history::History) {
    let count = |matches: &dyn Fn(&Action) -> bool| {
        history.entries.iter().filter(|entry| matches(&entry.action)).count()
    };
    let outcome = |matches: &dyn Fn(&Outcome) -> bool| {
        count(&|action| matches!(action, Action::Completed { outcome, .. } if matches(outcome)))
    };
    println!(
        "{} publishes accepted, {} requests rejected, {} with unknown outcome; {} unpublished; {} reads; {} faults; {} changes on clusters; {} reports; \
         {} rows of the database",
        outcome(&|outcome| matches!(outcome, Outcome::Accepted { .. })),
        outcome(&|outcome| matches!(outcome, Outcome::Rejected { .. })),
        outcome(&|outcome| matches!(outcome, Outcome::Unknown { .. })),
        outcome(&|outcome| matches!(outcome, Outcome::Unpublished)),
        outcome(&|outcome| matches!(outcome, Outcome::Revisions(_) | Outcome::Releases(_))),
        count(&|action| matches!(action, Action::FaultBegan { .. })),
        count(&|action| matches!(action, Action::Cluster { .. })),
        count(&|action| matches!(action, Action::ReportSent(_))),
        history.database.len(),
    );
}
