//! The heading of the list of workloads: how many fail.

use serde::{Deserialize, Serialize};

/// How many workloads there are, and how many of them fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadTotals {
    /// Number of workloads.
    pub total: u32,
    /// Number of those with a failing release.
    pub failing: u32,
    /// Whether none fails and the state of a release is not known, because its cluster is offline.
    pub has_unknown: bool,
}

/// `1 of 12 workloads is failing.`
pub fn describe_totals(totals: WorkloadTotals) -> String {
    match (totals.total, totals.failing) {
        (0, _) => "Workloads".to_owned(),
        (1, 0) if totals.has_unknown => "The one workload is not known to be failing.".to_owned(),
        (total, 0) if totals.has_unknown => format!("None of {total} workloads is known to be failing."),
        (1, 0) => "The one workload is not failing.".to_owned(),
        (1, _) => "The one workload is failing.".to_owned(),
        (total, 0) => format!("None of {total} workloads is failing."),
        (total, 1) => format!("1 of {total} workloads is failing."),
        (total, some) => format!("{some} of {total} workloads are failing."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_answers_how_many_workloads_are_failing() {
        let title = |total, failing| describe_totals(WorkloadTotals { total, failing, has_unknown: false });
        assert_eq!(title(0, 0), "Workloads");
        assert_eq!(title(1, 0), "The one workload is not failing.");
        assert_eq!(title(12, 0), "None of 12 workloads is failing.");
        assert_eq!(title(12, 1), "1 of 12 workloads is failing.");
        assert_eq!(title(12, 3), "3 of 12 workloads are failing.");
    }

    #[test]
    fn with_an_offline_cluster_the_heading_does_not_say_that_nothing_is_failing() {
        let title = |total| describe_totals(WorkloadTotals { total, failing: 0, has_unknown: true });
        assert_eq!(title(1), "The one workload is not known to be failing.");
        assert_eq!(title(12), "None of 12 workloads is known to be failing.");
    }
}
