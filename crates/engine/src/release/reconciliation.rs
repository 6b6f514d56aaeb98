//! State of one reconciliation pass, shared by its steps.

use std::sync::Arc;
use std::time::Duration;

use domain::failure_cause::FailureCause;
use domain::finding::Finding;
use domain::health::Health;
use domain::object::ObjectRef;
use domain::policy::{DeletionPolicy, Policies, UpdateStrategy};
use domain::release::stage::StageReason;
use domain::release::{Reason, StageName, StageState};
use domain::report::{DesiredPhase, DriftedField, StageReport};
use domain::{ReleaseId, Timestamp};
use tokio::time::Instant;

use super::preflight::defined_kinds;
use super::reconcile_state::ReconcileState;
use super::retry::RetryState;
use super::{EngineContext, ReconcileRequest, ReleaseWorker};
use crate::api::{ApiClient, ServedKind};
use crate::applied_release::{AppliedRelease, HookProgress, InventoryEntry};
use crate::desired_object::{DesiredObject, PreparedBundle};
use crate::error::Error;
use crate::object_policy::{ObjectPolicies, ObjectPolicy};
use crate::observe::{LiveObject, ObjectCache};

/// Whether the next step may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReconcileFlow {
    /// Continue with the next step.
    Continue,
    /// Stop and report; an event or timer starts the next pass.
    Stop,
    /// A newer request arrived: restart immediately.
    Restart,
}

/// One object of the bundle during a pass.
pub(crate) struct TargetObject {
    /// The object as the bundle describes it.
    pub desired: Arc<DesiredObject>,
    /// Its kind; `None` while the cluster does not serve it and the bundle does not define it.
    pub kind: Option<ServedKind>,
    /// Cache of its kind; `None` until its definition is established.
    pub cache: Option<Arc<ObjectCache>>,
    /// Whether the desired content is applied.
    pub applied: bool,
    /// Whether it completed.
    pub completed: bool,
    /// Whether it existed before and may contain foreign objects.
    pub shared: bool,
    /// Drifted fields that are not healed.
    pub drifted_fields: Vec<DriftedField>,
    /// Why it is not applied; `None` if it is.
    pub blocked_by: Option<StageState>,
    pub problem: Option<Finding>,
    pub health: Health,
    pub causes: Vec<FailureCause>,
    /// Whether its health counts towards the release.
    pub counts_for_health: bool,
}

impl TargetObject {
    /// The object as last observed.
    pub(crate) fn live_object(&self) -> Option<Arc<LiveObject>> {
        self.cache.as_ref()?.get(&self.desired.object.namespace, &self.desired.object.name)
    }
}

/// One object that is not in the bundle: it is being removed, or is a hook that runs.
pub(crate) struct PruneItem {
    pub object: ObjectRef,
    /// Plural name in URLs.
    pub plural: String,
    pub health: Health,
    pub problem: Option<Finding>,
}

/// One reconciliation pass.
pub(crate) struct Reconciliation<'a> {
    pub cx: &'a EngineContext,
    pub worker: &'a ReleaseWorker,
    pub state: &'a mut ReconcileState,
    pub request: Arc<ReconcileRequest>,
    request_version: u64,
    pub started_at: Instant,
    pub now: Timestamp,
    pub policies: Policies,
    pub object_policies: Arc<ObjectPolicies>,
    pub revision: u32,
    pub prepared: Arc<PreparedBundle>,
    pub targets: Vec<TargetObject>,
    pub prune_items: Vec<PruneItem>,
    /// The entries to write to the record.
    pub inventory: Vec<InventoryEntry>,
    /// Which hooks have run.
    pub hook_progress: Option<HookProgress>,
    pub stages: Vec<StageReport>,
    /// Whether this pass wrote objects.
    pub has_written: bool,
    next_wakeup: Option<Instant>,
}

impl<'a> Reconciliation<'a> {
    pub(crate) fn new(
        cx: &'a EngineContext,
        worker: &'a ReleaseWorker,
        reconcile_state: &'a mut ReconcileState,
        request: Arc<ReconcileRequest>,
        request_version: u64,
    ) -> Self {
        let (policies, revision, digest) = match &request.desired.phase {
            DesiredPhase::Present { policies, revision, bundle } => {
                (policies.clone(), *revision, Some(bundle.clone()))
            }
            DesiredPhase::Absent { policies, .. } => (policies.clone(), 0, None),
        };
        let empty = || PreparedBundle {
            digest: digest.unwrap_or_else(|| domain::Digest::compute(b"")),
            objects: Vec::new(),
            hooks: Vec::new(),
            helm_release: None,
        };
        let prepared = request.prepared.clone().unwrap_or_else(|| Arc::new(empty()));
        let policies = policies.with_chart_crds(prepared.chart_crds());
        let targets = prepared.objects.iter().map(new_target).collect();
        let record = cx.applied_releases.get(worker.id);
        let object_policies = ObjectPolicies::new(&policies, &cx.observed.cluster)
            .at_revision(revision)
            .with_record(&policies, &prepared, record.as_deref());
        Self {
            cx,
            worker,
            state: reconcile_state,
            request,
            request_version,
            started_at: Instant::now(),
            now: cx.api.now(),
            object_policies: Arc::new(object_policies),
            policies,
            revision,
            prepared,
            targets,
            prune_items: Vec::new(),
            inventory: Vec::new(),
            hook_progress: None,
            stages: Vec::new(),
            has_written: false,
            next_wakeup: None,
        }
    }

    pub(crate) fn release(&self) -> ReleaseId {
        self.worker.id
    }

    /// Whether a newer request has arrived.
    pub(crate) fn is_outdated(&self) -> bool {
        self.worker.request_version() != self.request_version
    }

    pub(crate) fn set_stage(&mut self, name: StageName, state: StageState) {
        self.stages.retain(|stage| stage.name != name);
        self.stages.push(StageReport { name, state });
    }

    /// Whether a stage is finished.
    pub(crate) fn is_over(&self, name: StageName) -> bool {
        self.stages.iter().any(|stage| stage.name == name && stage.state.is_finished())
    }

    /// Schedules the next pass for `at` at the latest.
    pub(crate) fn wake_at(&mut self, at: Instant) {
        self.next_wakeup = Some(self.next_wakeup.map_or(at, |earlier| earlier.min(at)));
    }

    pub(crate) fn wake_in(&mut self, pause: Duration) {
        self.wake_at(Instant::now() + pause);
    }

    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        self.next_wakeup
    }

    /// Loads the record: its entries, and once the applied bundle.
    pub(crate) fn load_record(&mut self) -> Option<Arc<AppliedRelease>> {
        let record = self.cx.applied_releases.get(self.worker.id);
        if let Some(record) = &record {
            self.inventory = match self.request.desired.phase {
                DesiredPhase::Present { revision, .. } => record.entries_for(revision),
                DesiredPhase::Absent { .. } => record.resources.clone(),
            };
            self.hook_progress.clone_from(&record.hooks);
            if !self.state.is_record_loaded {
                self.state.applied.clone_from(&record.applied);
                if let Some(contested) = &record.contested {
                    self.state.restore_contests(contested);
                }
            }
        }
        self.state.is_record_loaded = true;
        record
    }

    /// The policies for an object.
    pub(crate) fn object_policy(&self, object: &ObjectRef) -> ObjectPolicy<'_> {
        self.object_policies.for_object(&self.policies, object)
    }

    /// Whether the bundle defines the kind of this object.
    pub(crate) fn defines_kind(&self, object: &ObjectRef) -> bool {
        defined_kinds(&self.prepared.objects).contains_key(&(object.group.clone(), object.kind.clone()))
    }

    /// Whether an object is only observed.
    pub(crate) fn is_read_only(&self, object: &ObjectRef) -> bool {
        self.policies.update_strategy(object) == UpdateStrategy::ReadOnly
    }

    /// The API with the identity that writes and deletes the objects.
    pub(crate) fn api(&self) -> ApiClient {
        self.cx.api.impersonating(self.policies.executor())
    }

    /// Whether an object is orphaned instead of deleted when it is no longer desired.
    pub(crate) fn is_orphaned(&self, object: &ObjectRef) -> bool {
        match &self.request.desired.phase {
            DesiredPhase::Absent { deletion, policies } => policies.should_orphan(*deletion, object),
            // A `ReadOnly` object is no longer managed.
            DesiredPhase::Present { policies, .. } => {
                let selective = policies.deletion == DeletionPolicy::SelectivelyOrphan;
                selective && policies.should_orphan(policies.deletion, object) || self.is_read_only(object)
            }
        }
    }

    /// Marks an object as waiting for a transient condition and schedules the next attempt.
    pub(crate) fn set_waiting(&mut self, at: usize, error: Error) {
        let object = self.targets[at].desired.object.clone();
        let before = self.state.object_mut(&object).waiting.take();
        let failure = RetryState::advance(before, error, &self.cx.options);
        self.wake_at(failure.due);
        self.targets[at].blocked_by = Some(failure.stage_state(&object.to_string()));
        self.state.object_mut(&object).waiting = Some(failure);
    }

    pub(crate) fn inventory_entry(&self, object: &ObjectRef) -> Option<&InventoryEntry> {
        self.inventory.iter().find(|entry| entry.object.is_same_object(object))
    }
}

fn new_target(desired: &Arc<DesiredObject>) -> TargetObject {
    TargetObject {
        desired: Arc::clone(desired),
        kind: None,
        cache: None,
        applied: false,
        completed: false,
        shared: false,
        drifted_fields: Vec::new(),
        blocked_by: None,
        problem: None,
        health: Health::default(),
        causes: Vec::new(),
        counts_for_health: true,
    }
}

/// A waiting stage without retries.
pub(crate) fn waiting_stage(reason: Reason, message: impl Into<String>) -> StageState {
    StageState::Waiting(StageReason::new(reason, message))
}

/// The applied stage: done, or the worst blocking state of the targets.
pub(crate) fn applied_stage(pass: &Reconciliation<'_>) -> StageState {
    let blocking: Vec<&StageState> =
        pass.targets.iter().filter_map(|target| target.blocked_by.as_ref()).collect();
    let worst = blocking.iter().find(|state| matches!(state, StageState::Failed(_))).or(blocking.first());
    let Some(worst) = worst else {
        return StageState::Done;
    };
    let mut state = (*worst).clone();
    if let StageState::Failed(reason) | StageState::Waiting(reason) = &mut state
        && blocking.len() > 1
    {
        reason.message = format!("{} (and {} more)", reason.message, blocking.len() - 1);
    }
    state
}
