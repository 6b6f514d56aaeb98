//! The rollout of a workload: form of its waves, the wizard's step, the panel of a running rollout, and the page of its clusters.

mod fields;
mod form;
mod grid;
pub mod panel;
mod step;

pub use grid::RolloutGridPage;
pub use step::RolloutPage;
