//! State of a release between passes. It is rebuilt after a restart: what a restart must not forget is in the record.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use domain::Digest;
use domain::Timestamp;
use domain::health::Health;
use domain::object::ObjectRef;
use domain::plan::FieldChange;
use domain::policy::Feedback;
use domain::release::StageState;
use domain::report::{
    DesiredPhase, DesiredRelease, DriftReport, FieldRevertOutcome, ReleaseReport, TransitionTimes,
};
use tokio::time::Instant;

use super::retry::RetryState;
use crate::applied_release::{ContestedFields, ContestedObject};
use crate::health::CronJobRuns;

/// Self-heals older than this are not counted.
const CONTEST_WINDOW: Duration = Duration::from_secs(600);
/// Self-heals within the window that make an object contested (P13).
pub(crate) const CONTESTED_AFTER: usize = 3;
/// Self-heals of a field against the same controller are counted for so long after the first of them.
const CONTROLLER_WINDOW: Duration = Duration::from_secs(24 * 3_600);
/// Self-heals within that time that make the field contested, however far they are apart (P13).
pub(crate) const CONTESTED_BY_CONTROLLER_AFTER: u32 = 6;

/// State of one object.
#[derive(Debug, Default)]
pub(crate) struct ObjectState {
    pub failure: Option<RetryState>,
    /// Uid of the object of a hook that has failed; it is replaced at the next attempt.
    pub failed_run: Option<String>,
    /// Condition it waits for; unlike a failure it does not delay the next attempt.
    pub waiting: Option<RetryState>,
    /// Recent self-heals.
    pub heals: VecDeque<Heal>,
    /// How often each field was healed against the same controller, by its path.
    pub controller_heals: BTreeMap<String, ControllerHeals>,
    /// Fields that another manager changed again after they were healed repeatedly; they are left as they are until a publish or
    /// a sync. The record has them too.
    pub contested: BTreeSet<String>,
    /// Fields of the reported drift that is not healed.
    pub reported_drift: Option<Vec<String>>,
    /// The scaler that was reported to set fields of it; empty without any.
    pub reported_scaler: String,
    /// What became of the last request to revert fields of it.
    pub field_revert: Option<FieldRevertOutcome>,
    /// Why the revert of fields that is requested has failed; it is tried again when this is due.
    pub revert_failure: Option<RetryState>,
    /// Whether the contest was reported.
    pub is_contest_reported: bool,
    /// Live version and desired hash of the last comparison without difference.
    pub last_equal: Option<(String, String)>,
    /// Differences after the own apply, caused by the server; they are no drift.
    pub server_changes: Vec<FieldChange>,
    /// Latest health.
    pub health: Option<Health>,
    /// The runs of a CronJob at that time.
    pub cron_job_runs: Option<CronJobRuns>,
    /// Version assessed as healthy; the assessment is skipped until it changes.
    pub healthy_version: Option<String>,
    /// Feedback values to report.
    pub feedback: Vec<Feedback>,
    /// Last reported conditions with their transition times.
    pub last_reported: LastReported,
}

/// One self-heal of an object.
#[derive(Debug)]
pub(crate) struct Heal {
    pub at: Instant,
    /// Paths of the healed fields; empty if the object was missing.
    pub fields: Vec<String>,
}

/// The self-heals of a field against one field manager that is no person.
#[derive(Debug)]
pub(crate) struct ControllerHeals {
    manager: String,
    count: u32,
    /// The first of them.
    since: Instant,
}

/// Last reported conditions of an object, with their transition times.
#[derive(Debug, Default)]
pub(crate) struct LastReported {
    applied: Option<bool>,
    available: Option<bool>,
    drifted: Option<bool>,
    since: TransitionTimes,
}

impl LastReported {
    /// Updates the conditions; returns their transition times.
    pub(crate) fn update(
        &mut self,
        applied: bool,
        available: Option<bool>,
        drifted: bool,
        now: Timestamp,
    ) -> TransitionTimes {
        let update = |old: &mut Option<bool>, new: Option<bool>, since: &mut Option<Timestamp>| {
            if *old != new || since.is_none() {
                (*old, *since) = (new, new.map(|_| now));
            }
        };
        update(&mut self.applied, Some(applied), &mut self.since.applied);
        update(&mut self.available, available, &mut self.since.available);
        update(&mut self.drifted, Some(drifted), &mut self.since.drifted);
        self.since
    }
}

impl ObjectState {
    /// Number of self-heals within the window.
    pub(crate) fn recent_heals(&mut self) -> usize {
        while self.heals.front().is_some_and(|heal| heal.at.elapsed() > CONTEST_WINDOW) {
            self.heals.pop_front();
        }
        if self.heals.is_empty() && self.contested.is_empty() {
            self.is_contest_reported = false;
        }
        self.heals.len()
    }

    /// Whether a field was healed so often within the window that another change of it is a contest.
    pub(crate) fn is_healed_repeatedly(&self, path: &str) -> bool {
        let heals = self.heals.iter().filter(|heal| heal.fields.iter().any(|field| field == path));
        heals.count() >= CONTESTED_AFTER
    }

    /// Counts a self-heal of a field against this controller. Another one begins a count of its own.
    pub(crate) fn count_controller_heal(&mut self, path: &str, manager: &str) {
        self.controller_heals.retain(|_, heals| heals.since.elapsed() <= CONTROLLER_WINDOW);
        let first = || ControllerHeals { manager: manager.to_owned(), count: 0, since: Instant::now() };
        let heals = self.controller_heals.entry(path.to_owned()).or_insert_with(first);
        if heals.manager != manager {
            *heals = first();
        }
        heals.count += 1;
    }

    /// Whether a field was healed so often against this controller that another change by it is a contest.
    pub(crate) fn is_healed_against(&self, path: &str, manager: &str) -> bool {
        self.controller_heals.get(path).is_some_and(|heals| {
            heals.manager == manager
                && heals.count >= CONTESTED_BY_CONTROLLER_AFTER
                && heals.since.elapsed() <= CONTROLLER_WINDOW
        })
    }
}

/// State of a release.
#[derive(Debug, Default)]
pub(crate) struct ReconcileState {
    generation: i64,
    sync_nonce: i64,
    /// Revision and sync that a person decided last; `None` before the first desired state.
    decision: Option<(u32, i64)>,
    /// Whether drift is reverted although the policy is to notify, because a user has requested a sync; until everything is applied.
    pub reverts_drift: bool,
    pub objects: HashMap<ObjectRef, ObjectState>,
    /// The bundle that is applied completely.
    pub applied: Option<Digest>,
    /// Whether `apply_settings` was read from the record.
    pub is_record_loaded: bool,
    /// Latest failure of the preflight.
    pub preflight_failure: Option<RetryState>,
    /// Generation and nonce of the desired release for which the hub was first detected to be behind.
    pub hub_behind_request: Option<(i64, i64)>,
    /// Latest failure to write the record.
    pub record_failure: Option<RetryState>,
    /// The bundle that Helm's record of the release is about.
    pub recorded_bundle: Option<Digest>,
    /// Latest failure to write Helm's record.
    pub helm_failure: Option<RetryState>,
    /// Generation that last pruned objects.
    pub pruned_generation: Option<i64>,
    /// Objects of this generation that are left on the cluster because of their annotation, with the reason.
    pub retained: Vec<String>,
    /// Uids with a requested deletion.
    pub deletion_requested: HashSet<String>,
    /// Drift notes for the next report.
    pub drift_notes: Vec<DriftReport>,
    /// The latest report.
    pub last_report: Option<ReleaseReport>,
    /// Whether the latest report was sent.
    pub is_reported: bool,
}

impl ReconcileState {
    pub(crate) fn object_mut(&mut self, object: &ObjectRef) -> &mut ObjectState {
        if !self.objects.contains_key(object) {
            self.objects.insert(object.clone(), ObjectState::default());
        }
        self.objects.entry(object.clone()).or_default()
    }

    /// The state of the prune stage, with the objects that are left on the cluster.
    pub(crate) fn describe_retained(&self, state: StageState) -> StageState {
        match state {
            StageState::Done if !self.retained.is_empty() => {
                StageState::Skipped { message: self.retained.join(" ") }
            }
            other => other,
        }
    }

    /// Resets all back-offs on a new generation or sync request: a fix must not wait for the back-off of the failure
    /// before.
    pub(crate) fn reset_on_new_request(&mut self, desired_release: &DesiredRelease) {
        self.end_contests_on_new_decision(desired_release);
        if (desired_release.generation, desired_release.sync_nonce) == (self.generation, self.sync_nonce) {
            return;
        }
        // The first desired state after a start is no request of a user.
        self.reverts_drift =
            self.generation == desired_release.generation && self.sync_nonce < desired_release.sync_nonce;
        (self.generation, self.sync_nonce) = (desired_release.generation, desired_release.sync_nonce);
        // Its outcome is reported even if it is that of before: the hub waits for it.
        self.is_reported = false;
        self.preflight_failure = None;
        self.record_failure = None;
        self.helm_failure = None;
        self.recorded_bundle = None;
        self.deletion_requested.clear();
        self.retained.clear();
        for object in self.objects.values_mut() {
            object.failure = None;
            object.waiting = None;
            object.healthy_version = None;
            object.last_equal = None;
            object.heals.clear();
            object.reported_drift = None;
        }
    }

    /// Ends all contests on a new revision or sync. Another generation of the same revision, such as for a label of the cluster,
    /// is no decision about them.
    fn end_contests_on_new_decision(&mut self, desired_release: &DesiredRelease) {
        let DesiredPhase::Present { revision, .. } = &desired_release.phase else { return };
        let decision = Some((*revision, desired_release.sync_nonce));
        if self.decision == decision {
            return;
        }
        self.decision = decision;
        for object in self.objects.values_mut() {
            object.heals.clear();
            object.controller_heals.clear();
            object.contested.clear();
            object.is_contest_reported = false;
        }
    }

    /// Takes over the contests of the record after a restart, if nobody has decided since. They were reported before.
    pub(crate) fn restore_contests(&mut self, recorded: &ContestedFields) {
        if self.decision != Some((recorded.revision, recorded.sync_nonce)) {
            return;
        }
        for contested in &recorded.objects {
            let object = self.object_mut(&contested.object);
            object.contested.extend(contested.fields.iter().cloned());
            object.is_contest_reported = true;
        }
    }

    /// The contests for the record; `None` without any.
    pub(crate) fn contested_fields(&self) -> Option<ContestedFields> {
        let (revision, sync_nonce) = self.decision?;
        let contested = self.objects.iter().filter(|(_, state)| !state.contested.is_empty());
        let mut objects: Vec<ContestedObject> = contested
            .map(|(object, state)| ContestedObject {
                object: object.clone(),
                fields: state.contested.iter().cloned().collect(),
            })
            .collect();
        objects.sort();
        (!objects.is_empty()).then_some(ContestedFields { revision, sync_nonce, objects })
    }
}
