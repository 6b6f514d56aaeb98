//! The policies of a workload: form, input fields and the wizard's step.

pub mod fields;
pub mod form;
mod step;

pub use step::PoliciesPage;
