//! Flotilla's nouns and rules, and nothing that touches the world.
//!
//! Everything here is a pure function of its arguments: no IO, no clock, no randomness. That is what lets the
//! browser (WASM), the server, the agent and the command line run the same guard rails, the same placement and
//! the same merge, and never disagree. Times come in as [`Timestamp`], ids are made by the hub.

pub mod bundle;
pub mod can;
pub mod cluster;
pub mod condition;
pub mod digest;
pub mod edit;
pub mod event;
pub mod exposure;
pub mod finding;
pub mod fix;
pub mod fleet;
pub mod guard;
pub mod health;
pub mod id;
pub mod image;
pub mod join;
pub mod labels;
pub mod manifest;
pub mod name;
mod nearest;
pub mod object;
pub mod overrides;
pub mod page;
pub mod path;
pub mod pick;
pub mod placement;
pub mod plan;
pub mod policy;
pub mod quantity;
pub mod release;
pub mod render;
pub mod report;
pub mod rollout;
pub mod rollup;
pub mod schema;
pub mod template;
pub mod time;
pub mod workload;

pub use digest::Digest;
pub use finding::{Finding, Severity};
pub use id::{ClusterId, JoinTokenId, OverrideId, PlanId, ProjectId, ReleaseId, TokenId, UserId, WorkloadId};
pub use time::Timestamp;
