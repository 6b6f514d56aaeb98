//! `flotilla-server demo`: the whole product on one machine, with five simulated clusters and something running.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use hub::{Actor, NewCluster};

use crate::args::{Demo, Dial, say, sqlite_in};
use crate::dial;
use crate::running::{Parts, Running, open};

mod flaky;
mod fleet;
mod keep;
mod levers;
mod sample;
mod way_in;

pub use levers::Levers;

/// Simulated clusters count as late after this many seconds, so that a demo shows in moments what takes minutes in life.
const LEASE_SECONDS: u32 = 5;

/// Serves the demo until told to end.
///
/// # Errors
/// The folder, the built files or the port are not usable.
pub async fn run(args: Demo) -> anyhow::Result<()> {
    let hub = open(sqlite_in(&args.data)?).await?;
    let clusters = fleet::start(&args.data.join("clusters"))?;
    let levers = Arc::new(Levers::new(clusters.clone()));
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let dial = Dial { agent_listen: args.dial.agent_listen.or(Some(anywhere)), ..args.dial };
    let agents = dial::listen(&dial, Some(&args.data), &hub).await?;
    let running = Running::start(hub.clone(), &args.web, Parts { demo: Some(levers), agents }).await?;
    for (member, cluster) in &clusters {
        let new =
            NewCluster { lease_seconds: LEASE_SECONDS, labels: member.labels(), ..member.new_cluster() };
        let registered = hub.cluster_register(&Actor::system(), new).await?;
        let client = kube::Client::new(cluster.service(), "default");
        running.serve_cluster(registered.id, client, quick(&hub));
        running.beside(keep::keep(args.data.join("clusters"), cluster.clone()));
        if member.flaky && !args.steady {
            running.beside(flaky::now_and_then(cluster.clone()));
        }
    }
    let url = running.url(&args.web);
    let way_in = way_in::prepare(&hub, &args.data, &url).await?;
    sample::publish_once(&hub, &way_in.actor).await.context("can't publish the sample workload")?;
    say_hello(&url, &way_in, &args.data);
    let ended = running.until_told_to_end().await;
    keep::keep_all(&args.data.join("clusters"), clusters.iter().map(|(_, cluster)| cluster));
    ended
}

/// Agents of simulated clusters try again sooner: somebody is watching.
fn quick(hub: &hub::Hub) -> agent::Options {
    let mut options = crate::serve::agent_options(hub);
    options.heartbeat = Duration::from_millis(1_500);
    options.retry_max = Duration::from_secs(2);
    options.engine.retry_first = Duration::from_secs(1);
    options.engine.retry_max = Duration::from_secs(30);
    options
}

fn say_hello(url: &str, way_in: &way_in::WayIn, data: &Path) {
    say("");
    say(&format!("  Sign in as {:?} with the password {:?}.", way_in.name, way_in.password));
    say(&format!("  Command line: set -a; . {}; set +a; flotilla status", data.join("cli.env").display()));
    say("  Break something: a cluster's page has a \"Break it\" button.");
    say("");
    say(&format!("Flotilla is ready at {url}"));
}
