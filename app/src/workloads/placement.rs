//! The placement of a workload: form, input fields, and for every cluster whether it is selected and why.

pub mod candidates;
pub mod evaluations;
mod fields;
pub mod fleet_values;
mod form;
pub mod pending_removals;
mod remedies;
mod step;
pub mod tab;

pub use step::PlacementPage;
pub use tab::PlacementTab;
