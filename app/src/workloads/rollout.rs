//! The rollout of a workload: form of its waves, the wizard's step, and the panel of a running rollout.

mod fields;
mod form;
pub mod panel;
mod step;

pub use step::RolloutPage;
