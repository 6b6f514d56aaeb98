//! The heartbeat: the lease is renewed only while the cluster's API server answers.
//!
//! A running agent alone proves nothing about its cluster: an agent inside the server always runs, and an agent in a
//! cluster whose API server is down can't observe it.

use crate::context::AgentContext;
use crate::link::Link;

pub(crate) async fn run<L: Link>(agent: &AgentContext<L>) {
    let mut beat = tokio::time::interval(agent.options.heartbeat_interval);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        if !agent.engine.is_reachable() {
            tracing::debug!("the cluster's API server does not answer; the lease is not renewed");
            continue;
        }
        if let Err(error) = agent.link.send_heartbeat().await {
            tracing::warn!(%error, "the lease could not be renewed; the next heartbeat tries again");
        }
    }
}
