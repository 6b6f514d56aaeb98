//! The engine: reconciles one cluster with the hub's desired state through the Kubernetes API.
//!
//! It receives the complete desired state ([`Engine::set_desired`]), watches the actual state and reconciles the two in
//! one loop per release: preflight → plan → apply → prune → health → report. It has no access to other clusters.
//!
//! Invariants:
//! - an object that already has the desired content is not written, not even after a restart (P26);
//! - objects are deleted only by recorded uid, never because a read failed (P15);
//! - failures are retried without limit; the stage shows reason, attempt and next retry;
//! - no polling: watches wake the loops; timers run only while something is not settled.

mod api;
mod applied_release;
mod desired_object;
mod discovery;
mod dry_run;
mod engine;
mod error;
mod facts;
pub mod health;
mod object_policy;
mod observe;
mod options;
mod permissions;
mod release;
mod report_queue;
mod schema;

pub use api::DetectedOutage;
pub use applied_release::AppliedReleaseSummary;
pub use desired_object::{HASH_ANNOTATION, IGNORE_HEALTH_ANNOTATION, RELEASE_LABEL, WORKLOAD_ANNOTATION};
pub use domain::managed_fields::FIELD_MANAGER;
pub use engine::{Engine, build_client};
pub use error::Error;
pub use facts::read_registration_facts;
pub use options::Options;
pub use release::ReleaseInput;
pub use report_queue::ReportQueue;
pub use schema::read_schema;

/// A log filter for the client's messages of single failed requests: an outage causes dozens per second, and is logged once
/// with their number.
pub const REQUEST_LOG_FILTER: &str = "kube_client::client::builder=off";
