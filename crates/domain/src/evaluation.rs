//! What follows from text, clusters and workloads together. Nothing in the other layers imports it.

pub mod actions;
pub mod authorization;
pub mod chart_hooks;
pub mod chart_values;
pub mod drift_actions;
pub mod exposure;
pub mod fix;
pub mod guard;
pub mod plan;
pub mod possible_actions;
pub mod render;
pub mod report_redaction;
pub mod secret_content;
pub mod token_actions;
