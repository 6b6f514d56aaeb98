//! A release that waits for the workloads that its own depends on (`dependsOn`).

use super::{DesiredRevision, RenderOutcome};
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::Connectivity;
use crate::model::release::stage::StageReason;
use crate::model::release::{Gate, Reason, Release, ReleaseGoal, ReleaseState, StageName, StageState};

impl Release {
    /// Sets the desired revision, which is not delivered while `message` says which workload it waits for: the cluster keeps its released
    /// bundle. One that the cluster may apply already does not wait: what runs is not stopped. Returns whether the desired state of
    /// the cluster changed.
    pub fn await_dependency(
        &mut self,
        next: DesiredRevision,
        message: impl Into<String>,
        at: Timestamp,
    ) -> bool {
        let DesiredRevision { revision, outcome, policies } = next;
        let waiting = StageState::Waiting(StageReason::new(Reason::WaitingForDependency, message));
        match outcome {
            // Its rollout was aborted or rolled back: nothing of this revision is delivered, whatever it waits for.
            RenderOutcome::Bundle(digest)
                if self.gate.is_ended()
                    && self.revision == Some(revision)
                    && self.desired.as_ref() == Some(&digest) =>
            {
                false
            }
            // It waits already: since when does not change with what it waits for.
            RenderOutcome::Bundle(digest)
                if self.is_awaiting_dependency()
                    && self.goal == ReleaseGoal::Present
                    && self.revision == Some(revision)
                    && self.desired.as_ref() == Some(&digest) =>
            {
                self.stages.set(StageName::Released, waiting, at);
                false
            }
            RenderOutcome::Bundle(digest) if !self.is_released(&digest, revision, &policies) => self
                .update_tracking_state(at, |release| {
                    release.revision = Some(revision);
                    release.stop_at_stage(StageName::Released, waiting, Some(digest), at)
                }),
            other => self.set_desired_revision(revision, other, policies, at),
        }
    }

    /// Whether its desired bundle waits for a workload that its own depends on.
    pub fn is_awaiting_dependency(&self) -> bool {
        let reason = self.stages.get(StageName::Released).state.reason();
        reason.is_some_and(|reason| reason.reason == Reason::WaitingForDependency)
    }

    /// Why workloads that depend on this one have to wait on its cluster, as a sentence for people; `None` if it is operational there in
    /// `revision`, the published one. What is not known is not operational.
    pub fn dependency_obstacle(&self, revision: u32) -> Option<String> {
        if self.goal != ReleaseGoal::Present {
            return Some("it is not placed there.".to_owned());
        }
        match self.connectivity {
            Connectivity::Online => {}
            Connectivity::Late => return Some("the cluster has not reported in time.".to_owned()),
            Connectivity::Offline => return Some("the cluster is offline.".to_owned()),
        }
        let is_delivered = self.gate == Gate::Open
            && self.revision == Some(revision)
            && self.applied.is_some()
            && self.desired == self.released
            && self.applied == self.released;
        let state = self.state();
        let is_operational = matches!(state, ReleaseState::Healthy | ReleaseState::NotAssessed);
        if is_delivered && is_operational {
            return None;
        }
        let message = self.message();
        if is_operational || message.is_empty() {
            return Some(format!("its revision {revision} is not operational there yet."));
        }
        Some(message)
    }
}
