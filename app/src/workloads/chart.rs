//! A chart as the source of a workload: which chart, its release name and its common values.

pub mod fields;
pub mod queries;
