//! `flotilla-server serve`: console, API, agents' listener, and the clusters of a kubeconfig.

use std::time::Duration;

use domain::cluster::ClusterKind;
use domain::incident::DEFAULT_DELAY_MILLIS;
use hub::{Actor, NewCluster};

use crate::agent_endpoint;
use crate::args::{RepositoryArg, ServeArgs, print_line};
use crate::audit_file::AuditFile;
use crate::lifecycle::{RunningServer, ServerParts, open_hub};
use crate::{charts, identity_provider, kubeconfig, notifications};

/// How long a workload fails on a cluster before that is an incident.
const INCIDENT_DELAY: Duration = Duration::from_millis(DEFAULT_DELAY_MILLIS.unsigned_abs());

/// Serves until a shutdown signal.
///
/// # Errors
/// The database, the kubeconfig, the static assets or a port are not usable.
pub async fn run(args: ServeArgs) -> anyhow::Result<()> {
    let clusters = match &args.kubeconfig {
        Some(file) => kubeconfig::read_contexts(file, &args.contexts)?,
        None => Vec::new(),
    };
    let delay = args.notifications.incident_delay_seconds.map_or(INCIDENT_DELAY, Duration::from_secs);
    let hub = open_hub(args.database.url()?, args.database.keys.source(), delay).await?;
    notifications::set_message_sender(&hub, args.notifications.notifications.unwrap_or(RepositoryArg::Https));
    identity_provider::set_identity_fetcher(&hub, args.identity_providers);
    let home = args.database.database.is_none().then_some(args.database.data.as_path());
    charts::set_up(&hub, &args.charts, home).await?;
    let agents = agent_endpoint::listen(&args.agent_endpoint, home, &hub).await?;
    if let Some((_, access)) = &agents {
        print_line(&format!("Agents connect to {}", access.url));
    }
    let audit_file = AuditFile::open(&args.audit_file)?;
    let running = RunningServer::start(hub.clone(), &args.web, ServerParts { demo: None, agents }).await?;
    running.write_audit_file(audit_file);
    for cluster in clusters {
        let new = NewCluster::new(&cluster.name, ClusterKind::Kubeconfig);
        let registered = hub.register_cluster(&Actor::system(), new).await?;
        match cluster.create_client().await {
            Ok(client) => running.serve_cluster(registered.id, client, agent_options(&hub)),
            // The other clusters are served; this one stays offline.
            Err(error) => {
                tracing::error!(cluster = %cluster.name, "can't create a client for the cluster; it stays offline: {error:#}")
            }
        }
    }
    let url = running.url(&args.web);
    if let Some(token) = hub.create_setup_token().await? {
        print_line(&format!("There is no user yet. Create the first one at {url}/setup?token={token}"));
    }
    print_line(&format!("Flotilla is ready at {url}"));
    running.run_until_shutdown().await
}

/// Options of an in-process agent: it uses the hub's clock.
pub fn agent_options(hub: &hub::Hub) -> agent::AgentOptions {
    let clock = hub.clock().clone();
    let engine = agent::EngineOptions {
        agent: "flotilla-server".to_owned(),
        ..agent::EngineOptions::new(move || clock.now())
    };
    agent::AgentOptions::new(engine)
}
