//! The settings of an agent.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::SharedCache;
use crate::image_registry::RegistryClient;

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
