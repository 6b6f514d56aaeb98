//! Before anything is written: every kind is served, every namespace is there, nobody else owns the objects.

use std::collections::{BTreeSet, HashMap};

use domain::finding::Finding;
use domain::policy::{ConflictPolicy, UpdateStrategy};
use domain::release::stage::Trouble;
use domain::release::{StageName, StageState};
use serde_json::{Value, json};

use super::behind;
use super::pass::{Flow, Pass};
use super::retry::{Failure, sentence};
use crate::api::Resource;
use crate::discovery::Kinds;
use crate::error::Error;
use crate::observe::cluster::{self, Namespace};
use crate::observe::{Condition, Live};
use crate::wanted::Wanted;

/// Kinds that own pods.
const POD_OWNERS: [&str; 7] =
    ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"];

/// Whether objects of this kind run containers.
pub(crate) fn owns_pods(kind: &str) -> bool {
    kind == "Pod" || POD_OWNERS.contains(&kind)
}

/// Looks before anything is touched.
pub(crate) async fn run(pass: &mut Pass<'_>) -> Flow {
    pass.stage(StageName::Notified, StageState::Done);
    let record = pass.read_record();
    let pulled = pulled(pass);
    pass.stage(StageName::Pulled, pulled);
    if pass.order.prepared.is_none() || behind::holds(pass, record.as_deref(), StageName::Preflight) {
        return Flow::Stop;
    }
    if let Some(record) = record.filter(|record| record.deleting)
        && let Err(error) = pass.cx.records.let_go(&record).await
    {
        return failed(pass, error, &record.name);
    }
    let result = look(pass).await;
    match result {
        Ok(Flow::Go) => {
            pass.memory.preflight = None;
            pass.stage(StageName::Preflight, StageState::Done);
            Flow::Go
        }
        Ok(other) => other,
        Err((error, subject)) => failed(pass, error, &subject),
    }
}

/// How far the bundle is.
pub(crate) fn pulled(pass: &Pass<'_>) -> StageState {
    match &pass.order.pulled {
        _ if pass.order.prepared.is_some() => StageState::Done,
        StageState::Done => StageState::Running { message: String::new() },
        other => other.clone(),
    }
}

fn failed(pass: &mut Pass<'_>, error: Error, subject: &str) -> Flow {
    let again = match &pass.memory.preflight {
        Some(before) if before.error == error && !before.is_due() => before.clone(),
        before => Failure::after(before.as_ref(), error, &pass.cx.options),
    };
    pass.slot.set_waiting(true);
    pass.wake_at(again.due);
    pass.stage(StageName::Preflight, again.stage(subject));
    pass.memory.preflight = Some(again);
    Flow::Stop
}

type Held = (Error, String);

async fn look(pass: &mut Pass<'_>) -> Result<Flow, Held> {
    resolve(pass).await?;
    observe(pass).await?;
    namespaces(pass).await?;
    Ok(foreign(pass))
}

/// Finds the kind of every object, reading the cluster's kinds anew if one is missed.
async fn resolve(pass: &mut Pass<'_>) -> Result<(), Held> {
    let defined = defined(&pass.prepared.objects);
    let mut missing = find(pass, &pass.cx.discovery.kinds(), &defined);
    let may_ask = pass.memory.preflight.as_ref().is_none_or(Failure::is_due);
    if !missing.is_empty() && may_ask {
        let kinds = pass.cx.discovery.refresh().await.map_err(|error| (error, String::new()))?;
        missing = find(pass, &kinds, &defined);
    }
    let Some(first) = missing.first() else { return Ok(()) };
    let object = &pass.prepared.objects[*first].object;
    let error = Error::ApiMissing(format!("{} ({})", object.kind, object.api_version()));
    let subject = object.to_string();
    for index in missing {
        let object = &pass.prepared.objects[index].object;
        let finding =
            Finding::error(error.label(), sentence("", &error), error.hint()).about(object.to_string());
        pass.targets[index].problem = Some(finding);
    }
    Err((error, subject))
}

/// Resolves what can be resolved; returns the objects of kinds that nobody serves or defines.
fn find(pass: &mut Pass<'_>, kinds: &Kinds, defined: &HashMap<(String, String), Resource>) -> Vec<usize> {
    let mut missing = Vec::new();
    for target in &mut pass.targets {
        let object = &pass.prepared.objects[target.index].object;
        let definition = || defined.get(&(object.group.clone(), object.kind.clone())).cloned();
        let definition = definition().map(|r| Resource { version: object.version.clone(), ..r });
        target.resource = kinds.of(object).cloned().or(definition);
        if target.resource.is_none() {
            missing.push(target.index);
        }
    }
    missing
}

/// The kinds that the bundle itself defines.
pub(crate) fn defined(objects: &[Wanted]) -> HashMap<(String, String), Resource> {
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    objects
        .iter()
        .filter(|wanted| wanted.object.kind == "CustomResourceDefinition")
        .map(|wanted| {
            let value = wanted.value();
            let resource = Resource {
                group: text(&value, "/spec/group"),
                version: String::new(),
                kind: text(&value, "/spec/names/kind"),
                plural: text(&value, "/spec/names/plural"),
                namespaced: text(&value, "/spec/scope") == "Namespaced",
            };
            ((resource.group.clone(), resource.kind.clone()), resource)
        })
        .collect()
}

/// Begins to watch what is in use and waits for the first list of each kind.
async fn observe(pass: &mut Pass<'_>) -> Result<(), Held> {
    let kinds = pass.cx.discovery.kinds();
    for target in &mut pass.targets {
        let object = &pass.prepared.objects[target.index].object;
        if kinds.of(object).is_none() {
            continue;
        }
        let observed = &pass.cx.observed;
        target.objects = target.resource.as_ref().map(|resource| match pass.policies.strategy(object) {
            UpdateStrategy::ServerSideApply => observed.objects(resource),
            // What others made carries no label of ours.
            _ => observed.single(pass.slot.id, resource, object),
        });
        if owns_pods(&object.kind) && !object.namespace.is_empty() {
            pass.cx.observed.pods.watch(&object.namespace);
        }
    }
    let (policies, prepared) = (&pass.policies, &pass.prepared);
    pass.cx.observed.keep_singles(pass.slot.id, |object| {
        policies.strategy(object) != UpdateStrategy::ServerSideApply
            && prepared.objects.iter().any(|wanted| wanted.object == *object)
    });
    // All first lists are under way by now; waiting for them one after the other costs no more than the slowest.
    for target in &pass.targets {
        let Some(objects) = &target.objects else { continue };
        let subject = || pass.prepared.objects[target.index].object.to_string();
        match objects.settled().await {
            Condition::Failing(error, _) => return Err((error, format!("Reading {}", subject()))),
            Condition::NotServed => {
                pass.cx.observed.forget_ended();
                let _ = pass.cx.discovery.refresh().await;
                return Err((Error::ApiMissing(objects.resource.kind.clone()), subject()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes missing namespaces if the policy says so. Such a namespace is not recorded, so it is never removed by us.
async fn namespaces(pass: &mut Pass<'_>) -> Result<(), Held> {
    let own: BTreeSet<&str> = pass
        .prepared
        .objects
        .iter()
        .filter(|wanted| wanted.object.kind == "Namespace")
        .map(|wanted| wanted.object.name.as_str())
        .collect();
    let needed: BTreeSet<String> = pass
        .targets
        .iter()
        .filter(|target| target.resource.as_ref().is_some_and(|resource| resource.namespaced))
        .filter(|target| !pass.is_read_only(&pass.prepared.objects[target.index].object))
        .map(|target| pass.prepared.objects[target.index].object.namespace.clone())
        .filter(|namespace| !namespace.is_empty() && !own.contains(namespace.as_str()))
        .collect();
    for namespace in needed {
        match pass.cx.observed.cluster.namespace(&namespace) {
            Namespace::Active | Namespace::Unknown => {}
            Namespace::Terminating => {
                return Err((Error::NamespaceTerminating(namespace), String::new()));
            }
            Namespace::Missing if pass.policies.create_namespace => create(pass, &namespace).await?,
            Namespace::Missing => {
                return Err((Error::NamespaceMissing(namespace), String::new()));
            }
        }
    }
    Ok(())
}

async fn create(pass: &mut Pass<'_>, namespace: &str) -> Result<(), Held> {
    if pass.memory.preflight.as_ref().is_some_and(|failure| !failure.is_due()) {
        let failure = pass.memory.preflight.as_ref().map(|failure| failure.error.clone());
        return Err((failure.unwrap_or(Error::Gone), format!("Namespace {namespace}")));
    }
    let value = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": namespace,
            "labels": { "app.kubernetes.io/managed-by": "flotilla" },
            "annotations": { crate::wanted::WORKLOAD_ANNOTATION: pass.order.want.workload },
        },
    });
    match pass.cx.api.create(&cluster::namespaces().collection(""), &value).await {
        Ok(made) => {
            pass.cx.observed.cluster.put_namespace(&made);
            Ok(())
        }
        // Somebody was faster, perhaps another release.
        Err(Error::Conflict(_)) => Ok(()),
        Err(error) => Err((error, format!("Namespace {namespace}"))),
    }
}

/// Objects that carry the label of another release are not touched.
fn foreign(pass: &mut Pass<'_>) -> Flow {
    let mut held = None;
    for at in 0..pass.targets.len() {
        let wanted = &pass.prepared.objects[pass.targets[at].index];
        let Some(live) = pass.targets[at].live(wanted) else { continue };
        if pass.policies.strategy(&wanted.object) != UpdateStrategy::ServerSideApply {
            continue;
        }
        if let Some(message) = taken(pass, &live) {
            let subject = wanted.object.to_string();
            let hint = "Remove it from one of the two workloads.";
            pass.targets[at].problem =
                Some(Finding::error("ResourceConflict", message.clone(), hint).about(&*subject));
            held.get_or_insert(format!("{subject}: {message} {hint}"));
        }
    }
    let Some(message) = held else { return Flow::Go };
    let trouble = Trouble { reason: "ResourceConflict".to_owned(), message, attempts: 0, next_retry: None };
    pass.stage(StageName::Preflight, StageState::Failed(trouble));
    // What the other release does to its objects does not wake this one; looking costs no request.
    pass.wake_in(pass.cx.options.retry_first);
    Flow::Stop
}

/// Why an object may not be touched, if another release has it.
pub(crate) fn taken(pass: &Pass<'_>, live: &Live) -> Option<String> {
    let other = live.release.filter(|other| *other != pass.release())?;
    let abandoned = !pass.cx.slots.is_wanted(other);
    if abandoned && pass.policies.conflict != ConflictPolicy::Abort {
        return None;
    }
    let workload = pass.cx.records.get(other).map(|record| record.workload.clone());
    Some(match workload {
        Some(workload) => format!("it belongs to workload {workload:?}."),
        None => format!("it belongs to another release ({other})."),
    })
}
