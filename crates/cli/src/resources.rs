//! The resources that commands name, list and print.

use crate::failure::Failure;

pub mod clusters;
pub mod deliveries;
pub mod releases;
pub mod workloads;

/// The resource that a command names, for "Did you mean …?" hints.
pub enum CommandTarget {
    Workload(String),
    Cluster(String),
    Unspecified,
}

/// The names of `--clusters`. An unset variable in a script must not select every cluster: an empty name is an error
/// with this hint.
pub fn parse_cluster_names(clusters: &[String], hint: &str) -> Result<Vec<String>, Failure> {
    if clusters.iter().any(|name| name.trim().is_empty()) {
        return Err(Failure::usage("--clusters contains an empty name.", hint));
    }
    Ok(clusters.iter().map(|name| name.trim().to_owned()).collect())
}
