//! Operations on rollouts.

pub mod control;
pub mod get;
