//! The agent's main loop: connect to the cluster, restore the cached desired state, then pull, reconcile, cache, report
//! and renew the lease concurrently until cancelled.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use engine::Engine;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::cache::SharedCache;
use crate::image_registry::RegistryClient;
use crate::link::Link;
use crate::{cached_state, connect, desired_state, dry_run_requests, heartbeat, reports};

/// Settings of an agent.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Settings of the engine.
    pub engine: engine::Options,
    /// Interval of lease renewals: a third of the cluster's lease.
    pub heartbeat_interval: Duration,
    /// Delay after the first failed call; doubles up to [`AgentOptions::retry_max_delay`], ±20 %.
    pub retry_initial_delay: Duration,
    /// Longest delay between attempts.
    pub retry_max_delay: Duration,
    /// Persistent cache of the desired state, so that an agent restarted without its hub still reverts drift. `None` for
    /// an agent inside the server, where the hub is always reachable.
    pub cache: Option<SharedCache>,
    /// Client that checks during a plan that images exist (G204). `None` for an agent inside the server: its network is
    /// not the cluster's, and text in a manifest must not make the server call a host.
    pub registries: Option<Arc<RegistryClient>>,
}

impl AgentOptions {
    /// The defaults: a heartbeat every 20 s, retry delays from 250 ms to 30 s.
    pub fn new(engine: engine::Options) -> Self {
        Self {
            engine,
            heartbeat_interval: Duration::from_secs(20),
            retry_initial_delay: Duration::from_millis(250),
            retry_max_delay: Duration::from_secs(30),
            cache: None,
            registries: None,
        }
    }
}

/// State shared by the tasks of a running agent.
pub(crate) struct AgentContext<L> {
    pub link: L,
    pub engine: Engine,
    pub options: AgentOptions,
    /// Version of the newest desired state received; -1 before the first.
    pub desired_state_version: AtomicI64,
    /// Signals that the hub has a newer version: a waiting request is repeated.
    pub newer_desired_state: Notify,
}

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
    });
    let (cache_updates, newest) = watch::channel(None);
    let (desired_states, requests) = watch::channel(None);
    let tasks = async {
        tokio::join!(
            engine.run(cancel.clone()),
            desired_state::run(&agent, cached, cache_updates, desired_states),
            dry_run_requests::run(&agent, requests),
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
