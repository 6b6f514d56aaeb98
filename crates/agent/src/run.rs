//! The agent's life: connect to the cluster, take up what it should hold, then pull, drive, keep, report and pulse side
//! by side until told to stop.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use engine::Engine;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::keep::Keeper;
use crate::link::Link;
use crate::registry::Registries;
use crate::{asks, connect, kept, pulse, reports, wants};

/// How an agent runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The engine's own settings.
    pub engine: engine::Options,
    /// How often the lease is renewed: a third of the cluster's lease.
    pub heartbeat: Duration,
    /// First delay after a failed call; doubles up to [`Options::retry_max`], ±20 %.
    pub retry_first: Duration,
    /// Longest delay between tries.
    pub retry_max: Duration,
    /// Where the agent keeps what its cluster should hold, so that it goes on healing after a restart without its hub.
    /// `None` for an agent inside the server: there the hub is never away.
    pub keep: Option<Keeper>,
    /// Whom to ask whether images are there, when a plan is made (G204). `None` for an agent inside the server: its network
    /// is not the cluster's, and nothing that a person writes into a manifest should make the server call a host.
    pub registries: Option<Arc<Registries>>,
}

impl Options {
    /// The defaults: a lease of a minute, tries from a quarter of a second to half a minute apart.
    pub fn new(engine: engine::Options) -> Self {
        Self {
            engine,
            heartbeat: Duration::from_secs(20),
            retry_first: Duration::from_millis(250),
            retry_max: Duration::from_secs(30),
            keep: None,
            registries: None,
        }
    }
}

/// What the parts of a running agent share.
pub(crate) struct Agent<L> {
    pub link: L,
    pub engine: Engine,
    pub options: Options,
    /// Version of the newest list of wants the agent has.
    pub wants_version: AtomicI64,
    /// The hub has a newer list than that: whoever waits for one should ask again.
    pub newer_wants: Notify,
}

/// Serves one cluster until `cancel`. A cluster or hub that does not answer is tried again for ever.
pub async fn run<L: Link>(link: L, client: kube::Client, options: Options, cancel: CancellationToken) {
    let Some(engine) = connect::engine(client, &options, &cancel).await else {
        return;
    };
    let (before, kept) = match &options.keep {
        Some(keeper) => kept::restore(keeper).await,
        None => Default::default(),
    };
    let agent = Arc::new(Agent {
        link,
        engine: engine.clone(),
        options,
        wants_version: AtomicI64::new(-1),
        newer_wants: Notify::new(),
    });
    let (keep, newest) = watch::channel(None);
    let (lists, asked) = watch::channel(None);
    let parts = async {
        tokio::join!(
            engine.run(cancel.clone()),
            wants::run(&agent, before, keep, lists),
            asks::run(&agent, asked),
            kept::run(&agent.options, kept, newest),
            reports::run(&agent),
            pulse::run(&agent),
        )
    };
    tokio::select! {
        _ = parts => {}
        () = cancel.cancelled() => {}
    }
}
