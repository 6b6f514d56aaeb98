//! What goes over the wire between the hub, its agents and the command line: requests and answers that are no domain nouns, and
//! the client that speaks them.
//!
//! The server's handlers use these very types, so the two sides can't drift apart. Nouns (workload, release, cluster …)
//! come from `domain` and are not mirrored here. Fields are only ever added; an old client ignores what it does not
//! know.

pub mod agent;
pub mod client;
pub mod cluster;
pub mod error;
pub mod event;
pub mod join;
pub mod placement;
pub mod problem;
pub mod status;
pub mod tls;
pub mod token;
pub mod version;
pub mod watch;
pub mod workload;

pub use client::{AgentClient, AgentError, Client};
pub use cluster::{BreakRequest, Breakage, ClusterPatch};
pub use error::Error;
pub use event::{EventPage, EventQuery};
pub use join::{AcceptRequest, InstallManifest, InstallRequest, JoinTokenCreated};
pub use placement::{GroupPut, PreviewRequest};
pub use problem::Problem;
pub use status::{Status, TargetCluster};
pub use token::{NewToken, Token, TokenCreated};
pub use version::Version;
pub use watch::{Change, Watched};
pub use workload::{
    Check, KeepAnswer, KeepRequest, OverridePut, PublishRequest, RestoreRequest, SyncAnswer, SyncRequest,
    UnpublishRequest, ValidateRequest, WorkloadPatch, WorkloadPut,
};
