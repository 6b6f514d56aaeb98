//! Requests that come at once, against every rule over several rows (`docs/consistency.md`).
//!
//! Each scenario sends two requests of which a rule allows one, or which must not both have their effect, and then checks the rule through
//! the API of the server. The scenarios of a round run in random order and several at a time, beside all loops of the servers and beside
//! writers that change clusters, groups and releases. The run fails if a rule is violated, a transaction is cancelled because of a
//! deadlock, or a request would be answered with a status of 500 or above. A seed repeats the order and the delays, not the timing.

mod agent;
mod background;
mod race;
mod scenarios;
mod servers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::StreamExt as _;
use hub::{Actor, Authority, Clock};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};

use background::Background;
use race::{Outcomes, Race};
use scenarios::RaceScenario;
use servers::{RaceServers, Topology};

/// Scenarios that run at a time.
const CONCURRENT_SCENARIOS: usize = 4;
/// The largest delay of a second request, in milliseconds. Most transactions are shorter.
const MAX_DELAY_MILLIS: u64 = 40;

/// Arguments of `flotilla-bench races`.
#[derive(Debug, Clone, clap::Args)]
pub struct RacesArgs {
    /// How often every scenario runs with each database
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// Seed of the order and of the delays [default: a random one, which is printed]
    #[arg(long)]
    seed: Option<u64>,
    /// PostgreSQL server, such as postgres://user@127.0.0.1:5432/postgres: the races also run there, with one and with two
    /// servers. Without it they run on SQLite only
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// No run on SQLite
    #[arg(long, requires = "postgres")]
    only_postgres: bool,
    /// The helm program
    #[arg(long, env = "FLOTILLA_HELM", value_name = "FILE", required_unless_present = "list")]
    helm: Option<PathBuf>,
    /// Only these scenarios
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Print the names of the scenarios
    #[arg(long)]
    list: bool,
}

/// Runs, and fails if a rule is violated, a transaction deadlocks, or a request fails because of the server.
pub async fn run(args: RacesArgs) -> anyhow::Result<()> {
    if args.list {
        for scenario in list_scenarios() {
            println!("{}", scenario.name);
        }
        return Ok(());
    }
    let selected = select_scenarios(&args.only)?;
    let seed = args.seed.unwrap_or_else(rand::random);
    println!("seed {seed}");
    let mut topologies = Vec::new();
    if !args.only_postgres {
        topologies.push(Topology::Sqlite);
    }
    if args.postgres.is_some() {
        topologies.extend([Topology::OneOnPostgres, Topology::TwoOnPostgres]);
    }
    let mut failures = Vec::new();
    for topology in topologies {
        failures.extend(Box::pin(run_topology(&args, (topology, seed), &selected)).await?);
    }
    for failure in &failures {
        println!("{failure}");
    }
    ensure!(failures.is_empty(), "{} failures with seed {seed}", failures.len());
    println!("every rule holds; no deadlock, no error of a server");
    Ok(())
}

/// All scenarios: the one that runs once, and those of every round.
fn list_scenarios() -> impl Iterator<Item = &'static RaceScenario> {
    std::iter::once(&scenarios::FIRST).chain(&scenarios::ALL)
}

/// Those of every round that are selected. The first one runs in any case.
fn select_scenarios(only: &[String]) -> anyhow::Result<Vec<RaceScenario>> {
    for name in only {
        let is_known = list_scenarios().any(|scenario| scenario.name == name);
        ensure!(is_known, "there is no scenario {name:?}; `races --list` prints them");
    }
    let is_selected =
        |scenario: &RaceScenario| only.is_empty() || only.iter().any(|name| name == scenario.name);
    Ok(scenarios::ALL.into_iter().filter(is_selected).collect())
}

/// All rounds on one database; returns what failed. Rounds end with the first one in which a rule is violated.
async fn run_topology(
    args: &RacesArgs,
    (topology, seed): (Topology, u64),
    selected: &[RaceScenario],
) -> anyhow::Result<Vec<String>> {
    let helm = args.helm.as_deref().context("--helm is missing")?;
    let begun = tokio::time::Instant::now();
    let servers = RaceServers::start(topology, args.postgres.as_deref(), helm).await?;
    let outcomes = Outcomes::default();
    let (authority, _) = Authority::generate(Clock::system())?;
    let rounds = Rounds {
        servers: &servers,
        authority: Arc::new(authority),
        outcomes: outcomes.clone(),
        random: StdRng::seed_from_u64(seed),
    };
    let ended = Box::pin(rounds.run(args.rounds, selected)).await;
    let stopped_loops = servers.list_stopped_loops();
    // After an error too: the database of the run is deleted.
    let deadlocks = servers.stop().await?;
    let mut failures = ended?;
    failures.extend(stopped_loops.into_iter().map(|name| format!("loop {name} has stopped")));
    if deadlocks > 0 {
        failures.push(format!("{deadlocks} transactions were cancelled because of deadlocks"));
    }
    failures.extend(outcomes.server_errors());
    println!("{}: {} rounds in {:.0} s", topology.as_str(), args.rounds, begun.elapsed().as_secs_f64());
    for line in outcomes.lines() {
        println!("  {line}");
    }
    println!("  {deadlocks} deadlocks, {} errors of servers", outcomes.server_errors().len());
    Ok(failures.into_iter().map(|failure| format!("{}: {failure}", topology.as_str())).collect())
}

/// The rounds on one database.
struct Rounds<'a> {
    servers: &'a RaceServers,
    authority: Arc<Authority>,
    outcomes: Outcomes,
    random: StdRng,
}

impl Rounds<'_> {
    async fn run(mut self, rounds: usize, selected: &[RaceScenario]) -> anyhow::Result<Vec<String>> {
        let first = self.create_race(&scenarios::FIRST, 0);
        (scenarios::FIRST.run)(&first).await.context(scenarios::FIRST.name)?;
        let background = Background::start(&self.servers.servers, &self.outcomes).await?;
        let mut failures = Vec::new();
        for round in 0..rounds {
            failures = self.run_round(round, selected).await;
            if !failures.is_empty() {
                break;
            }
        }
        background.stop().await?;
        Ok(failures)
    }

    /// Runs every scenario once, in random order.
    async fn run_round(&mut self, round: usize, selected: &[RaceScenario]) -> Vec<String> {
        let mut order = selected.to_vec();
        order.shuffle(&mut self.random);
        let mut runs = Vec::new();
        for scenario in order {
            let race = self.create_race(&scenario, round);
            runs.push(async move {
                (scenario.run)(&race).await.with_context(|| format!("{}, round {round}", scenario.name))
            });
        }
        let results: Vec<anyhow::Result<()>> =
            futures::stream::iter(runs).buffer_unordered(CONCURRENT_SCENARIOS).collect().await;
        results.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect()
    }

    fn create_race(&mut self, scenario: &RaceScenario, round: usize) -> Race {
        let [one, other] = self.servers.servers.clone();
        Race {
            one,
            other,
            actor: Actor::system(),
            authority: self.authority.clone(),
            scenario: scenario.name,
            round,
            delay: Duration::from_millis(self.random.random_range(0..=MAX_DELAY_MILLIS)),
            outcomes: self.outcomes.clone(),
        }
    }
}
