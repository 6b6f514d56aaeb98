//! Preflight checks before any write: kinds are served, namespaces exist, no other release owns the objects.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use domain::bundle::owns_pods;
use domain::finding::Finding;
use domain::policy::{ConflictPolicy, UpdateStrategy};
use domain::release::stage::StageReason;
use domain::release::{Reason, StageName, StageState};
use serde_json::{Value, json};

use super::finalizers::describe_finalizers;
use super::helm_release;
use super::hub_behind;
use super::reconciliation::{ReconcileFlow, Reconciliation};
use super::retry::{RetryState, failure_message};
use crate::api::ServedKind;
use crate::desired_object::DesiredObject;
use crate::discovery::ServedKinds;
use crate::error::Error;
use crate::observe::cluster_state::{self, NamespaceStatus};
use crate::observe::{CacheState, LiveObject};

/// Runs the preflight checks.
pub(crate) async fn run(pass: &mut Reconciliation<'_>) -> ReconcileFlow {
    pass.set_stage(StageName::Notified, StageState::Done);
    let record = pass.load_record();
    let pulled = pull_stage(pass);
    pass.set_stage(StageName::Pulled, pulled);
    if pass.request.prepared.is_none()
        || hub_behind::block_if_hub_behind(pass, record.as_deref(), StageName::Preflight)
    {
        return ReconcileFlow::Stop;
    }
    let may_write = !pass.is_suspended();
    if let Some(record) = record.filter(|record| record.deleting && may_write)
        && let Err(error) = pass.cx.applied_releases.remove_finalizer(&record).await
    {
        return record_failure(pass, error, &record.name);
    }
    let result = check(pass).await;
    match result {
        Ok(ReconcileFlow::Continue) => {
            pass.state.preflight_failure = None;
            pass.set_stage(StageName::Preflight, StageState::Done);
            ReconcileFlow::Continue
        }
        Ok(other) => other,
        Err((error, subject)) => record_failure(pass, error, &subject),
    }
}

/// State of the pull stage.
pub(crate) fn pull_stage(pass: &Reconciliation<'_>) -> StageState {
    match &pass.request.pull_stage {
        _ if pass.request.prepared.is_some() => StageState::Done,
        StageState::Done => StageState::Running { message: String::new() },
        other => other.clone(),
    }
}

fn record_failure(pass: &mut Reconciliation<'_>, error: Error, subject: &str) -> ReconcileFlow {
    let failure = RetryState::advance(pass.state.preflight_failure.take(), error, &pass.cx.options);
    pass.worker.set_waits_for_dependency(true);
    pass.wake_at(failure.due);
    pass.set_stage(StageName::Preflight, failure.stage_state(subject));
    pass.state.preflight_failure = Some(failure);
    ReconcileFlow::Stop
}

/// The subject of the message if the autoscalers of the cluster are unknown.
const AUTOSCALERS: &str = "Reading the autoscalers of the cluster";

/// The error and the subject of its message.
pub(super) type PreflightFailure = (Error, String);

async fn check(pass: &mut Reconciliation<'_>) -> Result<ReconcileFlow, PreflightFailure> {
    let autoscalers = pass.cx.observed.cluster.resources.wait_for_autoscalers().await;
    autoscalers.map_err(|error| (error, AUTOSCALERS.to_owned()))?;
    resolve_kinds(pass).await?;
    start_watches(pass).await?;
    ensure_namespaces(pass).await?;
    helm_release::check_name(pass).await?;
    Ok(check_ownership(pass))
}

/// Resolves the kind of every object; runs discovery again if one is missing.
async fn resolve_kinds(pass: &mut Reconciliation<'_>) -> Result<(), PreflightFailure> {
    let defined = defined_kinds(&pass.prepared.objects);
    let mut missing = assign_kinds(pass, &pass.cx.discovery.kinds(), &defined);
    let is_due = pass.state.preflight_failure.as_ref().is_none_or(RetryState::is_due);
    if !missing.is_empty() && is_due {
        let kinds = pass.cx.discovery.refresh().await.map_err(|error| (error, String::new()))?;
        missing = assign_kinds(pass, &kinds, &defined);
    }
    let Some(first) = missing.first() else { return Ok(()) };
    let object = &pass.targets[*first].desired.object;
    let error = Error::ApiMissing(format!("{} ({})", object.kind, object.api_version()));
    let subject = object.to_string();
    for at in missing {
        let target = &mut pass.targets[at];
        let finding = Finding::error(error.reason().as_str(), failure_message("", &error), error.hint())
            .with_object(target.desired.object.to_string());
        target.problem = Some(finding);
    }
    Err((error, subject))
}

/// Sets the kind of every target; returns the positions of targets whose kind is neither served nor defined.
fn assign_kinds(
    pass: &mut Reconciliation<'_>,
    kinds: &ServedKinds,
    defined: &HashMap<(String, String), ServedKind>,
) -> Vec<usize> {
    let mut missing = Vec::new();
    for (at, target) in pass.targets.iter_mut().enumerate() {
        let object = &target.desired.object;
        let definition = || defined.get(&(object.group.clone(), object.kind.clone())).cloned();
        let definition = definition().map(|r| ServedKind { version: object.version.clone(), ..r });
        target.kind = kinds.resolve(object).cloned().or(definition);
        if target.kind.is_none() {
            missing.push(at);
        }
    }
    missing
}

/// The kinds defined by the bundle itself.
pub(crate) fn defined_kinds(objects: &[Arc<DesiredObject>]) -> HashMap<(String, String), ServedKind> {
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    objects
        .iter()
        .filter(|desired| desired.object.kind == "CustomResourceDefinition")
        .map(|desired| {
            let value = desired.value();
            let resource = ServedKind {
                group: text(&value, "/spec/group"),
                version: String::new(),
                kind: text(&value, "/spec/names/kind"),
                plural: text(&value, "/spec/names/plural"),
                namespaced: text(&value, "/spec/scope") == "Namespaced",
                has_status: true,
            };
            ((resource.group.clone(), resource.kind.clone()), resource)
        })
        .collect()
}

/// Starts the watches of the used kinds and waits for their first lists.
async fn start_watches(pass: &mut Reconciliation<'_>) -> Result<(), PreflightFailure> {
    let kinds = pass.cx.discovery.kinds();
    for target in &mut pass.targets {
        let object = &target.desired.object;
        if kinds.resolve(object).is_none() {
            continue;
        }
        let observed = &pass.cx.observed;
        target.cache = target.kind.as_ref().map(|resource| match pass.policies.update_strategy(object) {
            UpdateStrategy::ServerSideApply => observed.watch_kind(resource),
            // Objects created by others lack the release label.
            _ => observed.watch_object(pass.worker.id, resource, object),
        });
        if owns_pods(&object.kind) && !object.namespace.is_empty() {
            pass.cx.observed.pods.watch_namespace(&object.namespace);
        }
    }
    let (policies, prepared) = (&pass.policies, &pass.prepared);
    pass.cx.observed.retain_single_objects(pass.worker.id, |object| {
        policies.update_strategy(object) != UpdateStrategy::ServerSideApply
            && prepared.objects.iter().any(|desired| desired.object == *object)
    });
    // All first lists are already running, so waiting sequentially takes as long as the slowest.
    for target in &pass.targets {
        let Some(objects) = &target.cache else { continue };
        let subject = || target.desired.object.to_string();
        match objects.wait_until_settled().await {
            CacheState::Failing(error, _) => return Err((error, format!("Reading {}", subject()))),
            CacheState::NotServed => {
                pass.cx.observed.remove_ended();
                let _ = pass.cx.discovery.refresh().await;
                let object = &target.desired.object;
                let missing = Error::ApiMissing(String::new()).with_kind(object, pass.defines_kind(object));
                return Err((missing, subject()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Creates missing namespaces if the policy allows it. They are not recorded, so they are never deleted.
async fn ensure_namespaces(pass: &mut Reconciliation<'_>) -> Result<(), PreflightFailure> {
    let own: BTreeSet<&str> = pass
        .prepared
        .objects
        .iter()
        .filter(|desired| desired.object.kind == "Namespace")
        .map(|desired| desired.object.name.as_str())
        .collect();
    let needed: BTreeSet<String> = pass
        .targets
        .iter()
        .filter(|target| target.kind.as_ref().is_some_and(|resource| resource.namespaced))
        .filter(|target| !pass.is_read_only(&target.desired.object))
        .map(|target| target.desired.object.namespace.clone())
        .chain(pass.prepared.hooks.iter().map(|hook| hook.desired.object.namespace.clone()))
        .filter(|namespace| !namespace.is_empty() && !own.contains(namespace.as_str()))
        .collect();
    for namespace in needed {
        match pass.cx.observed.cluster.namespace_status(&namespace) {
            NamespaceStatus::Active | NamespaceStatus::Unknown => {}
            NamespaceStatus::Terminating => {
                let path = cluster_state::namespace_kind().object_path("", &namespace);
                // Only metadata of namespaces is watched; without its conditions the message is shorter.
                let blockers = pass.cx.api.get(&path).await.map(|live| describe_finalizers(&live));
                let error = Error::NamespaceTerminating(blockers.unwrap_or_default());
                return Err((error, format!("Namespace {namespace}")));
            }
            NamespaceStatus::Missing if pass.policies.create_namespace && !pass.is_suspended() => {
                create_namespace(pass, &namespace).await?
            }
            NamespaceStatus::Missing => {
                return Err((Error::NamespaceMissing(namespace), String::new()));
            }
        }
    }
    Ok(())
}

async fn create_namespace(pass: &mut Reconciliation<'_>, namespace: &str) -> Result<(), PreflightFailure> {
    if pass.state.preflight_failure.as_ref().is_some_and(|failure| !failure.is_due()) {
        let failure = pass.state.preflight_failure.as_ref().map(|failure| failure.error.clone());
        return Err((failure.unwrap_or(Error::Gone), format!("Namespace {namespace}")));
    }
    let value = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": namespace,
            "labels": { "app.kubernetes.io/managed-by": "flotilla" },
            "annotations": { crate::desired_object::WORKLOAD_ANNOTATION: pass.request.desired.workload },
        },
    });
    match pass.cx.api.create(&cluster_state::namespace_kind().collection_path(""), &value).await {
        Ok(created) => {
            pass.cx.observed.cluster.insert_namespace(&created);
            Ok(())
        }
        // It was created concurrently, such as by another release.
        Err(Error::Conflict(_)) => Ok(()),
        Err(error) => Err((error, format!("Namespace {namespace}"))),
    }
}

/// Stops if another release applied an object.
fn check_ownership(pass: &mut Reconciliation<'_>) -> ReconcileFlow {
    let mut conflict = None;
    for at in 0..pass.targets.len() {
        let desired = &pass.targets[at].desired;
        let Some(live) = pass.targets[at].live_object() else { continue };
        if pass.policies.update_strategy(&desired.object) != UpdateStrategy::ServerSideApply {
            continue;
        }
        if let Some(message) = ownership_conflict(pass, &live) {
            let subject = desired.object.to_string();
            let hint = "Remove it from one of the two workloads.";
            pass.targets[at].problem = Some(
                Finding::error(Reason::ResourceConflict.as_str(), message.clone(), hint)
                    .with_object(&*subject),
            );
            conflict.get_or_insert(format!("{subject}: {message} {hint}"));
        }
    }
    let Some(message) = conflict else { return ReconcileFlow::Continue };
    let reason = StageReason::new(Reason::ResourceConflict, message);
    pass.set_stage(StageName::Preflight, StageState::Failed(reason));
    // Changes by the other release do not wake this one; the check reads only the cache.
    pass.wake_in(pass.cx.options.retry_first);
    ReconcileFlow::Stop
}

/// Why an object may not be changed, if another release owns it.
pub(crate) fn ownership_conflict(pass: &Reconciliation<'_>, live: &LiveObject) -> Option<String> {
    let other = live.applied_release().filter(|other| *other != pass.release())?;
    let is_abandoned = !pass.cx.workers.is_desired(other);
    if is_abandoned && pass.policies.conflict != ConflictPolicy::Abort {
        return None;
    }
    let workload = pass.cx.applied_releases.get(other).map(|record| record.workload.clone());
    Some(match workload {
        Some(workload) => format!("it belongs to workload {workload:?}."),
        None => format!("it belongs to another release ({other})."),
    })
}
