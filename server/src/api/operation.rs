//! Operations on workloads, with their outcome per cluster (S1-13).

pub mod get;
pub mod list;
