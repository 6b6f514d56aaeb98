//! Operations on workloads.

pub mod check_git;
pub mod create;
pub mod delete;
pub mod get;
pub mod git;
pub mod list;
pub mod patch;
pub mod publish;
pub mod put;
pub mod render;
pub mod restore;
pub mod resume;
pub mod retain;
pub mod revision;
pub mod revisions;
pub mod status;
pub mod suspend;
pub mod suspension;
pub mod sync;
pub mod unpublish;
pub mod unwrap_chart;
pub mod validate;
pub mod values;
