//! The pulse: the lease is renewed as long as the cluster's API server answers.
//!
//! An agent inside the server always runs, so its own life proves nothing about the cluster; and an agent in a cluster
//! whose API server is down can't say anything true about it either.

use crate::link::Link;
use crate::run::Agent;

pub(crate) async fn run<L: Link>(agent: &Agent<L>) {
    let mut beat = tokio::time::interval(agent.options.heartbeat);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        if !agent.engine.is_reachable() {
            tracing::debug!("the cluster's API server does not answer; the lease is not renewed");
            continue;
        }
        if let Err(error) = agent.link.heartbeat().await {
            tracing::warn!(%error, "the lease could not be renewed");
        }
    }
}
