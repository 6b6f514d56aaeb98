//! Reconciliation of one release, in a task of its own so that releases do not block each other (P12).
//!
//! The loop is level-triggered: every pass compares the complete desired and observed state and runs the ordered steps
//! preflight → plan → apply → prune → health → report, or remove. Each step is a file.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use domain::ReleaseId;
use domain::bundle::Bundle;
use domain::release::StageState;
use domain::report::{DesiredPhase, DesiredRelease, FieldRevertRequest};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Options;
use crate::api::ApiClient;
use crate::applied_release::AppliedReleases;
use crate::desired_object::PreparedBundle;
use crate::discovery::Discovery;
use crate::observe::ObservedState;
use crate::permissions::PermissionCache;
use crate::report_queue::ReportQueue;
use crate::schema::SchemaReader;

mod adopt;
mod apply;
mod custom_kind;
mod drift;
mod expire;
mod field_revert;
mod finalizers;
mod helm_release;
mod hooks;
mod hub_behind;
mod intent;
mod object_action;
mod preflight;
mod prune;
mod reconcile_state;
mod reconciliation;
mod refused_change;
mod removal_hooks;
mod remove;
mod replace;
mod report;
mod retry;
mod status;
mod superseded_hooks;
mod suspended;
mod worker;

pub(crate) use adopt::check_identical;
pub(crate) use helm_release::read_installed as read_installed_helm_release;
pub(crate) use hooks::{has_ended, runs_to_completion};
pub(crate) use object_action::{ObjectInput, is_job_complete};
pub(crate) use preflight::defined_kinds;
pub(crate) use refused_change::explain_rejection;
pub(crate) use replace::{can_replace, name_immutable_fields};
pub(crate) use worker::run_worker;

/// A desired release with its bundle.
#[derive(Debug, Clone)]
pub struct ReleaseInput {
    /// The desired release.
    pub desired: DesiredRelease,
    /// The bundle of [`DesiredPhase::Present`]; `None` until it is pulled. May be omitted if the engine already has the
    /// bundle of this digest.
    pub bundle: Option<Arc<Bundle>>,
    /// State of the pull stage, from the agent.
    pub pull_stage: StageState,
    /// Whether the release is suspended: it is observed and reported, and nothing of it is written or deleted.
    pub suspended: bool,
    /// Requests of users to revert single drifted fields of it.
    pub field_reverts: Vec<FieldRevertRequest>,
}

/// The input of the reconciliation of one release.
#[derive(Debug)]
pub(crate) struct ReconcileRequest {
    pub desired: DesiredRelease,
    pub prepared: Option<Arc<PreparedBundle>>,
    pub pull_stage: StageState,
    /// Whether nothing may be written or deleted.
    pub suspended: bool,
    pub field_reverts: Vec<FieldRevertRequest>,
    /// When it was received.
    pub received_at: Instant,
}

/// The latest request of one release and the signal that wakes its loop.
pub(crate) struct ReleaseWorker {
    pub id: ReleaseId,
    request: Mutex<Option<Arc<ReconcileRequest>>>,
    /// Incremented with every new request; a running pass detects with it that it is outdated.
    request_version: AtomicU64,
    /// Whether it waits for a kind or namespace to be created.
    waits_for_dependency: AtomicBool,
    pub wakeup: Notify,
}

impl ReleaseWorker {
    fn new(id: ReleaseId, request: ReconcileRequest) -> Self {
        Self {
            id,
            request: Mutex::new(Some(Arc::new(request))),
            request_version: AtomicU64::new(0),
            waits_for_dependency: AtomicBool::new(false),
            wakeup: Notify::new(),
        }
    }

    /// The latest request; `None` once the release is missing from the desired state.
    pub(crate) fn request(&self) -> Option<Arc<ReconcileRequest>> {
        self.request.lock().clone()
    }

    pub(crate) fn request_version(&self) -> u64 {
        self.request_version.load(Ordering::Acquire)
    }

    pub(crate) fn set_waits_for_dependency(&self, waiting: bool) {
        self.waits_for_dependency.store(waiting, Ordering::Release);
    }

    fn set_request(&self, request: Option<ReconcileRequest>) {
        *self.request.lock() = request.map(Arc::new);
        self.request_version.fetch_add(1, Ordering::AcqRel);
        self.wakeup.notify_one();
    }
}

/// The workers of all releases.
#[derive(Default)]
pub(crate) struct ReleaseWorkers(RwLock<HashMap<ReleaseId, Arc<ReleaseWorker>>>);

impl ReleaseWorkers {
    fn read(&self) -> parking_lot::RwLockReadGuard<'_, HashMap<ReleaseId, Arc<ReleaseWorker>>> {
        self.0.read()
    }

    /// Wakes one release, if it exists.
    pub(crate) fn wake(&self, release: Option<ReleaseId>) {
        if let Some(worker) = release.and_then(|release| self.read().get(&release).cloned()) {
            worker.wakeup.notify_one();
        }
    }

    /// Wakes all releases.
    pub(crate) fn wake_all(&self) {
        self.read().values().for_each(|worker| worker.wakeup.notify_one());
    }

    /// Wakes the releases that wait for a kind or namespace.
    pub(crate) fn wake_waiting(&self) {
        self.read()
            .values()
            .filter(|worker| worker.waits_for_dependency.load(Ordering::Acquire))
            .for_each(|worker| worker.wakeup.notify_one());
    }

    /// Whether the desired phase of this release is present, or its removal waits because it is suspended: then no other release may
    /// take its objects over either.
    pub(crate) fn is_desired(&self, release: ReleaseId) -> bool {
        let request = self.read().get(&release).and_then(|worker| worker.request());
        request.is_some_and(|request| {
            request.suspended || matches!(request.desired.phase, DesiredPhase::Present { .. })
        })
    }

    /// Whether the engine has the bundle with this digest for this release.
    pub(crate) fn has_bundle(&self, release: ReleaseId, digest: &domain::Digest) -> bool {
        let request = self.read().get(&release).and_then(|worker| worker.request());
        request
            .and_then(|request| request.prepared.clone())
            .is_some_and(|prepared| prepared.digest == *digest)
    }

    /// Removes a worker without a request, whose loop then ends; `false` if it was requested again.
    pub(crate) fn remove_ended(&self, worker: &ReleaseWorker) -> bool {
        let mut workers = self.0.write();
        let has_ended = worker.request().is_none();
        if has_ended {
            workers.remove(&worker.id);
        }
        has_ended
    }

    /// Replaces the desired state; returns the new workers, whose loops have to be started.
    pub(crate) fn replace_inputs(&self, all: Vec<ReleaseInput>) -> Vec<Arc<ReleaseWorker>> {
        let mut workers = self.0.write();
        let mut previous = std::mem::take(&mut *workers);
        let mut created = Vec::new();
        for desired in all {
            let id = desired.desired.release;
            let worker = match previous.remove(&id) {
                Some(worker) => {
                    worker.update_input(desired);
                    worker
                }
                None => {
                    let worker = Arc::new(ReleaseWorker::new(id, build_request(desired, None)));
                    created.push(worker.clone());
                    worker
                }
            };
            workers.insert(id, worker);
        }
        // They stay until their loops have ended: a release that is requested again meanwhile has one loop, not two.
        for (id, worker) in previous {
            if worker.request().is_some() {
                worker.set_request(None);
            }
            workers.insert(id, worker);
        }
        created
    }
}

impl ReleaseWorker {
    /// Sets a new request if it differs from the current one.
    fn update_input(&self, desired: ReleaseInput) {
        let old = self.request();
        let prepared = old.as_ref().and_then(|request| request.prepared.clone());
        let is_same = old.as_ref().is_some_and(|old| {
            old.desired == desired.desired
                && old.pull_stage == desired.pull_stage
                && old.suspended == desired.suspended
                && old.field_reverts == desired.field_reverts
                && (old.prepared.is_some() || desired.bundle.is_none())
        });
        if !is_same {
            self.set_request(Some(build_request(desired, prepared)));
        }
    }
}

fn build_request(desired: ReleaseInput, previous: Option<Arc<PreparedBundle>>) -> ReconcileRequest {
    let prepared = match &desired.desired.phase {
        DesiredPhase::Present { bundle: digest, .. } => {
            previous.filter(|old| old.digest == *digest).or_else(|| {
                let bundle = desired.bundle.as_ref()?;
                Some(Arc::new(PreparedBundle::new(&desired.desired, digest.clone(), bundle)))
            })
        }
        DesiredPhase::Absent { .. } => None,
    };
    ReconcileRequest {
        desired: desired.desired,
        prepared,
        pull_stage: desired.pull_stage,
        suspended: desired.suspended,
        field_reverts: desired.field_reverts,
        received_at: Instant::now(),
    }
}

/// Shared parts of the engine.
pub(crate) struct EngineContext {
    pub api: ApiClient,
    pub options: Options,
    pub discovery: Arc<Discovery>,
    pub observed: ObservedState,
    pub applied_releases: Arc<AppliedReleases>,
    pub workers: Arc<ReleaseWorkers>,
    pub reports: ReportQueue,
    pub permissions: PermissionCache,
    pub schema_reader: SchemaReader,
}

#[cfg(test)]
mod tests {
    use domain::Digest;
    use domain::policy::{DeletionPolicy, Policies};

    use super::*;

    fn input() -> ReleaseInput {
        let phase =
            DesiredPhase::Absent { deletion: DeletionPolicy::Foreground, policies: Policies::default() };
        let release = ReleaseId::from_parts(1, 1);
        let desired =
            DesiredRelease { release, workload: "shop".into(), generation: 1, sync_nonce: 0, phase };
        ReleaseInput {
            desired,
            bundle: None,
            pull_stage: StageState::Pending,
            suspended: false,
            field_reverts: Vec::new(),
        }
    }

    #[test]
    fn a_release_that_is_requested_again_before_its_loop_ended_has_one_loop() {
        let workers = ReleaseWorkers::default();
        let created = workers.replace_inputs(vec![input()]);
        assert!(workers.replace_inputs(Vec::new()).is_empty());
        assert!(created[0].request().is_none());
        assert!(!workers.has_bundle(created[0].id, &Digest::compute(b"")));
        assert!(workers.replace_inputs(vec![input()]).is_empty(), "the loop that has not ended continues");
        assert!(created[0].request().is_some() && !workers.remove_ended(&created[0]));
        workers.replace_inputs(Vec::new());
        assert!(workers.remove_ended(&created[0]));
        assert_eq!(workers.replace_inputs(vec![input()]).len(), 1, "a new loop after the end of the former");
    }
}
