//! Hooks of a chart: they run one after the other, before the objects of the bundle are written or after they are pruned. A Job
//! or Pod must succeed before the next hook; other kinds only have to exist.
//!
//! A hook is not an object of the bundle: it is neither compared for drift nor part of the health. The annotation with the
//! id of its run tells the object of this run from one of an earlier upgrade, so that no hook runs twice after a crash.

use std::sync::Arc;

use domain::bundle::owns_pods;
use domain::chart_hook::{HookDeletePolicy, HookEvent};
use domain::finding::Finding;
use domain::health::{Health, HealthStatus};
use domain::object::ObjectRef;
use domain::release::{StageName, StageState};
use domain::report::DesiredPhase;
use serde_json::{Value, json};

use super::finalizers::describe_finalizers;
use super::object_action::{JobEnd, job_end};
use super::preflight;
use super::reconciliation::{PruneItem, ReconcileFlow, Reconciliation};
use super::report;
use super::retry::RetryState;
use crate::api::{ApiClient, ForceConflicts, ServedKind};
use crate::applied_release::{HookPhase, InventoryEntry};
use crate::desired_object::{DesiredHook, HOOK_RUN_ANNOTATION};
use crate::error::Error;
use crate::health;
use crate::observe::{CacheState, LiveObject, ObjectCache};

/// Least time for which a finished Job of a hook is left on the cluster: longer than most outages of an agent.
const MIN_FINISHED_SECONDS: u64 = 86_400;

/// One run of a hook.
struct HookRun {
    hook: Arc<DesiredHook>,
    event: HookEvent,
    id: String,
}

impl HookRun {
    fn object(&self) -> &ObjectRef {
        &self.hook.desired.object
    }

    fn subject(&self) -> String {
        format!("Hook {} {}", self.event, self.object())
    }

    /// Whether it has to succeed, instead of only to exist.
    fn runs_to_completion(&self) -> bool {
        runs_to_completion(self.object())
    }

    /// Whether this is the object of this run.
    fn is_run(&self, live: &Value) -> bool {
        domain::chart_object::annotation(live, HOOK_RUN_ANNOTATION) == self.id
    }
}

/// Whether an object of a hook has to succeed, instead of only to exist.
pub(crate) fn runs_to_completion(object: &ObjectRef) -> bool {
    object.is_job() || object.kind == "Pod" && object.group.is_empty()
}

/// Whether a Job or Pod has succeeded or failed.
pub(crate) fn has_ended(live: &Value) -> bool {
    let phase = live.pointer("/status/phase").and_then(Value::as_str);
    matches!(phase, Some("Succeeded" | "Failed")) || job_end(live).is_some()
}

/// The state of one run.
enum RunState {
    Succeeded,
    Running(String),
    Failed(Error),
}

/// Runs the hooks of a phase; continues once all have succeeded.
pub(super) async fn run(pass: &mut Reconciliation<'_>, phase: HookPhase) -> ReconcileFlow {
    let runs = list_runs(pass, phase);
    let mut has_new = false;
    for run in &runs {
        if pass.is_outdated() {
            return ReconcileFlow::Restart;
        }
        let is_over = pass.hook_progress.as_ref().is_some_and(|known| known.succeeded.contains(&run.id));
        if is_over {
            continue;
        }
        match advance(pass, run).await {
            Ok(()) => {
                pass.state.object_mut(run.object()).failure = None;
                pass.hook_progress.iter_mut().for_each(|progress| progress.succeeded.push(run.id.clone()));
                has_new = true;
            }
            Err(state) => return stop(pass, state),
        }
    }
    if has_new && let Err(state) = record_success(pass).await {
        return stop(pass, state);
    }
    finish(pass, phase, &runs).await
}

/// The ids of the runs of this installation, upgrade or removal; `None` if its hooks are over.
pub(super) fn current_runs(pass: &Reconciliation<'_>) -> Option<Vec<String>> {
    pass.hook_progress.as_ref().filter(|progress| !progress.finished)?;
    let runs = [HookPhase::Before, HookPhase::After].map(|phase| list_runs(pass, phase));
    Some(runs.into_iter().flatten().map(|run| run.id).collect())
}

/// Records which hooks have succeeded before their objects are deleted, so that none runs again.
async fn record_success(pass: &mut Reconciliation<'_>) -> Result<(), StageState> {
    report::write_record(pass).await;
    let Some(failure) = &pass.state.record_failure else { return Ok(()) };
    let (due, state) = (failure.due, failure.stage_state("Record of the release"));
    pass.wake_at(due);
    Err(state)
}

/// The runs of a phase; none if all hooks of the bundle have succeeded.
fn list_runs(pass: &Reconciliation<'_>, phase: HookPhase) -> Vec<HookRun> {
    let Some(progress) = pass.hook_progress.as_ref().filter(|progress| !progress.finished) else {
        return Vec::new();
    };
    let event = progress.operation.event(phase);
    let hooks = pass.prepared.hooks.iter().filter(|hook| hook.hook.events.contains(&event));
    hooks
        .map(|hook| HookRun { hook: Arc::clone(hook), event, id: progress.run_id(event, &hook.desired.hash) })
        .collect()
}

/// Stops the pass: the hooks are part of the stage that applies or removes the objects, which is not over before they are.
pub(super) fn stop(pass: &mut Reconciliation<'_>, state: StageState) -> ReconcileFlow {
    pass.stages.retain(|stage| stage.name != StageName::Pruned);
    let stage = match pass.request.desired.phase {
        DesiredPhase::Present { .. } => StageName::Applied,
        DesiredPhase::Absent { .. } => StageName::Pruned,
    };
    pass.set_stage(stage, state);
    ReconcileFlow::Stop
}

/// Deletes the objects whose policy says so.
async fn finish(pass: &mut Reconciliation<'_>, phase: HookPhase, runs: &[HookRun]) -> ReconcileFlow {
    if pass.hook_progress.as_ref().is_none_or(|progress| progress.finished) {
        return ReconcileFlow::Continue;
    }
    let is_deleted = |run: &&HookRun| run.hook.hook.has_policy(HookDeletePolicy::HookSucceeded);
    for run in runs.iter().rev().filter(is_deleted) {
        if let Err(error) = delete_succeeded(pass, run).await {
            let state = record_failure(pass, run.object(), &run.subject(), error);
            return stop(pass, state);
        }
    }
    if phase == HookPhase::After {
        pass.hook_progress.iter_mut().for_each(|progress| progress.finished = true);
    }
    ReconcileFlow::Continue
}

async fn delete_succeeded(pass: &Reconciliation<'_>, run: &HookRun) -> Result<(), Error> {
    let Some((resource, objects)) = watch_object(pass, run.object()).await? else { return Ok(()) };
    match objects.get(&run.object().namespace, &run.object().name) {
        Some(live) if is_own(pass, run, &live) && run.is_run(&live.value()) && !live.deleting => {
            delete_object(&pass.api(), &resource, &live).await.map(drop)
        }
        _ => Ok(()),
    }
}

/// Advances one run; the error is why the next hook has to wait.
async fn advance(pass: &mut Reconciliation<'_>, run: &HookRun) -> Result<(), StageState> {
    match try_advance(pass, run).await {
        Ok(RunState::Succeeded) => Ok(()),
        Ok(RunState::Running(message)) => {
            let health = Health::new(HealthStatus::Progressing, "HookRunning", message.clone());
            push_item(pass, run.object(), &run.subject(), health);
            Err(StageState::Running { message: format!("{}: {message}.", run.subject()) })
        }
        Ok(RunState::Failed(error)) | Err(error) => {
            Err(record_failure(pass, run.object(), &run.subject(), error))
        }
    }
}

/// The stage state of the failure of a run, which is retried without limit. `subject` names the run.
pub(super) fn record_failure(
    pass: &mut Reconciliation<'_>,
    object: &ObjectRef,
    subject: &str,
    error: Error,
) -> StageState {
    let before = pass.state.object_mut(object).failure.take();
    let failure = RetryState::advance(before, error, &pass.cx.options);
    pass.wake_at(failure.due);
    let health = Health::new(HealthStatus::Degraded, "HookFailed", failure.error.to_string());
    push_item(pass, object, subject, health);
    let state = failure.stage_state(subject);
    pass.state.object_mut(object).failure = Some(failure);
    state
}

fn push_item(pass: &mut Reconciliation<'_>, object: &ObjectRef, subject: &str, health: Health) {
    let plural = pass.inventory_entry(object).map(|entry| entry.resource.clone()).unwrap_or_default();
    let problem = (health.status == HealthStatus::Degraded).then(|| {
        Finding::error("HookFailed", format!("{subject}: {}", health.message), "")
            .with_object(object.to_string())
    });
    pass.prune_items.push(PruneItem { object: object.clone(), plural, health, problem });
}

async fn try_advance(pass: &mut Reconciliation<'_>, run: &HookRun) -> Result<RunState, Error> {
    let object = run.object().clone();
    if let Some(failure) = pass.state.object_mut(&object).failure.clone().filter(|failure| !failure.is_due())
    {
        return Ok(RunState::Failed(failure.error));
    }
    let missing = || Error::ApiMissing(format!("{} ({})", object.kind, object.api_version()));
    let (resource, objects) = watch_object(pass, &object).await?.ok_or_else(missing)?;
    let Some(live) = objects.get(&object.namespace, &object.name) else {
        return create(pass, run, &resource, &objects).await;
    };
    if let Some(message) = preflight::ownership_conflict(pass, &live) {
        return Err(Error::HookFailed(message));
    }
    if !is_own(pass, run, &live) && live.applied_release().is_none() {
        // Another party created it in this name and copied the label: it is neither the object of a run nor deleted for one.
        return create(pass, run, &resource, &objects).await;
    }
    if live.deleting {
        return Ok(RunState::Running(describe_deletion(&live.value())));
    }
    let value = live.value();
    if run.is_run(&value) {
        record_entry(pass, run, &resource, &live);
        return observe(pass, run, &resource, &live).await;
    }
    if run.hook.hook.has_policy(HookDeletePolicy::BeforeHookCreation) || run.runs_to_completion() {
        match delete_object(&pass.api(), &resource, &live).await? {
            Some(left) => return Ok(RunState::Running(describe_deletion(&left))),
            None => {
                objects.remove(&live);
            }
        }
    }
    create(pass, run, &resource, &objects).await
}

/// Whether the release applied an object of the name of a hook. Its label and annotations may be copied.
fn is_own(pass: &Reconciliation<'_>, run: &HookRun, live: &LiveObject) -> bool {
    let recorded = pass.inventory_entry(run.object()).map_or("", |entry| entry.uid.as_str());
    live.is_applied_by(pass.release(), recorded)
}

/// The kind of a hook and the cache of its objects; `None` if the cluster does not serve it.
pub(super) async fn watch_object(
    pass: &Reconciliation<'_>,
    object: &ObjectRef,
) -> Result<Option<(ServedKind, Arc<ObjectCache>)>, Error> {
    let mut kinds = pass.cx.discovery.kinds();
    if kinds.resolve(object).is_none() {
        kinds = pass.cx.discovery.refresh().await?;
    }
    let Some(resource) = kinds.resolve(object).cloned() else {
        pass.worker.set_waits_for_dependency(true);
        return Ok(None);
    };
    let objects = pass.cx.observed.watch_kind(&resource);
    if owns_pods(&object.kind) && !object.namespace.is_empty() {
        pass.cx.observed.pods.watch_namespace(&object.namespace);
    }
    match objects.wait_until_settled().await {
        CacheState::Failing(error, _) => Err(error),
        CacheState::NotServed => Ok(None),
        _ => Ok(Some((resource, objects))),
    }
}

/// Creates the object of a run.
async fn create(
    pass: &mut Reconciliation<'_>,
    run: &HookRun,
    resource: &ServedKind,
    objects: &Arc<ObjectCache>,
) -> Result<RunState, Error> {
    let object = run.object();
    let path = resource.object_path(&object.namespace, &object.name);
    if run.runs_to_completion() {
        // An object without the label of the release is not in the cache; one that has run cannot be applied again.
        match pass.cx.api.get(&path).await {
            Ok(existing)
                if !run.is_run(&existing) || !is_own(pass, run, &LiveObject::from_value(&existing)) =>
            {
                return Err(Error::HookFailed(
                    "an object of this name exists and does not belong to the release; delete or rename it"
                        .to_owned(),
                ));
            }
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let mut body = run.hook.desired.value();
    body["metadata"]["annotations"][HOOK_RUN_ANNOTATION] = json!(run.id);
    retain_finished(&mut body);
    let applied = pass.api().apply(&path, body.to_string().into_bytes(), ForceConflicts::No, false).await?;
    tracing::info!(hook = %run.subject(), release = %pass.release(), "a hook of a chart was created");
    pass.has_written = true;
    let live = LiveObject::from_value(&applied.object);
    pass.cx.observed.pods.insert_owner(&live);
    record_entry(pass, run, resource, &live);
    objects.upsert(LiveObject::from_value(&applied.object));
    observe(pass, run, resource, &live).await
}

/// Raises the time after which a finished Job is deleted: one that is gone before its end was observed would run again.
fn retain_finished(body: &mut Value) {
    let ttl = body.pointer_mut("/spec/ttlSecondsAfterFinished");
    if let Some(ttl) = ttl.filter(|ttl| ttl.as_u64().is_some_and(|seconds| seconds < MIN_FINISHED_SECONDS)) {
        *ttl = MIN_FINISHED_SECONDS.into();
    }
}

/// The state of the object of a run. A failed one is deleted at the next attempt.
async fn observe(
    pass: &mut Reconciliation<'_>,
    run: &HookRun,
    resource: &ServedKind,
    live: &LiveObject,
) -> Result<RunState, Error> {
    if !run.runs_to_completion() {
        return Ok(RunState::Succeeded);
    }
    let value = live.value();
    let own = health::assess(&value, true, pass.now);
    let phase = value.pointer("/status/phase").and_then(Value::as_str);
    if own.reason == health::COMPLETED || phase == Some("Succeeded") {
        return Ok(RunState::Succeeded);
    }
    let cause = describe_cause(pass, run, live, &own);
    let has_failed = match run.object().kind.as_str() {
        "Pod" => phase == Some("Failed"),
        _ => job_end(&value) == Some(JobEnd::Failed),
    };
    if !has_failed {
        return Ok(RunState::Running(cause));
    }
    let object_state = pass.state.object_mut(run.object());
    let is_retried = object_state.failed_run.as_ref() == Some(&live.uid);
    object_state.failed_run = Some(live.uid.clone());
    if is_retried || run.hook.hook.has_policy(HookDeletePolicy::HookFailed) {
        delete_object(&pass.api(), resource, live).await?;
    }
    if is_retried {
        return Ok(RunState::Running("it is deleted and created again".to_owned()));
    }
    Ok(RunState::Failed(Error::HookFailed(cause)))
}

/// What the object and its pods report.
fn describe_cause(pass: &Reconciliation<'_>, run: &HookRun, live: &LiveObject, own: &Health) -> String {
    let pods = match run.object().kind.as_str() {
        "Pod" => vec![Arc::new(live.value())],
        _ => pass.cx.observed.pods.pods_of(&live.uid),
    };
    let warnings = pass.cx.observed.pods.warnings(&pods);
    let causes = health::diagnose(pods.iter().map(Arc::as_ref), &warnings, pass.now).messages();
    let texts: Vec<&str> =
        [own.message.as_str()].into_iter().chain(causes.iter().map(String::as_str)).collect();
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Records the object of a run as owned, so that it is removed with the release.
fn record_entry(pass: &mut Reconciliation<'_>, run: &HookRun, resource: &ServedKind, live: &LiveObject) {
    let fresh = InventoryEntry {
        object: run.object().clone(),
        resource: resource.plural.clone(),
        uid: live.uid.clone(),
        hash: live.hash.clone(),
        ..InventoryEntry::default()
    };
    match pass.inventory.iter_mut().find(|entry| entry.object.is_same_object(&fresh.object)) {
        Some(entry) => *entry = fresh,
        None => pass.inventory.push(fresh),
    }
}

/// Deletes an object; returns what is left of it while it terminates. A Job that still runs is left until its pods are gone, so that
/// no other run starts beside them.
pub(super) async fn delete_object(
    api: &ApiClient,
    resource: &ServedKind,
    live: &LiveObject,
) -> Result<Option<Value>, Error> {
    let path = resource.object_path(&live.namespace, &live.name);
    let is_running_job = resource.kind == "Job" && !has_ended(&live.value());
    let propagation = if is_running_job { "Foreground" } else { "Background" };
    match api.delete(&path, &live.uid, propagation).await {
        Ok(()) | Err(Error::NotFound(_)) => {}
        Err(error) => return Err(error),
    }
    match api.get(&path).await {
        Ok(left) if LiveObject::from_value(&left).uid == live.uid => Ok(Some(left)),
        Ok(_) | Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn describe_deletion(live: &Value) -> String {
    let names = describe_finalizers(live);
    let text = "the object of the run before is being deleted";
    if names.is_empty() { text.to_owned() } else { format!("{text}; {names}") }
}
