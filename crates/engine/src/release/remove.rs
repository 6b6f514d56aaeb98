//! Deletion of objects: those that a new bundle no longer contains, or all of a release.
//!
//! Only objects with the recorded uid are deleted, in reverse rank order. A rank starts after the previous one is gone,
//! so that a terminating pod still has its configuration (S3-11, S3-12, P16, P17).

use std::collections::BTreeMap;

use domain::bundle::apply_rank;
use domain::chart_object::{CHART_CRD_ANNOTATION, retention_reason};
use domain::finding::Finding;
use domain::health::{Health, HealthStatus};
use domain::managed_fields::FIELD_MANAGER;
use domain::policy::DeletionPolicy;
use domain::release::{Reason, StageName, StageState};
use futures::StreamExt;
use futures::stream;
use serde_json::{Value, json};

use super::finalizers::describe_finalizers;
use super::hub_behind;
use super::reconciliation::{PruneItem, ReconcileFlow, Reconciliation, waiting_stage};
use super::removal_hooks;
use super::report;
use super::retry::{RetryState, failure_message};
use crate::api::ServedKind;
use crate::applied_release::InventoryEntry;
use crate::desired_object::{HASH_ANNOTATION, RELEASE_LABEL, WORKLOAD_ANNOTATION};
use crate::error::Error;
use crate::observe::{CacheState, LiveObject};

/// Result of a deletion of several objects.
pub(crate) struct PruneResult {
    pub remaining: Vec<InventoryEntry>,
    pub state: StageState,
    /// The objects that are left on the cluster because of their annotation, with the reason.
    pub retained: Vec<String>,
}

/// Result of the deletion of one object.
enum DeletionResult {
    /// It does not exist or is not owned by the release.
    Gone,
    /// It stays for this reason, and is no longer owned.
    Retained(&'static str),
    /// It is being deleted; with its last state, if known.
    Terminating(Option<Value>),
    Failed(Error),
}

/// Removes the whole release.
pub(crate) async fn run(pass: &mut Reconciliation<'_>, deletion: DeletionPolicy) -> ReconcileFlow {
    pass.set_stage(StageName::Notified, StageState::Done);
    for name in [StageName::Pulled, StageName::Preflight, StageName::Applied] {
        pass.set_stage(name, StageState::Skipped { message: "The release is being removed.".to_owned() });
    }
    let record = pass.load_record();
    if hub_behind::block_if_hub_behind(pass, record.as_deref(), StageName::Pruned) {
        report::report_removing(pass);
        return ReconcileFlow::Stop;
    }
    pass.state.applied = None;
    if let Some(record) = &record
        && let Err(error) = pass.cx.applied_releases.request_deletion(record).await
    {
        return record_failure(pass, error, &record.name);
    }
    pass.cx.observed.complete_inventory(pass.release(), &mut pass.inventory);
    let result = match deletion {
        DeletionPolicy::Foreground | DeletionPolicy::SelectivelyOrphan => {
            match removal_hooks::delete_with_hooks(pass, record.as_deref()).await {
                Ok(result) => result,
                Err(flow) => {
                    report::report_removing(pass);
                    return flow;
                }
            }
        }
        DeletionPolicy::Orphan => {
            let entries = pass.inventory.clone();
            orphan_entries(pass, &entries).await
        }
    };
    if pass.is_outdated() {
        return ReconcileFlow::Restart;
    }
    let is_over = result.state.is_finished();
    pass.state.retained.extend(result.retained);
    pass.set_stage(StageName::Pruned, result.state);
    if is_over {
        if let Some(record) = &record
            && let Err(error) = pass.cx.applied_releases.remove_finalizer(record).await
        {
            return record_failure(pass, error, &record.name);
        }
        report::report_removed(pass);
    } else {
        report::report_removing(pass);
    }
    ReconcileFlow::Continue
}

fn record_failure(pass: &mut Reconciliation<'_>, error: Error, name: &str) -> ReconcileFlow {
    let failure = RetryState::after(pass.state.record_failure.as_ref(), error, &pass.cx.options);
    pass.wake_at(failure.due);
    pass.set_stage(StageName::Pruned, failure.stage_state(&format!("Record {name}")));
    pass.state.record_failure = Some(failure);
    report::report_removing(pass);
    ReconcileFlow::Stop
}

/// Deletes objects rank by rank, in reverse order. Returns the remaining objects and the reason.
pub(crate) async fn delete_by_rank(pass: &mut Reconciliation<'_>, entries: &[InventoryEntry]) -> PruneResult {
    let mut ranks: BTreeMap<u32, Vec<InventoryEntry>> = BTreeMap::new();
    for entry in entries {
        ranks.entry(apply_rank(&entry.object.kind)).or_default().push(entry.clone());
    }
    let mut remaining = Vec::new();
    let mut retained = Vec::new();
    let mut state = StageState::Done;
    for (_, group) in ranks.into_iter().rev() {
        if !remaining.is_empty() {
            group.iter().for_each(|entry| pass.prune_items.push(prune_item(entry, Health::healthy(), None)));
            remaining.extend(group);
            continue;
        }
        let fates = delete_rank(pass, &group).await;
        for (entry, fate) in group.into_iter().zip(fates) {
            if let DeletionResult::Retained(reason) = fate {
                retained.push(format!("{} is left on the cluster: {reason}.", entry.object));
            }
            if let Some(blocked_by) = record_result(pass, &entry, fate) {
                let is_failed = matches!(blocked_by, StageState::Failed(_));
                let is_worse = is_failed || !matches!(state, StageState::Failed(_));
                if is_worse
                    && (state == StageState::Done || !matches!(blocked_by, StageState::Running { .. }))
                {
                    state = blocked_by;
                }
                remaining.push(entry);
            }
        }
    }
    PruneResult { remaining, state, retained }
}

async fn delete_rank(pass: &mut Reconciliation<'_>, group: &[InventoryEntry]) -> Vec<DeletionResult> {
    let pass: &Reconciliation<'_> = pass;
    let all: Vec<_> = group.iter().map(|entry| delete_entry(pass, entry)).collect();
    stream::iter(all).buffered(pass.cx.options.concurrency.max(1)).collect().await
}

/// Records the result for one object; returns why it still exists.
fn record_result(
    pass: &mut Reconciliation<'_>,
    entry: &InventoryEntry,
    fate: DeletionResult,
) -> Option<StageState> {
    match fate {
        DeletionResult::Gone | DeletionResult::Retained(_) => {
            pass.state.objects.remove(&entry.object);
            None
        }
        DeletionResult::Terminating(live) => {
            pass.state.object_mut(&entry.object).failure = None;
            pass.state.deletion_requested.insert(entry.uid.clone());
            let names = live.as_ref().map(describe_finalizers).unwrap_or_default();
            let blocked_by = match names.is_empty() {
                true => StageState::Running { message: format!("{} is being deleted.", entry.object) },
                false => waiting_stage(
                    Reason::FinalizerPending,
                    format!("{} is being deleted; {names}", entry.object),
                ),
            };
            let message = match names.as_str() {
                "" => "is being deleted".to_owned(),
                names => format!("is being deleted; {names}"),
            };
            let health = Health::new(HealthStatus::Progressing, "PendingDeletion", message);
            pass.prune_items.push(prune_item(entry, health, None));
            Some(blocked_by)
        }
        DeletionResult::Failed(error) => {
            let before = pass.state.object_mut(&entry.object).failure.take();
            let failure = RetryState::advance(before, error, &pass.cx.options);
            pass.wake_at(failure.due);
            let subject = entry.object.to_string();
            let hint = failure.error.hint();
            let problem =
                Finding::error(failure.error.reason().as_str(), failure_message("", &failure.error), hint)
                    .with_object(&*subject);
            pass.prune_items.push(prune_item(entry, Health::default(), Some(problem)));
            let state = failure.stage_state(&subject);
            pass.state.object_mut(&entry.object).failure = Some(failure);
            Some(state)
        }
    }
}

fn prune_item(entry: &InventoryEntry, health: Health, problem: Option<Finding>) -> PruneItem {
    PruneItem { object: entry.object.clone(), plural: entry.resource.clone(), health, problem }
}

/// Deletes one object, if it exists and is owned.
async fn delete_entry(pass: &Reconciliation<'_>, entry: &InventoryEntry) -> DeletionResult {
    if let Some(failure) =
        pass.state.objects.get(&entry.object).and_then(|object_state| object_state.failure.as_ref())
        && !failure.is_due()
    {
        return DeletionResult::Failed(failure.error.clone());
    }
    let live = match find_owned(pass, entry).await {
        Ok(Some(found)) => found,
        Ok(None) => return DeletionResult::Gone,
        Err(error) => return DeletionResult::Failed(error),
    };
    let (resource, value) = live;
    let claimed = pass.cx.applied_releases.is_claimed_by_another(pass.release(), &entry.uid);
    let retained = retention_reason(&value);
    if entry.shared || claimed || retained.is_some() || pass.is_orphaned(&entry.object) {
        // It existed before and may contain foreign objects, is listed by another record, is orphaned by policy, or stays
        // by its annotation: only the ownership is released.
        return match release_ownership(pass, &resource, entry, &value).await {
            Ok(()) => retained.map_or(DeletionResult::Gone, DeletionResult::Retained),
            Err(error) => DeletionResult::Failed(error),
        };
    }
    let uid = value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    if value.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string) {
        return DeletionResult::Terminating(Some(value));
    }
    let path = resource.object_path(&entry.object.namespace, &entry.object.name);
    match pass.api().delete(&path, uid, propagation_policy(entry)).await {
        // An object without finalizers is gone after the response; others terminate and their watch events follow.
        Ok(()) => match pass.cx.api.get(&path).await {
            Err(Error::NotFound(_)) => DeletionResult::Gone,
            Ok(after) if after.pointer("/metadata/uid").and_then(Value::as_str) != Some(uid) => {
                DeletionResult::Gone
            }
            Ok(after) => DeletionResult::Terminating(Some(after)),
            Err(_) => DeletionResult::Terminating(None),
        },
        Err(Error::NotFound(_) | Error::Conflict(_)) => DeletionResult::Gone,
        Err(error) => DeletionResult::Failed(error),
    }
}

/// Foreground for workloads, whose dependents must be deleted first; background for all other kinds.
fn propagation_policy(entry: &InventoryEntry) -> &'static str {
    if matches!(apply_rank(&entry.object.kind), 8 | 9) { "Foreground" } else { "Background" }
}

/// The live object, if it exists and is owned. A cache that is not fresh is not used.
async fn find_owned(
    pass: &Reconciliation<'_>,
    entry: &InventoryEntry,
) -> Result<Option<(ServedKind, Value)>, Error> {
    let kinds = pass.cx.discovery.kinds();
    let resource = kinds
        .resolve(&entry.object)
        .or_else(|| kinds.find_any_version(&entry.object.group, &entry.object.kind));
    let Some(resource) = resource.cloned() else {
        // A kind that is no longer served has no objects, but only if discovery of its group succeeded.
        let fresh = pass.cx.discovery.refresh().await?;
        let served = fresh.find_any_version(&entry.object.group, &entry.object.kind).is_some();
        return match !served && fresh.is_group_known(&entry.object.group) {
            true => Ok(None),
            false => Err(Error::ApiMissing(entry.object.kind.clone())),
        };
    };
    let objects = pass.cx.observed.watch_kind(&resource);
    let is_fresh = objects.wait_until_settled().await == CacheState::Fresh;
    let cached = objects.get(&entry.object.namespace, &entry.object.name);
    let cached = cached.filter(|_| is_fresh);
    if cached.is_none()
        && is_fresh
        && pass.state.deletion_requested.contains(&entry.uid)
        && !entry.uid.is_empty()
    {
        return Ok(None);
    }
    let value = match cached {
        Some(live) => live.value(),
        // An object that is not cached may only have lost its label, so it is read.
        None => {
            match pass.cx.api.get(&resource.object_path(&entry.object.namespace, &entry.object.name)).await {
                Ok(value) => value,
                Err(Error::NotFound(_) | Error::NamespaceMissing(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    };
    let is_owned = entry.owns(&LiveObject::from_value(&value), pass.release());
    Ok(is_owned.then_some((resource, value)))
}

/// Orphans the objects: they stay, and their label, annotations and field ownership are removed.
async fn orphan_entries(pass: &mut Reconciliation<'_>, entries: &[InventoryEntry]) -> PruneResult {
    let mut remaining = Vec::new();
    let mut state = StageState::Done;
    for entry in entries {
        let fate = match find_owned(pass, entry).await {
            Ok(None) => DeletionResult::Gone,
            Ok(Some((resource, value))) => match release_ownership(pass, &resource, entry, &value).await {
                Ok(()) => DeletionResult::Gone,
                Err(error) => DeletionResult::Failed(error),
            },
            Err(error) => DeletionResult::Failed(error),
        };
        if let Some(blocked_by) = record_result(pass, entry, fate) {
            state = blocked_by;
            remaining.push(entry.clone());
        }
    }
    PruneResult { remaining, state, retained: Vec::new() }
}

/// Removes label, annotations and field ownership from an object. An apply without the fields would delete them
/// instead.
async fn release_ownership(
    pass: &Reconciliation<'_>,
    resource: &ServedKind,
    entry: &InventoryEntry,
    value: &Value,
) -> Result<(), Error> {
    let managers = value.pointer("/metadata/managedFields").and_then(Value::as_array);
    let others: Vec<&Value> =
        managers.into_iter().flatten().filter(|entry| entry["manager"] != FIELD_MANAGER).collect();
    let patch = json!({"metadata": {
        "uid": value["metadata"]["uid"],
        "resourceVersion": value["metadata"]["resourceVersion"],
        "labels": { RELEASE_LABEL: null },
        "annotations": { WORKLOAD_ANNOTATION: null, HASH_ANNOTATION: null, CHART_CRD_ANNOTATION: null },
        // The API ignores an empty list; one empty entry clears the list.
        "managedFields": if others.is_empty() { json!([{}]) } else { json!(others) },
    }});
    let path = resource.object_path(&entry.object.namespace, &entry.object.name);
    match pass.api().merge_patch(&path, &patch).await {
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
