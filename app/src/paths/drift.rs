//! Addresses of the drift inbox.

use super::query;

/// The drift inbox.
pub const DRIFT: &str = "/drift";

/// What drifts of a workload, on all clusters if `cluster` is empty.
pub fn drift_of(workload: &str, cluster: &str) -> String {
    query(DRIFT, &[("workload", workload), ("cluster", cluster)])
}
