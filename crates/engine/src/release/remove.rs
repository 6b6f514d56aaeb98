//! Taking objects away: those a new bundle no longer has, or all of a release.
//!
//! Only an object with the recorded uid is deleted, the other way round than it was applied, rank by rank, each after
//! the one before is gone, so that a pod that is ending still has its configuration (S3-11, S3-12, P16, P17).

use std::collections::BTreeMap;

use domain::bundle::rank;
use domain::finding::Finding;
use domain::health::{Health, HealthStatus};
use domain::object::ObjectRef;
use domain::policy::DeletionPolicy;
use domain::release::{StageName, StageState};
use futures::StreamExt;
use futures::stream;
use serde_json::{Value, json};

use super::behind;
use super::conclude;
use super::pass::{Flow, Leftover, Pass, waiting};
use super::retry::{Failure, sentence};
use crate::api::{FIELD_MANAGER, Resource};
use crate::error::Error;
use crate::observe::{Condition, Live};
use crate::record::Entry;
use crate::wanted::{HASH_ANNOTATION, RELEASE_LABEL, WORKLOAD_ANNOTATION};

/// What a sweep left.
pub(crate) struct Swept {
    pub remaining: Vec<Entry>,
    pub state: StageState,
}

/// What became of one object.
enum Fate {
    /// Not there, or not ours.
    Gone,
    /// Its deletion is under way.
    Ending(Option<Value>),
    Failed(Error),
}

/// Removes the whole release.
pub(crate) async fn run(pass: &mut Pass<'_>, deletion: DeletionPolicy) -> Flow {
    pass.stage(StageName::Notified, StageState::Done);
    for name in [StageName::Pulled, StageName::Preflight, StageName::Applied] {
        pass.stage(name, StageState::Skipped { message: "The release is being removed.".to_owned() });
    }
    let record = pass.read_record();
    if behind::holds(pass, record.as_deref(), StageName::Pruned) {
        conclude::removing(pass);
        return Flow::Stop;
    }
    pass.memory.applied = None;
    if let Some(record) = &record
        && let Err(error) = pass.cx.records.mark_deleted(record).await
    {
        return failed(pass, error, &record.name);
    }
    add_unrecorded(pass);
    let entries = pass.entries.clone();
    let swept = match deletion {
        DeletionPolicy::Foreground | DeletionPolicy::SelectivelyOrphan => sweep(pass, &entries).await,
        DeletionPolicy::Orphan => orphan(pass, &entries).await,
    };
    if pass.is_outdated() {
        return Flow::Again;
    }
    let over = swept.state.is_over();
    pass.stage(StageName::Pruned, swept.state);
    if over {
        if let Some(record) = &record
            && let Err(error) = pass.cx.records.let_go(record).await
        {
            return failed(pass, error, &record.name);
        }
        conclude::gone(pass);
    } else {
        conclude::removing(pass);
    }
    Flow::Go
}

fn failed(pass: &mut Pass<'_>, error: Error, name: &str) -> Flow {
    let failure = Failure::after(pass.memory.record.as_ref(), error, &pass.cx.options);
    pass.wake_at(failure.due);
    pass.stage(StageName::Pruned, failure.stage(&format!("Record {name}")));
    pass.memory.record = Some(failure);
    conclude::removing(pass);
    Flow::Stop
}

/// Objects that carry the label of the release but were not recorded, because somebody took the record away.
fn add_unrecorded(pass: &mut Pass<'_>) {
    for (resource, live) in pass.cx.observed.labelled(pass.release()) {
        let object = ObjectRef {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            namespace: live.namespace.clone(),
            name: live.name.clone(),
        };
        if pass.entry(&object).is_none() {
            pass.entries.push(Entry {
                object,
                resource: resource.plural,
                uid: live.uid.clone(),
                ..Entry::default()
            });
        }
    }
}

/// Removes objects, one rank after the other, the last rank first. Says what is left and why.
pub(crate) async fn sweep(pass: &mut Pass<'_>, entries: &[Entry]) -> Swept {
    let mut ranks: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        ranks.entry(rank(&entry.object.kind)).or_default().push(entry.clone());
    }
    let mut remaining = Vec::new();
    let mut state = StageState::Done;
    for (_, group) in ranks.into_iter().rev() {
        if !remaining.is_empty() {
            group.iter().for_each(|entry| pass.leftovers.push(leftover(entry, Health::healthy(), None)));
            remaining.extend(group);
            continue;
        }
        let fates = fates(pass, &group).await;
        for (entry, fate) in group.into_iter().zip(fates) {
            if let Some(held) = settle(pass, &entry, fate) {
                let worse = matches!(held, StageState::Failed(_)) || !matches!(state, StageState::Failed(_));
                if worse && (state == StageState::Done || !matches!(held, StageState::Running { .. })) {
                    state = held;
                }
                remaining.push(entry);
            }
        }
    }
    Swept { remaining, state }
}

async fn fates(pass: &mut Pass<'_>, group: &[Entry]) -> Vec<Fate> {
    let shared: &Pass<'_> = pass;
    let all: Vec<_> = group.iter().map(|entry| one(shared, entry)).collect();
    stream::iter(all).buffered(shared.cx.options.concurrency.max(1)).collect().await
}

/// Takes the result for one object; returns why it is still there.
fn settle(pass: &mut Pass<'_>, entry: &Entry, fate: Fate) -> Option<StageState> {
    match fate {
        Fate::Gone => {
            pass.memory.objects.remove(&entry.object);
            None
        }
        Fate::Ending(live) => {
            pass.memory.object(&entry.object).failure = None;
            pass.memory.deleted.insert(entry.uid.clone());
            let names = live.as_ref().map(finalizers).unwrap_or_default();
            let held = match names.is_empty() {
                true => StageState::Running { message: format!("{} is being deleted.", entry.object) },
                false => waiting("FinalizerPending", format!("{} is being deleted; {names}", entry.object)),
            };
            let message = format!("is being deleted; {names}");
            let health = Health::new(HealthStatus::Progressing, "PendingDeletion", message);
            pass.leftovers.push(leftover(entry, health, None));
            Some(held)
        }
        Fate::Failed(error) => {
            let before = pass.memory.object(&entry.object).failure.clone();
            let failure = match before {
                Some(before) if !before.is_due() => before,
                before => Failure::after(before.as_ref(), error, &pass.cx.options),
            };
            pass.wake_at(failure.due);
            let subject = entry.object.to_string();
            let hint = failure.error.hint();
            let problem =
                Finding::error(failure.error.label(), sentence("", &failure.error), hint).about(&*subject);
            pass.leftovers.push(leftover(entry, Health::default(), Some(problem)));
            let state = failure.stage(&subject);
            pass.memory.object(&entry.object).failure = Some(failure);
            Some(state)
        }
    }
}

fn leftover(entry: &Entry, health: Health, problem: Option<Finding>) -> Leftover {
    Leftover { object: entry.object.clone(), resource: entry.resource.clone(), health, problem }
}

/// The finalizers that hold an object, in words; empty when only the deletion of its dependants does.
pub(crate) fn finalizers(live: &Value) -> String {
    let names: Vec<&str> = live
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| *name != "foregroundDeletion")
        .collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("finalizer {one} holds it."),
        many => format!("finalizers {} hold it.", many.join(", ")),
    }
}

/// Deletes one object, or finds that there is nothing to delete.
async fn one(pass: &Pass<'_>, entry: &Entry) -> Fate {
    if let Some(failure) = pass.memory.objects.get(&entry.object).and_then(|memory| memory.failure.as_ref())
        && !failure.is_due()
    {
        return Fate::Failed(failure.error.clone());
    }
    let live = match find(pass, entry).await {
        Ok(Some(found)) => found,
        Ok(None) => return Fate::Gone,
        Err(error) => return Fate::Failed(error),
    };
    let (resource, value) = live;
    let claimed = pass.cx.records.is_claimed_by_another(pass.release(), &entry.uid);
    if entry.shared || claimed || pass.lets_go(&entry.object) {
        // It was there before us and others may live in it, or it is in another record too, or a policy says that it
        // stays: only our claim goes.
        return match strip(pass, &resource, entry, &value).await {
            Ok(()) => Fate::Gone,
            Err(error) => Fate::Failed(error),
        };
    }
    let uid = value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    if value.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string) {
        return Fate::Ending(Some(value));
    }
    let path = resource.object(&entry.object.namespace, &entry.object.name);
    match pass.api().delete(&path, uid, propagation(entry)).await {
        // What holds it shows with the next event; an object that nothing holds is gone with the answer.
        Ok(()) => match pass.cx.api.get(&path).await {
            Err(Error::NotFound(_)) => Fate::Gone,
            Ok(after) if after.pointer("/metadata/uid").and_then(Value::as_str) != Some(uid) => Fate::Gone,
            Ok(after) => Fate::Ending(Some(after)),
            Err(_) => Fate::Ending(None),
        },
        Err(Error::NotFound(_) | Error::Conflict(_)) => Fate::Gone,
        Err(error) => Fate::Failed(error),
    }
}

/// Objects with dependants go after them; for the others that would only be a detour.
fn propagation(entry: &Entry) -> &'static str {
    if matches!(rank(&entry.object.kind), 8 | 9) { "Foreground" } else { "Background" }
}

/// The object as it is, if it is there and ours. A cache that can't be trusted is not asked.
async fn find(pass: &Pass<'_>, entry: &Entry) -> Result<Option<(Resource, Value)>, Error> {
    let kinds = pass.cx.discovery.kinds();
    let resource =
        kinds.of(&entry.object).or_else(|| kinds.in_any_version(&entry.object.group, &entry.object.kind));
    let Some(resource) = resource.cloned() else {
        // The kind is gone, and its objects with it, but only if the cluster says so itself.
        let fresh = pass.cx.discovery.refresh().await?;
        let served = fresh.in_any_version(&entry.object.group, &entry.object.kind).is_some();
        return match !served && fresh.is_known(&entry.object.group) {
            true => Ok(None),
            false => Err(Error::ApiMissing(entry.object.kind.clone())),
        };
    };
    let objects = pass.cx.observed.objects(&resource);
    let fresh = objects.settled().await == Condition::Fresh;
    let seen = objects.get(&entry.object.namespace, &entry.object.name);
    let seen = seen.filter(|_| fresh);
    if seen.is_none() && fresh && pass.memory.deleted.contains(&entry.uid) && !entry.uid.is_empty() {
        return Ok(None);
    }
    let value = match seen {
        Some(live) => live.value(),
        // Not seen may mean that somebody took our label off: the server knows.
        None => match pass.cx.api.get(&resource.object(&entry.object.namespace, &entry.object.name)).await {
            Ok(value) => value,
            Err(Error::NotFound(_) | Error::NamespaceMissing(_)) => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    Ok(is_ours(pass, entry, &Live::of(&value)).then_some((resource, value)))
}

/// The uid decides; where none was recorded yet, the label does.
fn is_ours(pass: &Pass<'_>, entry: &Entry, live: &Live) -> bool {
    let elsewhere = live.release.is_some_and(|release| release != pass.release());
    match entry.uid.as_str() {
        "" => live.release == Some(pass.release()),
        uid => uid == live.uid && !elsewhere,
    }
}

/// Leaves the objects and takes our marks off them.
async fn orphan(pass: &mut Pass<'_>, entries: &[Entry]) -> Swept {
    let mut remaining = Vec::new();
    let mut state = StageState::Done;
    for entry in entries {
        let fate = match find(pass, entry).await {
            Ok(None) => Fate::Gone,
            Ok(Some((resource, value))) => match strip(pass, &resource, entry, &value).await {
                Ok(()) => Fate::Gone,
                Err(error) => Fate::Failed(error),
            },
            Err(error) => Fate::Failed(error),
        };
        if let Some(held) = settle(pass, entry, fate) {
            state = held;
            remaining.push(entry.clone());
        }
    }
    Swept { remaining, state }
}

/// Takes label, annotations and our claim on the fields off an object. Applying less instead would delete its fields.
async fn strip(pass: &Pass<'_>, resource: &Resource, entry: &Entry, value: &Value) -> Result<(), Error> {
    let managers = value.pointer("/metadata/managedFields").and_then(Value::as_array);
    let others: Vec<&Value> =
        managers.into_iter().flatten().filter(|entry| entry["manager"] != FIELD_MANAGER).collect();
    let patch = json!({"metadata": {
        "uid": value["metadata"]["uid"],
        "resourceVersion": value["metadata"]["resourceVersion"],
        "labels": { RELEASE_LABEL: null },
        "annotations": { WORKLOAD_ANNOTATION: null, HASH_ANNOTATION: null },
        // An empty list would mean "as before"; one empty entry clears it.
        "managedFields": if others.is_empty() { json!([{}]) } else { json!(others) },
    }});
    let path = resource.object(&entry.object.namespace, &entry.object.name);
    match pass.api().merge(&path, &patch).await {
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
