//! Operations on rollouts.

pub mod clusters;
pub mod control;
pub mod get;
pub mod report;
