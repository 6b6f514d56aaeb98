//! Operations on releases.

pub mod get;
pub mod list;
