//! The heartbeat: renews the lease while the cluster's API server responds, and otherwise reports the outage.
//!
//! A running agent alone proves nothing about its cluster: an agent inside the server always runs, and an agent in a
//! cluster whose API server is down can't observe it. The begin and the end of an outage are sent at once.

use domain::report::Heartbeat;

use crate::context::AgentContext;
use crate::link::Link;

pub(crate) async fn run<L: Link>(agent: &AgentContext<L>) {
    let mut beat = tokio::time::interval(agent.options.heartbeat_interval);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut outages = agent.engine.subscribe_outages();
    loop {
        tokio::select! {
            // A server that accepts connections and sends no response breaks no watch.
            _ = beat.tick() => agent.engine.probe_api_server().await,
            // The sender lives as long as the engine does.
            Ok(()) = outages.changed() => {}
        }
        let api_server_error = outages.borrow_and_update().as_ref().map(|outage| outage.cause.clone());
        if let Err(error) = agent.link.send_heartbeat(Heartbeat { api_server_error }).await {
            tracing::warn!(%error, "the heartbeat could not be sent; the next one tries again");
        }
    }
}
