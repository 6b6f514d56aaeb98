//! Transitions: the only functions that change a release.

use super::stage::{StageReason, explain_old_agent};
use super::{Gate, Reason, Release, ReleaseGoal, StageName, StageState, Stages, SyncStatus};
use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::{ClusterId, ReleaseId, WorkloadId};
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::Connectivity;
use crate::model::health::Health;
use crate::model::policy::{DeletionPolicy, Policies};
use crate::model::report::{DesiredPhase, DesiredRelease, ReleaseReport};

mod abandonment;
mod approval;
mod dependencies;
mod rollback;
mod suspension;

pub use rollback::RollbackTarget;

/// Why a report was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportRejected {
    /// It is about an older generation of the desired release.
    OldGeneration,
    /// It is about a generation newer than the hub's: the hub was restored from an older backup.
    UnknownGeneration,
    /// No report is expected: the release is over, or was never sent to the cluster.
    NotExpected,
}

/// The result of rendering for one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderOutcome {
    /// The digest of the bundle.
    Bundle(Digest),
    /// There is no bundle; rendering is retried with the next change.
    Failed(StageReason),
    /// There is no bundle yet: it needs a value or artifact that is not available. This is not an error (S4-9).
    Waiting(StageReason),
}

/// The revision that a cluster should run next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredRevision {
    /// Number of the revision.
    pub revision: u32,
    /// The result of rendering it.
    pub outcome: RenderOutcome,
    /// Its policies.
    pub policies: Policies,
}

/// The fields of a release that determine its [`DesiredRelease`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseSpec {
    /// The release.
    pub release: ReleaseId,
    /// Name of its workload.
    pub workload: String,
    /// Its desired phase.
    pub goal: ReleaseGoal,
    /// Its generation.
    pub generation: i64,
    /// Number of syncs requested by a person.
    pub sync_nonce: i64,
    /// Revision number of `released`.
    pub revision: Option<u32>,
    /// Digest of the bundle that the cluster may apply.
    pub released: Option<Digest>,
    /// Its policies.
    pub policies: Policies,
}

impl ReleaseSpec {
    /// What the agent receives; `None` if the cluster has nothing to do.
    pub fn into_desired_release(self) -> Option<DesiredRelease> {
        let goal = match self.goal {
            ReleaseGoal::Present => DesiredPhase::Present {
                bundle: self.released?,
                revision: self.revision?,
                policies: self.policies,
            },
            ReleaseGoal::Removing { deletion, .. } => {
                DesiredPhase::Absent { deletion, policies: self.policies }
            }
            _ => return None,
        };
        Some(DesiredRelease {
            release: self.release,
            workload: self.workload,
            generation: self.generation,
            sync_nonce: self.sync_nonce,
            phase: goal,
        })
    }
}

impl Release {
    /// A release without a desired revision.
    pub fn new(id: ReleaseId, workload: WorkloadId, cluster: ClusterId, at: Timestamp) -> Self {
        Self {
            id,
            workload,
            cluster,
            goal: ReleaseGoal::Present,
            generation: 0,
            sync_nonce: 0,
            revision: None,
            wave: None,
            gate: Gate::Open,
            policies: Policies::default(),
            desired: None,
            released: None,
            released_revision: None,
            rollback: None,
            applied: None,
            applied_revision: None,
            installed_revision: None,
            confirmed_revision: None,
            rendered_facts: None,
            rendered_facts_revision: None,
            facts_comparison: None,
            admitted_offline: false,
            stages: Stages::default(),
            sync: SyncStatus::Pending,
            health: Health::default(),
            connectivity: Connectivity::Offline,
            reported_at: None,
            state_since: at,
        }
    }

    /// Sets the desired revision without a gate. Returns whether the desired state of the cluster changed: the same
    /// bundle with the same policies is no change (S4-5, P26), unless they have fields written once per revision.
    pub fn set_desired_revision(
        &mut self,
        revision: u32,
        rendered: RenderOutcome,
        policies: Policies,
        at: Timestamp,
    ) -> bool {
        self.update_tracking_state(at, |release| {
            release.revision = Some(revision);
            match rendered {
                RenderOutcome::Bundle(digest) if release.is_released(&digest, revision, &policies) => {
                    release.desired = Some(digest);
                    release.record_rollback_target();
                    release.record_admission();
                    release.gate = Gate::Open;
                    release.finish_hub_stages(StageName::Notified, at);
                    false
                }
                RenderOutcome::Bundle(digest) => {
                    release.start_delivery(digest, policies, at);
                    true
                }
                RenderOutcome::Failed(stage_reason) => {
                    release.stop_at_rendering(StageState::Failed(stage_reason), at)
                }
                RenderOutcome::Waiting(stage_reason) => {
                    release.stop_at_rendering(StageState::Waiting(stage_reason), at)
                }
            }
        })
    }

    /// Sets the desired revision and gates it: the cluster keeps its released bundle until [`Release::admit`]. `message` names the
    /// wave that it waits for. One that has the bundle is not gated. Returns whether its desired state changed.
    pub fn gate_revision(
        &mut self,
        next: DesiredRevision,
        message: impl Into<String>,
        at: Timestamp,
    ) -> bool {
        let DesiredRevision { revision, outcome: rendered, policies } = next;
        let waiting = StageState::Waiting(StageReason::new(Reason::WaitingForWave, message));
        match rendered {
            // Already gated for this bundle, or its rollout was aborted or rolled back.
            RenderOutcome::Bundle(digest)
                if self.gate != Gate::Open
                    && self.revision == Some(revision)
                    && self.desired.as_ref() == Some(&digest) =>
            {
                if self.is_gated() {
                    // Another wave, or the same one among more.
                    self.stages.set(StageName::Released, waiting, at);
                }
                false
            }
            RenderOutcome::Bundle(digest) if !self.is_released(&digest, revision, &policies) => self
                .update_tracking_state(at, |release| {
                    release.revision = Some(revision);
                    let is_changed = release.stop_at_stage(StageName::Released, waiting, Some(digest), at);
                    release.gate = Gate::Closed;
                    is_changed
                }),
            other => self.set_desired_revision(revision, other, policies, at),
        }
    }

    /// Admits the release: its desired bundle may be applied now. Returns whether it was gated.
    pub fn admit(&mut self, policies: Policies, at: Timestamp) -> bool {
        let Some(digest) = self.desired.clone().filter(|_| self.is_gated()) else { return false };
        self.update_tracking_state(at, |release| release.start_delivery(digest, policies, at));
        true
    }

    /// Its rollout was aborted, as `message` says: it keeps its released bundle until the next publish. Returns whether it
    /// was gated.
    pub fn end_gate(&mut self, message: impl Into<String>, at: Timestamp) -> bool {
        let was_gated = self.is_gated();
        if was_gated {
            self.update_tracking_state(at, |release| {
                let aborted = StageReason::new(Reason::RolloutAborted, message);
                release.gate = Gate::Aborted;
                release.stages.set(StageName::Released, StageState::Waiting(aborted), at);
            });
        }
        was_gated
    }

    /// Sets the wave that delivers the desired revision; `None` without waves.
    pub fn set_wave(&mut self, wave: Option<u32>) {
        self.wave = wave;
    }

    /// Whether this bundle is already released with these policies. Where they have fields written again by every revision, the
    /// agent must receive each revision when its wave admits it, not with its next full read of the desired state.
    fn is_released(&self, digest: &Digest, revision: u32, policies: &Policies) -> bool {
        self.goal == ReleaseGoal::Present
            && self.policies == *policies
            && self.released.as_ref() == Some(digest)
            && (self.released_revision == Some(revision) || !policies.has_fields_written_per_revision())
    }

    fn start_delivery(&mut self, digest: Digest, policies: Policies, at: Timestamp) {
        self.record_rollback_target();
        if self.goal != ReleaseGoal::Present {
            self.health = Health::default();
            self.installed_revision = None;
        }
        self.goal = ReleaseGoal::Present;
        self.generation += 1;
        self.gate = Gate::Open;
        self.policies = policies;
        self.desired = Some(digest.clone());
        self.released = Some(digest);
        self.record_admission();
        self.sync = self.initial_sync();
        self.stages.reset_from(StageName::Accepted);
        self.finish_hub_stages(StageName::Notified, at);
    }

    /// From now on the cluster may apply `revision`. A later delivery of the same revision is no other admission: a cluster
    /// that it cut off must not be taken for one that was offline before.
    fn record_admission(&mut self) {
        if self.released_revision != self.revision {
            self.released_revision = self.revision;
            self.admitted_offline = self.connectivity == Connectivity::Offline;
        }
        self.update_applied_revision();
    }

    /// Sets the revision of the applied bundle. A bundle that is neither released nor new keeps its revision.
    fn update_applied_revision(&mut self) {
        if self.applied.is_none() {
            self.applied_revision = None;
        } else if self.applied == self.released {
            self.applied_revision = self.released_revision;
            if self.goal == ReleaseGoal::Present && self.installed_revision.is_none() {
                self.installed_revision = self.applied_revision;
            }
        }
    }

    /// Sets the connectivity. A cluster that was reached has been so since its admission.
    fn update_connectivity(&mut self, reach: Connectivity) -> bool {
        self.admitted_offline &= reach == Connectivity::Offline;
        std::mem::replace(&mut self.connectivity, reach) != reach
    }

    /// There is no bundle.
    fn stop_at_rendering(&mut self, state: StageState, at: Timestamp) -> bool {
        self.stop_at_stage(StageName::Rendered, state, None, at)
    }

    /// Stops at the hub's stage `until`. `released` still refers to the last good bundle, and the agent's stages for it
    /// are retained, so that nothing has to be sent again if that bundle becomes the desired one again. Returns whether
    /// the desired state of the cluster changed.
    fn stop_at_stage(
        &mut self,
        until: StageName,
        state: StageState,
        desired: Option<Digest>,
        at: Timestamp,
    ) -> bool {
        let was = std::mem::replace(&mut self.goal, ReleaseGoal::Present);
        self.gate = Gate::Open;
        self.desired = desired;
        match &was {
            ReleaseGoal::Present => {}
            // The removal is cancelled: restore the released bundle.
            ReleaseGoal::Removing { .. } => self.restore_present(),
            // Do not restore a removed bundle only because the new revision is not available.
            ReleaseGoal::Removed { .. } | ReleaseGoal::Orphaned { .. } | ReleaseGoal::Abandoned { .. } => {
                self.released = None;
                self.released_revision = None;
                self.restore_present();
            }
        }
        self.finish_hub_stages(until, at);
        self.stages.set(StageName::Released, StageState::Pending, at);
        self.stages.set(until, state, at);
        matches!(was, ReleaseGoal::Removing { .. }) && self.released.is_some()
    }

    fn restore_present(&mut self) {
        self.installed_revision = None;
        self.generation += 1;
        self.health = Health::default();
        self.sync = self.initial_sync();
        self.stages.reset_from(StageName::Accepted);
    }

    fn initial_sync(&self) -> SyncStatus {
        if self.applied.is_some() { SyncStatus::Stale } else { SyncStatus::Pending }
    }

    /// Marks the hub's stages before `until` as finished. Approval is required per wave, not per cluster.
    fn finish_hub_stages(&mut self, until: StageName, at: Timestamp) {
        for name in StageName::ALL.iter().copied().take_while(|name| *name < until) {
            let state = match name {
                StageName::Approved => self.end_approval(until),
                _ => StageState::Done,
            };
            self.stages.set(name, state, at);
        }
    }

    /// Starts the removal from the cluster. Returns whether anything changed.
    pub fn remove(&mut self, deletion: DeletionPolicy, why: &str, at: Timestamp) -> bool {
        self.update_tracking_state(at, |release| match &release.goal {
            ReleaseGoal::Present => {
                release.wave = None;
                release.gate = Gate::Open;
                release.generation += 1;
                release.goal = ReleaseGoal::Removing { deletion, message: why.to_owned(), since: at };
                release.sync = SyncStatus::Removing;
                release.stages.reset_from(StageName::Notified);
                // Never sent to the cluster, so there is nothing to remove.
                if release.released.is_none() && release.applied.is_none() {
                    release.goal = ReleaseGoal::Removed { since: at };
                    release.sync = SyncStatus::Removed;
                }
                true
            }
            _ => false,
        })
    }

    /// Requests an immediate sync that resets the agent's back-offs (S1-21: it never adds targets).
    pub fn request_sync(&mut self) {
        self.sync_nonce += 1;
    }

    /// Sets the connectivity of the cluster. Returns whether it changed.
    pub fn set_connectivity(&mut self, reach: Connectivity, at: Timestamp) -> bool {
        self.update_tracking_state(at, |release| release.update_connectivity(reach))
    }

    /// Applies a report of the cluster.
    ///
    /// # Errors
    /// The report is late, from the future or not expected; nothing changed.
    pub fn apply_report(&mut self, report: &ReleaseReport, at: Timestamp) -> Result<(), ReportRejected> {
        match report.generation {
            late if late < self.generation => return Err(ReportRejected::OldGeneration),
            future if future > self.generation => return Err(ReportRejected::UnknownGeneration),
            _ => {}
        }
        if !self.is_expecting_reports() {
            return Err(ReportRejected::NotExpected);
        }
        self.update_tracking_state(at, |release| {
            release.update_connectivity(Connectivity::Online);
            release.reported_at = Some(at);
            release.update_health(&report.health, at);
            release.update_stages(report, at);
            release.applied.clone_from(&report.applied);
            release.update_applied_revision();
            release.sync = report.sync;
            if let ReleaseGoal::Removing { deletion, .. } = release.goal {
                release.update_removal(report, deletion, at);
            } else {
                release.update_confirmation(at);
            }
        });
        Ok(())
    }

    /// Whether the cluster has a desired release to report on.
    fn is_expecting_reports(&self) -> bool {
        match self.goal {
            ReleaseGoal::Present => self.released.is_some(),
            ReleaseGoal::Removing { .. } => true,
            _ => false,
        }
    }

    fn update_health(&mut self, health: &Health, at: Timestamp) {
        let since = if health.status == self.health.status { self.health.since } else { None };
        self.health = Health { since: since.or(Some(at)), ..health.clone() };
    }

    fn update_stages(&mut self, report: &ReleaseReport, at: Timestamp) {
        for name in StageName::ALL.iter().copied().filter(|name| name.is_reported_by_agent()) {
            let reported = report.stages.iter().find(|stage| stage.name == name);
            let mut state = reported.map_or(StageState::Pending, |stage| stage.state.clone());
            explain_old_agent(&mut state);
            self.stages.set(name, state, at);
        }
    }

    fn update_removal(&mut self, report: &ReleaseReport, deletion: DeletionPolicy, at: Timestamp) {
        self.sync = SyncStatus::Removing;
        if report.removed {
            self.applied = None;
            self.update_applied_revision();
            self.sync = SyncStatus::Removed;
            self.goal = final_goal(deletion, at);
        }
    }

    /// Sets the last stage: confirmed once the cluster reports the released bundle as operational (S0-10).
    fn update_confirmation(&mut self, at: Timestamp) {
        let confirmed = self.applied.is_some()
            && self.applied == self.released
            && self.health.status.is_operational()
            && self.stages.get(StageName::Operational).state.is_finished();
        if confirmed {
            self.confirmed_revision = self.released_revision;
        }
        let state = if confirmed { StageState::Done } else { StageState::Pending };
        self.stages.set(StageName::Confirmed, state, at);
    }

    /// What the agent receives; `None` if the cluster has nothing to do.
    pub fn desired_release(&self, workload: &str) -> Option<DesiredRelease> {
        let expected = ReleaseSpec {
            release: self.id,
            workload: workload.to_owned(),
            goal: self.goal.clone(),
            generation: self.generation,
            sync_nonce: self.sync_nonce,
            revision: self.released_revision,
            released: self.released.clone(),
            policies: self.policies.clone(),
        };
        expected.into_desired_release()
    }

    /// Runs `change` and updates `state_since` if the derived state changed.
    fn update_tracking_state<T>(&mut self, at: Timestamp, change: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.state();
        let result = change(self);
        if self.state() != before {
            self.state_since = at;
        }
        result
    }
}

/// The final phase of a removal.
fn final_goal(deletion: DeletionPolicy, since: Timestamp) -> ReleaseGoal {
    match deletion {
        DeletionPolicy::Foreground | DeletionPolicy::SelectivelyOrphan => ReleaseGoal::Removed { since },
        DeletionPolicy::Orphan => ReleaseGoal::Orphaned { since },
    }
}
