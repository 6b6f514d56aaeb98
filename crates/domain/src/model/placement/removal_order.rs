//! The order of removals (P28): a workload is added before it is removed, few clusters lose it at a time, and none while a
//! rollout is not completed.

use serde::{Deserialize, Serialize};

/// What a removal waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum RemovalWait {
    /// The rollout of the revision is not completed. After an abort the workload stays until the next publish.
    Rollout,
    /// Too few of the clusters that keep it are operational.
    Replacement,
    /// Other clusters are losing it.
    Order,
}

impl RemovalWait {
    /// What it waits for, as the end of a sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Rollout => "waits until the rollout is completed",
            Self::Replacement => "waits until enough of the other clusters run it",
            Self::Order => "waits until other clusters have removed it",
        }
    }
}

/// A cluster that is about to lose the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeavingCluster {
    /// Whether it runs the workload, as far as the hub knows.
    pub is_available: bool,
    /// Whether it is not offline. The removal from an offline cluster can't be observed, so it delays no other.
    pub is_reachable: bool,
}

/// The state on which removals depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovalLimits {
    /// Clusters that run the workload now, leaving ones included.
    pub available: u32,
    /// As many must run it after every removal.
    pub min_available: u32,
    /// Reachable clusters that are removing it now.
    pub in_flight: u32,
    /// Most of them at a time.
    pub max_in_flight: u32,
    /// Whether its rollout is not completed.
    pub is_rolling_out: bool,
}

impl RemovalLimits {
    /// Admits the removals that are possible now, in order; for each of the others what it waits for.
    pub fn admit(mut self, leaving: &[LeavingCluster]) -> Vec<Option<RemovalWait>> {
        leaving.iter().map(|one| self.admit_one(*one)).collect()
    }

    fn admit_one(&mut self, leaving: LeavingCluster) -> Option<RemovalWait> {
        let after = self.available.saturating_sub(u32::from(leaving.is_available));
        if self.is_rolling_out {
            return Some(RemovalWait::Rollout);
        }
        if after < self.min_available {
            return Some(RemovalWait::Replacement);
        }
        if leaving.is_reachable && self.in_flight >= self.max_in_flight {
            return Some(RemovalWait::Order);
        }
        self.available = after;
        self.in_flight += u32::from(leaving.is_reachable);
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RUNNING: LeavingCluster = LeavingCluster { is_available: true, is_reachable: true };

    fn limits(available: u32, min_available: u32) -> RemovalLimits {
        RemovalLimits { available, min_available, in_flight: 0, max_in_flight: 10, is_rolling_out: false }
    }

    #[test]
    fn p28_a_workload_that_moves_is_added_before_it_is_removed() {
        assert_eq!(limits(1, 1).admit(&[RUNNING]), [Some(RemovalWait::Replacement)]);
        assert_eq!(limits(2, 1).admit(&[RUNNING]), [None]);
        // Nobody selected a cluster: that was requested.
        assert_eq!(limits(1, 0).admit(&[RUNNING]), [None]);
        // What an offline cluster runs is not known, so it is no reason to remove the rest.
        let offline = LeavingCluster { is_available: false, is_reachable: false };
        assert_eq!(limits(0, 1).admit(&[offline]), [Some(RemovalWait::Replacement)]);
    }

    #[test]
    fn p28_few_clusters_lose_a_workload_at_a_time_and_none_during_its_rollout() {
        let few = RemovalLimits { max_in_flight: 2, in_flight: 1, ..limits(9, 1) };
        assert_eq!(few.admit(&[RUNNING, RUNNING]), [None, Some(RemovalWait::Order)]);
        let rolling_out = RemovalLimits { is_rolling_out: true, ..limits(9, 1) };
        assert_eq!(rolling_out.admit(&[RUNNING]), [Some(RemovalWait::Rollout)]);
    }

    proptest! {
        /// Clusters become and cease to be operational at random while others lose the workload.
        #[test]
        fn p28_removals_never_leave_fewer_than_the_minimum_and_end(
            selected in 1..8_usize, leaving in 1..12_usize, min_available in 1..8_u32, max_in_flight in 1..4_u32,
            changes in prop::collection::vec((0..20_usize, any::<bool>()), 0..40),
        ) {
            let min_available = min_available.min(selected as u32);
            let mut runs = vec![false; selected];
            runs.resize(selected + leaving, true);
            // 0 is to be removed, 1 is being removed, 2 is removed.
            let mut phases = vec![0_u8; leaving];
            let step = |runs: &mut Vec<bool>, phases: &mut Vec<u8>| {
                let waiting: Vec<usize> = (0..leaving).filter(|at| phases[*at] == 0).collect();
                let in_flight = phases.iter().filter(|phase| **phase == 1).count() as u32;
                let count = |runs: &[bool]| runs.iter().filter(|runs| **runs).count() as u32;
                let before = count(runs);
                let limits = RemovalLimits { available: before, min_available, in_flight, max_in_flight, is_rolling_out: false };
                let entries: Vec<LeavingCluster> = waiting
                    .iter()
                    .map(|at| LeavingCluster { is_available: runs[selected + at], is_reachable: true })
                    .collect();
                for (at, wait) in waiting.into_iter().zip(limits.admit(&entries)) {
                    if wait.is_none() {
                        runs[selected + at] = false;
                        phases[at] = 1;
                    }
                }
                let flying = phases.iter().filter(|phase| **phase == 1).count() as u32;
                (before, count(runs), flying)
            };
            for (at, is_running) in changes {
                let at = at % runs.len();
                if at < selected || phases[at - selected] == 0 {
                    runs[at] = is_running;
                } else {
                    phases[at - selected] = 2;
                }
                let (before, after, flying) = step(&mut runs, &mut phases);
                prop_assert!(after == before || after >= min_available);
                prop_assert!(flying <= max_in_flight);
            }
            // Once every selected cluster runs it, the removals complete.
            runs[..selected].fill(true);
            for _ in 0..leaving + 1 {
                phases.iter_mut().filter(|phase| **phase == 1).for_each(|phase| *phase = 2);
                step(&mut runs, &mut phases);
            }
            prop_assert!(phases.iter().all(|phase| *phase > 0));
        }
    }
}
