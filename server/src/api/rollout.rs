//! Operations on rollouts.

pub mod get;
pub mod steer;
