//! Server-side apply of differing objects, rank by rank; objects of one rank concurrently.
//!
//! All objects of a rank are tried and each has its own result (P14). The next rank starts when all of them are
//! applied, because later ranks depend on earlier ones: the running version is better than a partial new one. Object
//! names are recorded before the first object is created (P15).

use std::ops::Range;
use std::sync::Arc;

use domain::field_path::escape_pointer_token;
use domain::finding::Finding;
use domain::policy::{ConflictPolicy, HelmReleasePolicy, Policies, UpdateStrategy};
use domain::release::{Reason, StageName};
use domain::report::DriftedField;
use futures::StreamExt;
use futures::stream;
use serde_json::Value;

use super::adopt::{check_identical, release_former_fields};
use super::custom_kind::{await_chart_crds, ensure_established};
use super::drift::{self, DriftAction};
use super::field_revert;
use super::finalizers::describe_finalizers;
use super::hooks;
use super::intent::record_intent;
use super::object_action::{ObjectAction, ObjectInput, decide_action};
use super::preflight;
use super::reconciliation::{ReconcileFlow, Reconciliation, applied_stage, waiting_stage};
use super::replace::{self, ReplaceInput};
use super::retry::{RetryState, failure_message};
use super::superseded_hooks;
use super::suspended;
use crate::api::{ApiClient, ApplyResponse, ForceConflicts, ServedKind};
use crate::applied_release::HookPhase;
use crate::error::Error;
use crate::observe::LiveObject;

/// Kinds whose pre-existing objects may contain foreign objects or data: these are never deleted.
const SHARED_KINDS: [&str; 4] =
    ["Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim"];

/// One pending write.
struct ObjectWrite {
    at: usize,
    action: ObjectAction,
    force: ForceConflicts,
    /// Recorded uid of the last apply.
    uid: String,
    live: Option<Value>,
    /// Why the object is read before the write; `None` if it is not.
    read_first: Option<ReadReason>,
    body: Vec<u8>,
}

/// Why an object is read before it is written: the watch covers only objects with the release label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadReason {
    /// It is not changed if it exists.
    LeaveExisting,
    /// It is adopted only if it is identical.
    AdoptIfIdentical,
    /// Ignored fields, replicas of an autoscaler or a scaler and the size of a claim keep their live values.
    RetainFields,
    /// It is taken over if it is of the Helm release that is adopted.
    AdoptHelmRelease,
}

impl ReadReason {
    fn before_write(
        action: &ObjectAction,
        policies: &Policies,
        ObjectInput { desired, policy: rule }: ObjectInput<'_>,
    ) -> Option<Self> {
        let conflict = policies.conflict;
        match action {
            ObjectAction::Create if rule.strategy == UpdateStrategy::CreateOnly => Some(Self::LeaveExisting),
            // Helm may have taken the fields back since.
            ObjectAction::Create | ObjectAction::Update
                if policies.helm_release == HelmReleasePolicy::Adopt =>
            {
                Some(Self::AdoptHelmRelease)
            }
            ObjectAction::Create | ObjectAction::Foreign(_) if conflict == ConflictPolicy::IfIdentical => {
                Some(Self::AdoptIfIdentical)
            }
            // With force no conflict shows that a scaler sets the replicas of an object that exists.
            ObjectAction::Create | ObjectAction::Missing
                if desired.needs_live(rule)
                    || conflict == ConflictPolicy::Force && desired.sets_replicas() =>
            {
                Some(Self::RetainFields)
            }
            _ => None,
        }
    }
}

/// Applies differing objects.
pub(crate) async fn run(pass: &mut Reconciliation<'_>) -> ReconcileFlow {
    if let Err(state) = record_intent(pass).await {
        pass.set_stage(StageName::Applied, state);
        return ReconcileFlow::Stop;
    }
    let groups = rank_ranges(pass);
    let is_chart_crd = |group: &Range<usize>| pass.targets[group.start].desired.is_chart_crd;
    let (definitions, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_chart_crd);
    let flow = apply_groups(pass, definitions).await;
    let flow = if flow == ReconcileFlow::Continue { superseded_hooks::end(pass).await } else { flow };
    let runs_hooks = flow == ReconcileFlow::Continue && !pass.is_suspended();
    let flow = if runs_hooks { hooks::run(pass, HookPhase::Before).await } else { flow };
    if flow != ReconcileFlow::Continue {
        others.into_iter().flatten().for_each(|at| update_applied(pass, at));
        return flow;
    }
    let flow = apply_groups(pass, others).await;
    if flow == ReconcileFlow::Continue {
        pass.state.reverts_drift = false;
    }
    flow
}

/// Applies these ranks, and sets the stage.
async fn apply_groups(pass: &mut Reconciliation<'_>, groups: Vec<Range<usize>>) -> ReconcileFlow {
    let mut blocked = false;
    for group in groups {
        if pass.is_outdated() {
            return ReconcileFlow::Restart;
        }
        if blocked {
            group.for_each(|at| update_applied(pass, at));
            continue;
        }
        let jobs = plan_writes(pass, group.clone()).await;
        run_writes(pass, jobs).await;
        await_chart_crds(pass, group.clone());
        blocked = pass.targets[group].iter().any(|target| !target.applied);
        super::report::report_progress(pass);
    }
    let state = applied_stage(pass);
    pass.set_stage(StageName::Applied, state);
    if blocked { ReconcileFlow::Stop } else { ReconcileFlow::Continue }
}

/// Positions of the targets of each rank.
fn rank_ranges(pass: &Reconciliation<'_>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for at in 0..pass.targets.len() {
        let order = |at: usize| pass.targets[at].desired.apply_order();
        match groups.last_mut() {
            Some(group) if order(group.start) == order(at) => group.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

/// Decides the writes of one rank.
async fn plan_writes(pass: &mut Reconciliation<'_>, group: Range<usize>) -> Vec<ObjectWrite> {
    let mut jobs = Vec::new();
    for at in group {
        if pass.targets[at].cache.is_none() && !ensure_established(pass, at).await {
            continue;
        }
        field_revert::run(pass, at).await;
        let desired = Arc::clone(&pass.targets[at].desired);
        let live = pass.targets[at].live_object();
        let entry = pass.inventory_entry(&desired.object).cloned();
        let release = pass.release();
        let rules = pass.object_policies.clone();
        let rule = rules.for_object(&pass.policies, &desired.object);
        let input = ObjectInput { desired: &desired, policy: &rule };
        let step = decide_action(
            release,
            input,
            live.as_deref(),
            entry.as_ref(),
            pass.state.object_mut(&desired.object),
        );
        if rule.strategy == UpdateStrategy::ServerSideApply {
            drift::report_scaler(pass, at, live.as_deref());
        }
        jobs.extend(plan_write(
            pass,
            at,
            step,
            live.as_deref(),
            entry.map(|entry| entry.uid).unwrap_or_default(),
        ));
    }
    jobs
}

fn plan_write(
    pass: &mut Reconciliation<'_>,
    at: usize,
    step: ObjectAction,
    live: Option<&LiveObject>,
    uid: String,
) -> Option<ObjectWrite> {
    let desired = Arc::clone(&pass.targets[at].desired);
    let take_over = pass.policies.conflict == ConflictPolicy::Force;
    let mut force = if take_over { ForceConflicts::Yes } else { ForceConflicts::No };
    let needed =
        matches!(step, ObjectAction::Drifted(_)) || desired.needs_live(&pass.object_policy(&desired.object));
    let value = live.filter(|live| needed || !live.scaler.is_empty()).map(LiveObject::value);
    match &step {
        ObjectAction::InSync | ObjectAction::Completed => {
            pass.targets[at].completed = step == ObjectAction::Completed;
            mark_applied(pass, at);
            return None;
        }
        ObjectAction::Awaited => {
            pass.set_waiting(at, Error::ObjectAwaited(desired.object.to_string()));
            return None;
        }
        ObjectAction::Terminating => {
            let finalizers = live.map(|live| describe_finalizers(&live.value())).unwrap_or_default();
            pass.set_waiting(at, Error::ObjectTerminating(finalizers));
            return None;
        }
        ObjectAction::Foreign(_) => {
            if let Some(message) = live.and_then(|live| preflight::ownership_conflict(pass, live)) {
                let message = format!("{}: {message}", desired.object);
                pass.targets[at].blocked_by = Some(waiting_stage(Reason::ResourceConflict, message));
                return None;
            }
            force = ForceConflicts::Yes;
        }
        ObjectAction::Create | ObjectAction::Update | ObjectAction::Missing | ObjectAction::Drifted(_) => {}
    }
    // A rejection for immutable fields of an object that was deleted since does not delay its creation.
    let is_resolved =
        |failure: &RetryState| live.is_none() && !uid.is_empty() && failure.error.refuses_change();
    let failure = pass.state.object_mut(&desired.object).failure.clone();
    if let Some(failure) = failure.filter(|failure| !failure.is_due() && !is_resolved(failure)) {
        block_target(pass, at, &failure);
        return None;
    }
    let drift = match &step {
        ObjectAction::Drifted(changes) => Some(&changes[..]),
        ObjectAction::Missing => Some(&[][..]),
        _ => None,
    };
    if let Some(changes) = drift {
        // A drifted object counts as applied; drift is reported separately.
        pass.targets[at].applied = true;
        if drift::decide_drift_action(pass, at, changes, value.as_ref()) == DriftAction::Leave {
            return None;
        }
        pass.targets[at].applied = false;
        if matches!(step, ObjectAction::Drifted(_)) {
            force = ForceConflicts::Yes;
        }
    }
    if pass.is_suspended() {
        suspended::block_target(pass, at);
        return None;
    }
    let rule = pass.object_policy(&desired.object);
    let input = ObjectInput { desired: &desired, policy: &rule };
    let heal = matches!(step, ObjectAction::Drifted(_));
    let body = desired.apply_body(value.as_ref(), &rule, heal);
    let read_first = ReadReason::before_write(&step, &pass.policies, input);
    Some(ObjectWrite { at, action: step, force, uid, live: value, read_first, body })
}

fn mark_applied(pass: &mut Reconciliation<'_>, at: usize) {
    let target = &mut pass.targets[at];
    let object_state = pass.state.object_mut(&target.desired.object);
    object_state.failure = None;
    object_state.waiting = None;
    object_state.reported_drift = None;
    target.applied = true;
}

fn block_target(pass: &mut Reconciliation<'_>, at: usize, failure: &RetryState) {
    let target = &mut pass.targets[at];
    let subject = target.desired.object.to_string();
    let problem = Finding::error(
        failure.error.reason().as_str(),
        failure_message("", &failure.error),
        failure.error.hint(),
    );
    target.problem = Some(problem.with_object(&*subject));
    target.blocked_by = Some(failure.stage_state(&subject));
    pass.wake_at(failure.due);
}

/// Updates whether a target is applied, without a write: its rank is blocked by an earlier one.
fn update_applied(pass: &mut Reconciliation<'_>, at: usize) {
    let object = &pass.targets[at].desired.object;
    let entry = pass.inventory_entry(object);
    // Its hash may be that of a revision with a scaler, whose number has to be replaced.
    let takes_back = {
        let policy = pass.object_policy(object);
        policy.takes_fields_back(entry) || pass.targets[at].desired.drops_scaler(&policy)
    };
    let uid = entry.map(|entry| entry.uid.clone()).unwrap_or_default();
    let release = pass.release();
    let target = &mut pass.targets[at];
    let live = target.live_object();
    target.applied = !takes_back
        && live.is_some_and(|live| live.hash == target.desired.hash && live.is_applied_by(release, &uid));
}

/// Runs the writes of one rank concurrently.
async fn run_writes(pass: &mut Reconciliation<'_>, jobs: Vec<ObjectWrite>) {
    if jobs.is_empty() {
        return;
    }
    // From the first write until the end, no bundle is applied completely.
    if pass.state.applied.as_ref() != Some(&pass.prepared.digest) {
        pass.state.applied = None;
    }
    pass.has_written = true;
    let (api, borrowed) = (&pass.api(), &*pass);
    let all: Vec<_> = jobs.into_iter().map(|job| run_write(borrowed, api, job)).collect();
    let results: Vec<(ObjectWrite, Result<ApplyResponse, Error>)> =
        stream::iter(all).buffer_unordered(pass.cx.options.concurrency.max(1)).collect().await;
    for (job, result) in results {
        record_result(pass, job, result);
    }
}

async fn run_write(
    pass: &Reconciliation<'_>,
    api: &ApiClient,
    job: ObjectWrite,
) -> (ObjectWrite, Result<ApplyResponse, Error>) {
    let target = &pass.targets[job.at];
    let desired = &target.desired;
    let rule = pass.object_policy(&desired.object);
    let input = ObjectInput { desired, policy: &rule };
    let result = match &target.kind {
        Some(resource) => {
            let result = apply_object(pass, api, resource, input, &job).await;
            replace::replace_if_immutable(pass, api, ReplaceInput { resource, input, uid: &job.uid }, result)
                .await
        }
        None => Err(Error::ApiMissing(desired.object.kind.clone())),
    };
    let is_defined = || pass.defines_kind(&desired.object);
    (job, result.map_err(|error| error.with_kind(&desired.object, is_defined())))
}

async fn apply_object(
    pass: &Reconciliation<'_>,
    api: &ApiClient,
    resource: &ServedKind,
    input: ObjectInput<'_>,
    job: &ObjectWrite,
) -> Result<ApplyResponse, Error> {
    let ObjectInput { desired, policy: rule } = input;
    let path = resource.object_path(&desired.object.namespace, &desired.object.name);
    let existing = match job.read_first {
        None => None,
        Some(_) => match api.get(&path).await {
            Ok(existing) => Some(existing),
            Err(Error::NotFound(_)) => None,
            Err(error) => return Err(error),
        },
    };
    let mut adopts = false;
    let body = match (job.read_first, existing) {
        (Some(ReadReason::LeaveExisting), Some(object)) => {
            return Ok(ApplyResponse { object, created: false });
        }
        (Some(ReadReason::AdoptIfIdentical), Some(existing)) => {
            check_identical(input, &existing)?;
            desired.apply_body(Some(&existing), rule, false)
        }
        (Some(ReadReason::AdoptHelmRelease), Some(existing)) => {
            adopts = pass.prepared.helm_release.as_ref().is_some_and(|release| release.owns(&existing));
            let is_new = job.action == ObjectAction::Create;
            if !adopts && is_new && pass.policies.conflict == ConflictPolicy::IfIdentical {
                check_identical(input, &existing)?;
            }
            desired.apply_body(Some(&existing), rule, false)
        }
        (Some(ReadReason::RetainFields), Some(existing)) => desired.apply_body(Some(&existing), rule, false),
        _ => job.body.clone(),
    };
    if adopts {
        let applied = api.apply(&path, body, ForceConflicts::Yes, false).await?;
        return release_former_fields(api, &path, applied, true).await;
    }
    let mut result = api.apply(&path, body, job.force, false).await;
    if matches!(job.action, ObjectAction::Create | ObjectAction::Update)
        && matches!(result, Err(Error::ApplyConflict { .. }))
    {
        result = apply_beside_scaler(api, &path, input, job.force, result).await;
    }
    if job.action == ObjectAction::Create
        && let Ok(applied) = result
    {
        return if applied.created {
            Ok(applied)
        } else {
            release_former_fields(api, &path, applied, false).await
        };
    }
    if !matches!(result, Err(Error::ApplyConflict { .. }))
        || job.action != ObjectAction::Missing
        || job.uid.is_empty()
    {
        return result;
    }
    // The object looked deleted because its label was removed. If the uid is the recorded one, it is self-healed; an
    // object re-created by another party is foreign, and the conflict stays.
    let existing = api.get(&path).await?;
    if existing.pointer("/metadata/uid").and_then(Value::as_str) != Some(&job.uid) {
        return result;
    }
    api.apply(&path, desired.apply_body(Some(&existing), rule, true), ForceConflicts::Yes, false).await
}

/// Repeats the apply of an object that exists and whose scaler owns the replicas: at the first apply it is not observed yet, and
/// later the scaler may have written after it was observed. Other conflicts stay.
async fn apply_beside_scaler(
    api: &ApiClient,
    path: &str,
    ObjectInput { desired, policy: rule }: ObjectInput<'_>,
    force: ForceConflicts,
    conflict: Result<ApplyResponse, Error>,
) -> Result<ApplyResponse, Error> {
    match api.get(path).await {
        Ok(existing) if !desired.left_to_scalers(rule, &existing).is_empty() => {
            api.apply(path, desired.apply_body(Some(&existing), rule, false), force, false).await
        }
        _ => conflict,
    }
}

fn record_result(pass: &mut Reconciliation<'_>, job: ObjectWrite, result: Result<ApplyResponse, Error>) {
    let desired = Arc::clone(&pass.targets[job.at].desired);
    let applied = match result {
        Ok(applied) => applied,
        // The watch reports their end, so they are not delayed by a back-off.
        Err(error @ (Error::JobRunning | Error::ObjectTerminating(_))) => {
            pass.set_waiting(job.at, error);
            return;
        }
        Err(error) => {
            let before = pass.state.object_mut(&desired.object).failure.clone();
            let failure = RetryState::after(before.as_ref(), error, &pass.cx.options);
            tracing::debug!(object = %desired.object, reason = %failure.error.reason(), "the apply of an object failed; it is retried");
            block_target(pass, job.at, &failure);
            pass.state.object_mut(&desired.object).failure = Some(failure);
            return;
        }
    };
    let live = LiveObject::from_value(&applied.object);
    pass.cx.observed.pods.insert_owner(&live);
    let rules = pass.object_policies.clone();
    let rule = rules.for_object(&pass.policies, &desired.object);
    let object_state = pass.state.object_mut(&desired.object);
    object_state.last_equal = Some((live.version.clone(), desired.compared_hash(&rule).into_owned()));
    object_state.server_changes =
        domain::plan::diff(&desired.comparable_value(&rule, &applied.object), &applied.object);
    pass.targets[job.at].shared = job.action == ObjectAction::Create
        && !applied.created
        && SHARED_KINDS.contains(&desired.object.kind.as_str());
    let is_same = live.uid == job.uid;
    if let Some(objects) = &pass.targets[job.at].cache {
        objects.upsert(live);
    }
    mark_applied(pass, job.at);
    match &job.action {
        ObjectAction::Drifted(changes) => {
            let fields = drift::describe_fields(changes, job.live.as_ref());
            drift::record_heal(pass, &desired.object, &fields, job.live.as_ref());
        }
        ObjectAction::Missing if is_same => {
            let label =
                format!("/metadata/labels/{}", escape_pointer_token(crate::desired_object::RELEASE_LABEL));
            let label = DriftedField::from_path(label);
            drift::record_heal(pass, &desired.object, &[label], Some(&applied.object));
        }
        ObjectAction::Missing => drift::record_heal(pass, &desired.object, &[], None),
        _ => {}
    }
}
