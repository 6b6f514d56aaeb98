//! What goes over the wire between the hub and the command line: requests and answers that are no domain nouns, and
//! the client that speaks them.
//!
//! The server's handlers use these very types, so the two sides can't drift apart. Nouns (workload, release, cluster …)
//! come from `domain` and are not mirrored here. Fields are only ever added; an old client ignores what it does not
//! know.

pub mod client;
pub mod cluster;
pub mod error;
pub mod event;
pub mod placement;
pub mod problem;
pub mod status;
pub mod token;
pub mod version;
pub mod watch;
pub mod workload;

pub use client::Client;
pub use cluster::{BreakRequest, Breakage, ClusterPatch};
pub use error::Error;
pub use event::{EventPage, EventQuery};
pub use placement::PreviewRequest;
pub use problem::Problem;
pub use status::{Status, TargetCluster};
pub use token::{NewToken, Token, TokenCreated};
pub use version::Version;
pub use watch::{Change, Watched};
pub use workload::{
    Check, OverridePut, PublishRequest, SyncAnswer, SyncRequest, UnpublishRequest, ValidateRequest,
    WorkloadPatch, WorkloadPut,
};
