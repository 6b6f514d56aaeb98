//! The policies of a workload: form, input fields, the tab and the wizard's step.

pub mod fields;
pub mod form;
mod rule_fields;
pub mod rule_rows;
pub mod rule_suggestions;
mod step;
mod summary;
mod tab;

pub use step::PoliciesPage;
pub use tab::PoliciesTab;
