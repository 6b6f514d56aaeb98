//! The outcome of a wait, and its message if the condition was not reached.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::release::{ReleaseState, StageState};
use domain::time::format_duration;
use wire::{TargetCluster, WorkloadStatus};

use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Printer, join_names};

/// What can be expected on a failed cluster without an action of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FailureOutlook {
    /// Nothing.
    NeedsChange,
    /// Further attempts, one of which may succeed.
    Retried,
    /// Everything is applied; Flotilla observes the objects.
    Unhealthy,
}

fn failure_outlook(target: &TargetCluster) -> FailureOutlook {
    match target.stages.current().map(|stage| &stage.state) {
        Some(StageState::Failed(reason) | StageState::Waiting(reason)) if reason.next_retry.is_some() => {
            FailureOutlook::Retried
        }
        _ if target.state == ReleaseState::Degraded => FailureOutlook::Unhealthy,
        _ => FailureOutlook::NeedsChange,
    }
}

/// The outcome of a wait, with the last status received.
pub struct WaitOutcome {
    /// The exit status.
    pub exit: ExitStatus,
    /// The last status; empty if the workload was deleted.
    pub last_status: WorkloadStatus,
    /// The duration of the wait.
    pub elapsed: Duration,
}

impl WaitOutcome {
    /// The duration of the wait as text.
    pub fn elapsed_text(&self) -> String {
        format_duration(i64::try_from(self.elapsed.as_millis()).unwrap_or(i64::MAX))
    }

    /// Names of the clusters that drift.
    pub fn drifted_clusters(&self) -> Vec<&str> {
        let targets = self.last_status.target_clusters.iter();
        let drifted = targets.filter(|target| target.state == ReleaseState::Drifted);
        drifted.map(|target| &*target.cluster_name).collect()
    }

    /// What happens next on the failed clusters. A retry is mentioned only where another attempt can succeed.
    fn failure_hint(&self) -> String {
        let mut names: BTreeMap<FailureOutlook, Vec<&str>> = BTreeMap::new();
        for target in self.last_status.target_clusters.iter().filter(|target| target.state.is_failing()) {
            names.entry(failure_outlook(target)).or_default().push(&target.cluster_name);
        }
        let sentences = names.into_iter().map(|(outlook, names)| {
            let names = join_names(&names);
            match outlook {
                FailureOutlook::NeedsChange => format!(
                    "No attempt can succeed on {names} before the cause is fixed: correct the draft and publish, or change the cluster and sync."
                ),
                FailureOutlook::Retried => format!("It is retried on {names}."),
                FailureOutlook::Unhealthy => {
                    format!("The revision is applied on {names}, and its objects are not healthy.")
                }
            }
        });
        sentences.collect::<Vec<_>>().join(" ")
    }

    /// The exit status, or a failure with counts and hints; `what` names the operation, such as "publish".
    pub fn to_result(&self, workload: &str, what: &str, out: &Printer) -> Result<ExitStatus, Failure> {
        let counts: Vec<String> = self
            .last_status
            .counts
            .iter_by_severity()
            .map(|(state, count)| format!("{count} {}", state.as_str()))
            .collect();
        let counts = if counts.is_empty() { "no status yet".to_owned() } else { counts.join(", ") };
        let hint = format!(
            "\"flotilla status {workload}\" shows the stages, \"flotilla events --workload {workload}\" the events."
        );
        match self.exit {
            ExitStatus::Partial => {
                let message = format!(
                    "{} of {} clusters failed ({counts}).",
                    self.last_status.counts.failing(),
                    self.last_status.counts.targeted()
                );
                Err(Failure::with_exit(
                    ExitStatus::Partial,
                    message,
                    format!("{} {hint}", self.failure_hint()),
                ))
            }
            ExitStatus::TimedOut => Err(Failure::with_exit(
                ExitStatus::TimedOut,
                format!("The wait timed out after {}: {counts}.", self.elapsed_text()),
                format!("The {what} continues. {hint}"),
            )),
            ExitStatus::Interrupted => {
                out.print_note(&format!("Stopped waiting; the {what} continues."));
                Ok(ExitStatus::Interrupted)
            }
            other => Ok(other),
        }
    }
}
