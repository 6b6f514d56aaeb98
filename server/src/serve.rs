//! `flotilla-server serve`: console, API, and the clusters of this machine's kubeconfig.

use domain::cluster::ClusterKind;
use hub::{Actor, NewCluster};

use crate::args::{Serve, say};
use crate::dial;
use crate::kubeconfig;
use crate::running::{Parts, Running, open};

/// Serves until told to end.
///
/// # Errors
/// The database, the kubeconfig, the built files or the port are not usable.
pub async fn run(args: Serve) -> anyhow::Result<()> {
    let clusters = match &args.kubeconfig {
        Some(file) => kubeconfig::read(file, &args.contexts)?,
        None => Vec::new(),
    };
    let hub = open(args.database.address()?).await?;
    let home = args.database.database.is_none().then_some(args.database.data.as_path());
    let agents = dial::listen(&args.dial, home, &hub).await?;
    if let Some((_, access)) = &agents {
        say(&format!("Agents dial {}", access.url));
    }
    let running = Running::start(hub.clone(), &args.web, Parts { demo: None, agents }).await?;
    for cluster in clusters {
        let new = NewCluster::new(&cluster.name, ClusterKind::Kubeconfig);
        let registered = hub.cluster_register(&Actor::system(), new).await?;
        match cluster.client().await {
            Ok(client) => running.serve_cluster(registered.id, client, agent_options(&hub)),
            // The others are served all the same, and this one shows as offline.
            Err(error) => tracing::error!(cluster = %cluster.name, "can't be served: {error:#}"),
        }
    }
    let url = running.url(&args.web);
    if let Some(token) = hub.setup_token().await? {
        say(&format!("Nobody has signed up yet. Open {url}/setup?token={token}"));
    }
    say(&format!("Flotilla is ready at {url}"));
    running.until_told_to_end().await
}

/// How an agent in this process runs: by the hub's clock.
pub fn agent_options(hub: &hub::Hub) -> agent::Options {
    let clock = hub.clock().clone();
    let engine = agent::EngineOptions {
        agent: "flotilla-server".to_owned(),
        ..agent::EngineOptions::new(move || clock.now())
    };
    agent::Options::new(engine)
}
