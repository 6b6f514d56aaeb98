//! What follows from text, clusters and workloads together. Nothing in the other layers imports it.

pub mod actions;
pub mod chart_hooks;
pub mod chart_values;
pub mod exposure;
pub mod fix;
pub mod guard;
pub mod plan;
pub mod render;
