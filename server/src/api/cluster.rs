//! Operations on clusters.

pub mod accept;
pub mod break_demo;
pub mod delete;
pub mod get;
pub mod install;
pub mod list;
pub mod patch;
pub mod reject;
pub mod releases;
pub mod revoke;
