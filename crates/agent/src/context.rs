//! State shared by the tasks of a running agent.

use std::sync::atomic::AtomicI64;

use domain::ReleaseId;
use engine::Engine;
use tokio::sync::{Notify, watch};

use crate::options::AgentOptions;

/// The engine and the link, with the state that the tasks exchange.
pub(crate) struct AgentContext<L> {
    pub link: L,
    pub engine: Engine,
    pub options: AgentOptions,
    /// Version of the newest desired state received; -1 before the first.
    pub desired_state_version: AtomicI64,
    /// Signals that the hub has a newer version: a waiting request is repeated.
    pub newer_desired_state: Notify,
    /// Releases with a record on the cluster that the newest desired state does not contain.
    pub leftovers: watch::Sender<Vec<ReleaseId>>,
}
