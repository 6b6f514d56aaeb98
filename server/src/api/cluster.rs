//! Operations on clusters.

pub mod break_demo;
pub mod get;
pub mod list;
pub mod patch;
pub mod releases;
