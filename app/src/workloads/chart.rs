//! A chart as the source of a workload: which chart, its release name and its common values.

mod choice;
pub mod draft;
pub mod fields;
pub mod queries;
mod values_form;
mod values_text;
