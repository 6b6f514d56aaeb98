//! The engine: keeps one cluster as the hub wants it, through the Kubernetes API.
//!
//! It is given the whole list of what should be ([`Engine::set_desired`]), watches what is, and closes the gap, one
//! small loop per release: preflight → plan → apply → prune → health → report. It never knows of other clusters.
//!
//! What holds whatever happens:
//! - nothing is written that is already so, also right after a restart (P26);
//! - nothing is deleted but by recorded uid, and nothing because a read failed (P15, DESIGN 3.8);
//! - nothing gives up: a failure is a stage with reason, attempt and next try (DESIGN 3.7);
//! - there is no polling: watches wake the loops, clocks only while something is not settled.

mod api;
mod discovery;
mod dry_run;
mod engine;
mod error;
mod facts;
pub mod health;
mod managed;
mod observe;
mod options;
mod record;
mod release;
mod reports;
mod rights;
mod rules;
mod schema;
mod wanted;

pub use api::FIELD_MANAGER;
pub use engine::{Engine, client};
pub use error::Error;
pub use options::Options;
pub use record::Recorded;
pub use release::Desired;
pub use reports::Reports;
pub use schema::schema;
pub use wanted::{HASH_ANNOTATION, IGNORE_HEALTH_ANNOTATION, RELEASE_LABEL, WORKLOAD_ANNOTATION};
