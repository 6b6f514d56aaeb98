//! One cluster's side of Flotilla: pull what the cluster should hold, let the engine make it so, report.
//!
//! The agent decides nothing. It keeps asking for the whole list of wants, hands bundles to the [`engine`], and hands
//! the engine's reports to the hub; what is lost on the way is made good by the next whole list or whole report. It
//! dials out only, and it knows one cluster only. While the hub is away it goes on keeping the cluster as it was wanted
//! last, also after a restart ([`keep`]).

mod asks;
mod connect;
mod http;
mod identity;
pub mod keep;
mod kept;
mod link;
mod pulse;
mod registry;
mod renewal;
mod reports;
mod run;
mod wants;

pub use engine::{Options as EngineOptions, client as kube_client};
pub use http::{HttpLink, Reconnect};
pub use identity::{Identity, Invitation, JoinError, join};
pub use link::{Link, LinkError};
pub use registry::{Registries, Scheme};
pub use run::{Options, run};
