//! State shared by the tasks of a running agent.

use std::sync::atomic::AtomicI64;

use engine::Engine;
use tokio::sync::Notify;

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
}
