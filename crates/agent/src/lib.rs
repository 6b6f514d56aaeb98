//! One cluster's side of Flotilla: pull the cluster's desired state, apply it with the engine, report.
//!
//! The agent makes no decisions. It polls the full desired state, passes bundles to the [`connect_engine`], and sends the
//! engine's reports to the hub; the next full state or full report repairs a lost message. It opens outbound connections
//! only and serves exactly one cluster. While the hub is unreachable it applies the last desired state, also after a
//! restart ([`cache`]).

mod backoff;
pub mod cache;
mod cached_state;
mod connect;
mod context;
mod desired_state;
mod dry_run_requests;
mod heartbeat;
mod helm_release_requests;
mod http;
mod identity;
mod image_registry;
mod link;
mod options;
mod renewal;
mod reports;
mod run;

pub use engine::{Options as EngineOptions, REQUEST_LOG_FILTER, build_client as kube_client};
pub use http::{HttpLink, ReconnectBackoff};
pub use identity::{AgentIdentity, JoinConfig, JoinError, join};
pub use image_registry::{RegistryAccess, RegistryClient};
pub use link::{Link, LinkError};
pub use options::AgentOptions;
pub use run::run;
