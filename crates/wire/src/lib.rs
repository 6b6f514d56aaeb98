//! Wire types between the hub, its agents and the command line: requests and responses that are no domain types, and the
//! HTTP clients.
//!
//! The server's handlers use the same types, so client and server can't drift apart. Domain types (workload, release,
//! cluster …) come from `domain` and are not duplicated here. Fields are only added; unknown fields are ignored.

pub mod agent;
pub mod client;
pub mod cluster;
pub mod error;
pub mod event;
pub mod join;
pub mod placement;
pub mod problem;
pub mod project;
pub mod status;
pub mod tls;
pub mod token;
pub mod user;
pub mod version;
pub mod watch;
pub mod workload;

pub use client::{
    AgentClient, AgentError, CatalogQuery, Client, RenderQuery, RevisionQuery, SearchRequest, ValuesQuery,
    WatchStream, generate_token_secret,
};
pub use cluster::{ClusterFault, ClusterPatch, ClusterPreview, FaultRequest};
pub use error::Error;
pub use event::{EventPage, EventQuery};
pub use join::{AcceptRequest, InstallManifest, InstallRequest, JoinTokenCreated};
pub use placement::{ClusterGroupPut, PreviewRequest};
pub use problem::Problem;
pub use project::ProjectPut;
pub use status::{TargetCluster, WorkloadStatus};
pub use token::{ApiToken, ApiTokenCreated, NewApiToken};
pub use user::{AccessReview, NewUser, PasswordChange, PasswordLink, RoleChange, User};
pub use version::ServerVersion;
pub use watch::{ChangeNotice, WatchEvent};
pub use workload::{
    OverridePut, PublishRequest, RemovalOptions, RestoreRevisionRequest, RetainRequest, RetainResponse,
    SyncRequest, SyncResponse, ValidateRequest, ValidationResult, WorkloadPatch, WorkloadPut,
};
