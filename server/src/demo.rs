//! `flotilla-server demo`: the whole product on one machine, with five simulated clusters and a sample workload.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use hub::{Actor, NewCluster};

use crate::agent_endpoint;
use crate::args::{AgentEndpointArgs, DemoArgs, RepositoryArg, print_line, sqlite_url};
use crate::audit_file::AuditFile;
use crate::lifecycle::{RunningServer, ServerParts, open_hub};
use crate::{charts, identity_provider, notifications};

mod credentials;
mod fault_controls;
mod fleet;
mod outages;
mod sample;
mod snapshots;

pub use fault_controls::FaultControls;
use snapshots::SnapshotFolder;

/// Lease of simulated clusters, in seconds: short, so that an offline cluster shows quickly.
const LEASE_SECONDS: u32 = 5;
/// How long a workload fails before that is an incident, in seconds: short, so that one shows quickly.
const INCIDENT_DELAY_SECONDS: u64 = 10;

/// Serves the demo until a shutdown signal.
///
/// # Errors
/// The folder, the built files or the port are not usable.
pub async fn run(args: DemoArgs) -> anyhow::Result<()> {
    let delay = args.notifications.incident_delay_seconds.unwrap_or(INCIDENT_DELAY_SECONDS);
    let hub = open_hub(sqlite_url(&args.data)?, None, Duration::from_secs(delay)).await?;
    let receivers = args.notifications.notifications.unwrap_or(RepositoryArg::PrivateHttp);
    notifications::set_message_sender(&hub, receivers);
    identity_provider::set_identity_fetcher(&hub, args.identity_providers);
    charts::set_up(&hub, &args.charts, Some(&args.data)).await?;
    let snapshots = SnapshotFolder::open(args.data.join("clusters"), hub.clone())?;
    let clusters = fleet::start_clusters(&snapshots);
    let controls = Arc::new(FaultControls::new(clusters.clone()));
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let dial = AgentEndpointArgs {
        agent_listen: args.agent_endpoint.agent_listen.or(Some(any_port)),
        ..args.agent_endpoint
    };
    let agents = agent_endpoint::listen(&dial, Some(&args.data), &hub).await?;
    let audit_file = AuditFile::open(&args.audit_file)?;
    let running =
        RunningServer::start(hub.clone(), &args.web, ServerParts { demo: Some(controls), agents }).await?;
    running.write_audit_file(audit_file);
    for (member, cluster) in &clusters {
        let new =
            NewCluster { lease_seconds: LEASE_SECONDS, labels: member.labels(), ..member.new_cluster() };
        let registered = hub.register_cluster(&Actor::system(), new).await?;
        let client = kube::Client::new(cluster.service(), "default");
        running.serve_cluster(registered.id, client, fast_agent_options(&hub));
        running.spawn_until_stop(snapshots.clone().save_on_change(cluster.clone()));
        if member.has_outages && !args.no_outages {
            running.spawn_until_stop(outages::simulate_outages(cluster.clone()));
        }
    }
    let url = running.url(&args.web);
    let credentials = credentials::prepare_credentials(&hub, &args.data, &url).await?;
    sample::publish_once(&hub, &credentials.actor).await.context("can't publish the sample workload")?;
    print_welcome(&url, &credentials, &args.data);
    let ended = running.run_until_shutdown().await;
    snapshots.save_all(clusters.iter().map(|(_, cluster)| cluster));
    ended
}

/// Agent options with short retry delays.
fn fast_agent_options(hub: &hub::Hub) -> agent::AgentOptions {
    let mut options = crate::serve::agent_options(hub);
    options.heartbeat_interval = Duration::from_millis(1_500);
    options.retry_max_delay = Duration::from_secs(2);
    options.engine.retry_first = Duration::from_secs(1);
    options.engine.retry_max = Duration::from_secs(30);
    options
}

fn print_welcome(url: &str, credentials: &credentials::DemoCredentials, data: &Path) {
    print_line("");
    print_line(&format!("  Sign in as {:?} with the password {:?}.", credentials.name, credentials.password));
    print_line(&format!(
        "  Command line: set -a; . {}; set +a; flotilla status",
        data.join("cli.env").display()
    ));
    print_line("  To inject faults, open a cluster's page and use \"Inject fault\".");
    print_line("");
    print_line(&format!("Flotilla is ready at {url}"));
}
