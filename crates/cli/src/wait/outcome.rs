//! The outcome of a wait, and its message if the condition was not reached.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::release::{ReleaseState, StageState};
use domain::time::format_duration;
use wire::{TargetCluster, WorkloadStatus};

use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Printer, join_names, sanitize};

/// Most reasons that the message of a timeout names.
const MAX_REASONS: usize = 3;

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

    /// What the clusters wait for that do not have what was waited for, as sentences: those that wait for their wave last, because the
    /// others are the cause. Empty if none of them has a reason.
    fn open_reasons(&self) -> String {
        let is_open = |target: &&TargetCluster| {
            let has_arrived = matches!(
                target.state,
                ReleaseState::Healthy | ReleaseState::NotAssessed | ReleaseState::Suspended
            );
            !has_arrived && !target.state.is_gone() && !target.message.is_empty()
        };
        let mut open: Vec<&TargetCluster> = self.last_status.target_clusters.iter().filter(is_open).collect();
        open.sort_by_key(|target| target.state == ReleaseState::Pending);
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for target in open {
            let (message, name) = (target.message.as_str(), target.cluster_name.as_str());
            match reasons.iter_mut().find(|(known, _)| *known == message) {
                Some((_, names)) => names.push(name),
                None => reasons.push((message, vec![name])),
            }
        }
        let shown = reasons.iter().take(MAX_REASONS).map(|(message, names)| {
            format!(" On {}: {}.", join_names(names), sanitize(message.trim_end_matches('.')))
        });
        let mut text: String = shown.collect();
        let others: usize = reasons.iter().skip(MAX_REASONS).map(|(_, names)| names.len()).sum();
        if others > 0 {
            text.push_str(&format!(" {others} more wait for other reasons."));
        }
        text
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
                format!("The wait timed out after {}: {counts}.{}", self.elapsed_text(), self.open_reasons()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::condition::tests::target_cluster;

    fn timed_out(targets: &[(&str, ReleaseState, &str)]) -> String {
        let target = |(name, state, message): &(&str, ReleaseState, &str)| TargetCluster {
            message: (*message).to_owned(),
            ..target_cluster(name, *state, 2)
        };
        let target_clusters: Vec<TargetCluster> = targets.iter().map(target).collect();
        let counts = target_clusters.iter().map(|target| target.state).collect();
        let last_status = WorkloadStatus { counts, target_clusters, ..WorkloadStatus::default() };
        let outcome =
            WaitOutcome { exit: ExitStatus::TimedOut, last_status, elapsed: Duration::from_secs(20) };
        match outcome.to_result("web", "publish", &Printer::new()) {
            Err(Failure::Report(report)) => report.message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_wait_that_timed_out_names_what_it_waited_for() {
        let paused = "Deployment shop/web: is paused, which its manifest does not say";
        let message = timed_out(&[
            ("eu-1", ReleaseState::Pending, "It waits for wave 2."),
            ("eu-2", ReleaseState::Healthy, "All is well."),
            ("us-1", ReleaseState::Progressing, paused),
            ("us-2", ReleaseState::Progressing, paused),
        ]);
        assert!(message.starts_with("The wait timed out after 20"), "{message}");
        let reasons = format!("On us-1, us-2: {paused}. On eu-1: It waits for wave 2.");
        assert!(message.ends_with(&reasons), "{message}");
        let many: Vec<String> = (0..5).map(|number| format!("Reason {number}.")).collect();
        let targets: Vec<_> =
            many.iter().map(|reason| ("eu-1", ReleaseState::Applying, reason.as_str())).collect();
        assert!(timed_out(&targets).ends_with(" On eu-1: Reason 2. 2 more wait for other reasons."));
    }
}
