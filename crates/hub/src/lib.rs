//! The control plane's verbs and queries, one file each, and the loops that carry them out.
//!
//! A verb writes the intent and marks rows dirty in one transaction, then wakes a loop by name. A loop has no input:
//! it reads the dirty rows, does the same work whatever woke it, and clears the marks (docs/decisions/0001). Console, REST
//! API, command line and agents call the same functions, so they can't differ (S0-3). No HTTP, no Kubernetes client here.

mod access_review;
mod actor;
mod audit;
mod authority;
mod blocking;
mod chart;
mod chart_repository;
mod clock;
mod cluster;
mod decoded_memory;
mod dependency;
mod deployment;
mod drift;
mod encryption;
mod error;
mod event;
mod failpoint;
mod fair_queue;
mod fetch_queues;
mod fleet;
mod git;
mod git_repository;
mod group;
mod hub;
mod idempotency;
mod identity_provider;
mod incident;
mod join;
mod live;
mod loops;
mod manifests;
mod mark_pace;
mod notification;
mod operation;
mod overrides;
mod pauses;
mod placement;
mod plan;
mod project;
mod redaction;
mod release;
mod render;
mod report;
mod rollout;
mod search;
mod secret_content;
mod server_status;
mod sign_in;
mod supervise;
mod suspension;
mod user;
mod workload;

pub use actor::{Actor, ActorKind, Credential, RequestKey, RequestOrigin};
pub use authority::{Authority, AuthorityError, ListenerCertificate};
pub use blocking::run_blocking;
pub use clock::Clock;
pub use cluster::{ClusterDetails, ClusterEditPreview, NewCluster};
pub use encryption::KeyAdministration;
pub use error::Error;
pub use failpoint::{
    FAILPOINTS, ROLLBACK_FAILPOINTS, arm_lost_response, arm_panicpoint, failpoint, loses_response,
};
pub use git_repository::{WebhookSignature, WebhookVerification};
pub use group::GroupCandidateQuery;
pub use hub::{Hub, HubConfig, IdGenerator};
pub use idempotency::{StoredResponse, format_etag, workload_path, workload_status_path};
pub use identity_provider::{
    AuthorizationResponse, IdentityFetcher, IdentityRequest, IdentityResponse, LogoutFailure, SignInStart,
};
pub use join::{
    AgentCertificate, AuthenticatedAgent, InstallOptions, JoinRequest, JoinTokenSecret, RegistrationResult,
    read_certificate_cluster,
};
pub use live::EventPositions;
pub use loops::{LOOPS, Loops, TableStatistics};
pub use notification::{MessageRequest, MessageSender};
pub use overrides::OverrideChange;
pub use placement::PlacementInputs;
pub use sign_in::{NewSession, SignInClient, SignInStatistics};
pub use source::requester::run_for_requester;
pub use store::session::SessionDetails;
pub use store::{
    DataKeySummary, DatabaseOutage, EncryptionMode, EncryptionProgress, EncryptionStatus, KeySource,
    generate_wrapping_key, run_blocking_in_place,
};
pub use supervise::TaskStatus;
pub use workload::{
    CheckResult, ContentCheck, DraftPatch, PublishContent, PublishOptions, PublishResponse,
    RevisionComparison, RevisionDetails, RevisionEntry, RevisionHistory, WorkloadDetails, WorkloadEdit,
};
