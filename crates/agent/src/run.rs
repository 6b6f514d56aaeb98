//! The agent's main loop: connect to the cluster, restore the cached desired state, then pull, reconcile, cache, report
//! and renew the lease concurrently until cancelled.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::context::AgentContext;
use crate::link::Link;
use crate::options::AgentOptions;
use crate::{
    cached_state, connect, desired_state, dry_run_requests, heartbeat, helm_release_requests, reports,
};

/// Serves one cluster until `cancel`. Retries an unreachable cluster or hub without limit.
pub async fn run<L: Link>(link: L, client: kube::Client, options: AgentOptions, cancel: CancellationToken) {
    let Some(engine) = connect::connect_engine(&link, client, &options, &cancel).await else {
        return;
    };
    let (cached, writer) = match &options.cache {
        Some(cache) => cached_state::restore_state(cache).await,
        None => Default::default(),
    };
    let agent = Arc::new(AgentContext {
        link,
        engine: engine.clone(),
        options,
        desired_state_version: AtomicI64::new(-1),
        newer_desired_state: Notify::new(),
        leftovers: watch::Sender::default(),
    });
    let (cache_updates, newest) = watch::channel(None);
    let (desired_states, requests) = watch::channel(None);
    let tasks = async {
        tokio::join!(
            engine.run(cancel.clone()),
            desired_state::run(&agent, cached, cache_updates, desired_states),
            dry_run_requests::run(&agent, requests.clone()),
            helm_release_requests::run(&agent, requests),
            cached_state::run(&agent.options, writer, newest),
            reports::run(&agent),
            heartbeat::run(&agent),
        )
    };
    tokio::select! {
        _ = tasks => {}
        () = cancel.cancelled() => {}
    }
}
