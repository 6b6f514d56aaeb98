//! The overrides of a workload: form, editor with the values of one cluster, tab and wizard's step.

mod actions;
mod fields;
mod form;
mod group_list;
mod lists;
pub mod overridable;
mod state;
mod step;
mod tab;
mod target;
mod target_parts;
mod target_picker;

pub use step::OverridesPage;
pub use tab::OverridesTab;
