//! The image pull stage, between applied and operational (S0-8).

use domain::failure_cause::FailureCause;
use domain::health::{Health, HealthStatus};
use domain::release::stage::StageReason;
use domain::release::{Reason, StageState};

use super::diagnosis::Diagnosis;

/// Image pull state of all objects that run containers.
#[derive(Debug, Default)]
pub(crate) struct ImagePullStatus {
    failed: Vec<String>,
    waiting: Vec<String>,
}

impl ImagePullStatus {
    /// Adds one object with its own health and the diagnosis of its pods.
    pub(crate) fn add(&mut self, subject: &str, own: &Health, diagnosis: &Diagnosis) {
        // A pod that has ended pulls nothing any more: its cause is told, and fails nothing.
        let is_failure =
            |cause: &&FailureCause| cause.is_image_failure() && cause.status > HealthStatus::Healthy;
        let causes = diagnosis.causes.iter().filter(is_failure);
        let before = self.failed.len();
        self.failed.extend(causes.map(|cause| format!("{subject}: {}", cause.message())));
        let settled = own.status.is_operational() || own.status == HealthStatus::Suspended;
        if self.failed.len() == before && !settled && (diagnosis.pods == 0 || diagnosis.starting > 0) {
            self.waiting.push(match own.status {
                HealthStatus::Degraded => format!("{subject}: {}", own.message),
                _ if diagnosis.pods == 0 => format!("{subject} has no pods yet."),
                // What a pod waits for explains more than that its containers do not run.
                _ => match diagnosis.causes.first() {
                    Some(cause) => format!("{subject}: {}", cause.message()),
                    None => {
                        let pods = if diagnosis.starting == 1 { "pod" } else { "pods" };
                        format!(
                            "{subject}: the containers of {} {pods} are being created.",
                            diagnosis.starting
                        )
                    }
                },
            });
        }
    }

    /// The stage state.
    pub(crate) fn stage(self) -> StageState {
        if let Some((first, more)) = self.failed.split_first() {
            let more = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
            return StageState::Failed(StageReason::new(Reason::ImagePullFailed, format!("{first}{more}")));
        }
        match self.waiting.into_iter().next() {
            Some(message) => StageState::Running { message },
            None => StageState::Done,
        }
    }
}
