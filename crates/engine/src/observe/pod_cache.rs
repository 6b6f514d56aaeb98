//! Pods, replica sets, and warnings about pods and their controllers in the used namespaces, for the diagnosis.
//!
//! Pods have no release label, because a label on the pod template would restart every workload; they are found through
//! their owner references. Only the fields used by the diagnosis are cached.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use domain::ReleaseId;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::TaskSender;
use super::live_object::LiveObject;
use super::watcher::{self, WatchTarget, WatcherEvent};
use crate::api::{ApiClient, ServedKind};
use crate::health::FAILED_CREATE;
use crate::release::ReleaseWorkers;

/// From this number of namespaces on, one cluster-wide watch is cheaper than one per namespace.
const NAMESPACES_MAX: usize = 50;
/// Reasons of warnings that add information to the container states.
const DIAGNOSTIC_REASONS: [&str; 4] =
    ["FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Unhealthy"];
/// The labels with the revision of a pod.
const REVISION_LABELS: [&str; 2] = ["controller-revision-hash", "pod-template-generation"];

#[derive(Default)]
struct PodIndex {
    /// Watched namespaces; an empty name means all.
    watched_namespaces: HashSet<String>,
    /// Pods by owner uid.
    pods: HashMap<String, BTreeMap<(String, String), Arc<Value>>>,
    /// Newest diagnostic warning of each pod, by pod uid.
    warnings: HashMap<String, Arc<Value>>,
    /// Newest warning of each controller that could not create a pod or a Job, by uid of its object.
    failed_creations: HashMap<String, Arc<Value>>,
    /// Owner uid of each pod.
    owner_of: HashMap<(String, String), String>,
    /// Replica sets by uid.
    replica_sets: HashMap<String, CachedReplicaSet>,
    /// Owner uid to its replica sets.
    replica_sets_of: HashMap<String, HashSet<String>>,
    /// Release of each managed object, by uid.
    releases: HashMap<String, ReleaseId>,
}

/// What is cached of a replica set.
struct CachedReplicaSet {
    /// Uid of its owner.
    owner: String,
    namespace: String,
    /// The revision of the Deployment that it belongs to; 0 without the annotation.
    revision: i64,
}

/// Cache of pods, their owners and warnings.
pub(crate) struct PodCache {
    api: ApiClient,
    task_sender: TaskSender,
    workers: Arc<ReleaseWorkers>,
    index: Mutex<PodIndex>,
}

impl PodCache {
    pub(crate) fn new(api: ApiClient, task_sender: TaskSender, workers: Arc<ReleaseWorkers>) -> Self {
        Self { api, task_sender, workers, index: Mutex::default() }
    }

    fn lock_index(&self) -> MutexGuard<'_, PodIndex> {
        self.index.lock()
    }

    /// Records the release of an object, so that changes of its pods wake it.
    pub(crate) fn insert_owner(&self, live: &LiveObject) {
        if let Some(release) = live.release {
            self.lock_index().releases.insert(live.uid.clone(), release);
        }
    }

    /// Starts to watch a namespace if it is not watched yet.
    pub(crate) fn watch_namespace(self: &Arc<Self>, namespace: &str) {
        let mut index = self.lock_index();
        if index.watched_namespaces.contains(namespace) || index.watched_namespaces.contains("") {
            return;
        }
        let scope = if index.watched_namespaces.len() >= NAMESPACES_MAX { "" } else { namespace };
        index.watched_namespaces.insert(scope.to_owned());
        drop(index);
        let pods = ServedKind::new("", "v1", "Pod", "pods", true);
        let sets = ServedKind::new("apps", "v1", "ReplicaSet", "replicasets", true);
        let events = ServedKind::new("", "v1", "Event", "events", true);
        let all = |resource: &ServedKind| WatchTarget::new(resource.collection_path(scope));
        let warnings = WatchTarget { field_selector: "type=Warning".to_owned(), ..all(&events) };
        self.spawn_watch(all(&pods), scope, Self::handle_pod_event);
        self.spawn_watch(
            WatchTarget { metadata_only: true, ..all(&sets) },
            scope,
            Self::handle_replica_set_event,
        );
        self.spawn_watch(warnings, scope, Self::handle_warning_event);
    }

    fn spawn_watch(
        self: &Arc<Self>,
        target: WatchTarget,
        scope: &str,
        handle: fn(&Self, WatcherEvent, &str),
    ) {
        let (cache, scope) = (self.clone(), scope.to_owned());
        let watch =
            watcher::list_and_watch(self.api.clone(), target, move |event| handle(&cache, event, &scope));
        // Fails only after the engine has stopped; pods are not needed then.
        let _ = self.task_sender.send(Box::pin(watch));
    }

    /// The pods of an object, including those of its replica sets.
    pub(crate) fn pods_of(&self, owner: &str) -> Vec<Arc<Value>> {
        let index = self.lock_index();
        let sets = index.replica_sets_of.get(owner).into_iter().flatten();
        std::iter::once(owner)
            .chain(sets.map(String::as_str))
            .filter_map(|uid| index.pods.get(uid))
            .flat_map(|pods| pods.values().cloned())
            .collect()
    }

    /// The pods of an object without those of earlier revisions of a Deployment: a rollout replaces them, and what they fail with
    /// says nothing about the desired revision. `revision` is that of the Deployment; the replica set that belongs to it may not be
    /// observed yet.
    pub(crate) fn current_pods_of(&self, owner: &str, revision: Option<i64>) -> Vec<Arc<Value>> {
        let index = self.lock_index();
        let sets: Vec<(&str, i64)> = index
            .replica_sets_of
            .get(owner)
            .into_iter()
            .flatten()
            .filter_map(|uid| Some((uid.as_str(), index.replica_sets.get(uid)?.revision)))
            .collect();
        let newest = sets.iter().map(|(_, number)| *number).chain(revision).max();
        let current = sets.iter().filter(|(_, number)| Some(*number) == newest).map(|(uid, _)| *uid);
        std::iter::once(owner)
            .chain(current)
            .filter_map(|uid| index.pods.get(uid))
            .flat_map(|pods| pods.values().cloned())
            .collect()
    }

    /// The diagnostic warnings about these pods.
    pub(crate) fn warnings(&self, pods: &[Arc<Value>]) -> Vec<Arc<Value>> {
        let index = self.lock_index();
        pods.iter().filter_map(|pod| index.warnings.get(&uid(pod)).cloned()).collect()
    }

    /// The newest warning that the controller of an object could not create a pod or a Job.
    pub(crate) fn failed_creation(&self, uid: &str) -> Option<Arc<Value>> {
        self.lock_index().failed_creations.get(uid).cloned()
    }

    /// Removes the release of a deleted object.
    pub(crate) fn remove_owner(&self, uid: &str) {
        let mut index = self.lock_index();
        index.releases.remove(uid);
        index.failed_creations.remove(uid);
    }

    fn handle_warning_event(&self, event: WatcherEvent, scope: &str) {
        let warnings = match event {
            WatcherEvent::Listed(values, _) => {
                let mut index = self.lock_index();
                index.failed_creations.retain(|_, warning| {
                    !scope.is_empty() && warning["involvedObject"]["namespace"] != scope
                });
                values
            }
            WatcherEvent::Upserted(value) => vec![value],
            // Kubernetes expires events after an hour. A warning stays as long as its pod; one without a pod is dropped.
            WatcherEvent::Deleted(value) => return self.lock_index().remove_expired_warning(&value),
            _ => return,
        };
        let mut index = self.lock_index();
        let owners: Vec<String> =
            warnings.iter().filter_map(|warning| index.insert_warning(warning)).collect();
        let releases: HashSet<ReleaseId> =
            owners.iter().filter_map(|owner| index.release_of(owner)).collect();
        drop(index);
        releases.into_iter().for_each(|release| self.workers.wake(Some(release)));
    }

    fn handle_pod_event(&self, event: WatcherEvent, scope: &str) {
        let mut index = self.lock_index();
        let owners: Vec<String> = match event {
            WatcherEvent::Listed(values, _) => {
                let before = index.remove_pods(scope);
                let uids: HashSet<String> = values.iter().map(uid).collect();
                index.retain_warnings(scope, |pod| uids.contains(pod));
                let now = values.into_iter().filter_map(|value| index.insert_pod(&value)).collect::<Vec<_>>();
                before.into_iter().chain(now).collect()
            }
            WatcherEvent::Upserted(value) => index.insert_pod(&value).into_iter().collect(),
            WatcherEvent::Deleted(value) => {
                index.warnings.remove(&uid(&value));
                index.remove_pod(&object_key(&value)).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let releases: HashSet<ReleaseId> =
            owners.iter().filter_map(|owner| index.release_of(owner)).collect();
        drop(index);
        releases.into_iter().for_each(|release| self.workers.wake(Some(release)));
    }

    fn handle_replica_set_event(&self, event: WatcherEvent, scope: &str) {
        let mut index = self.lock_index();
        let values = match event {
            WatcherEvent::Listed(values, _) => {
                let is_in_scope = |namespace: &str| scope.is_empty() || namespace == scope;
                let outdated: Vec<String> = index
                    .replica_sets
                    .iter()
                    .filter(|(_, cached)| is_in_scope(&cached.namespace))
                    .map(|(set, _)| set.clone())
                    .collect();
                outdated.iter().for_each(|set| index.remove_replica_set(set));
                values
            }
            WatcherEvent::Upserted(value) => vec![value],
            WatcherEvent::Deleted(value) => {
                index.remove_replica_set(&uid(&value));
                return;
            }
            _ => return,
        };
        let releases: HashSet<ReleaseId> =
            values.iter().filter_map(|value| index.insert_replica_set(value)).collect();
        drop(index);
        releases.into_iter().for_each(|release| self.workers.wake(Some(release)));
    }
}

impl PodIndex {
    fn insert_pod(&mut self, value: &Value) -> Option<String> {
        let owner = controller_uid(value)?;
        let key = object_key(value);
        if self.owner_of.get(&key).is_some_and(|former| *former != owner) {
            self.remove_pod(&key);
        }
        self.owner_of.insert(key.clone(), owner.clone());
        self.pods.entry(owner.clone()).or_default().insert(key, Arc::new(trim_pod(value)));
        Some(owner)
    }

    fn remove_pod(&mut self, key: &(String, String)) -> Option<String> {
        let owner = self.owner_of.remove(key)?;
        let pods = self.pods.get_mut(&owner)?;
        pods.remove(key);
        if pods.is_empty() {
            self.pods.remove(&owner);
        }
        Some(owner)
    }

    /// Stores a warning if it is the newest of its pod or controller; returns the pod's owner or the controller's object.
    fn insert_warning(&mut self, warning: &Value) -> Option<String> {
        let involved = &warning["involvedObject"];
        let text = |field: &str| involved[field].as_str().unwrap_or_default().to_owned();
        let is_newer =
            |known: &Arc<Value>| warning["lastTimestamp"].as_str() >= known["lastTimestamp"].as_str();
        if involved["kind"] != "Pod" {
            let is_failure = warning["reason"] == FAILED_CREATE;
            if is_failure && self.failed_creations.get(&text("uid")).is_none_or(is_newer) {
                self.failed_creations.insert(text("uid"), Arc::new(trim_warning(warning)));
            }
            return is_failure.then(|| text("uid"));
        }
        if !DIAGNOSTIC_REASONS.iter().any(|reason| warning["reason"] == *reason) {
            return None;
        }
        let owner = self.owner_of.get(&(text("namespace"), text("name"))).cloned();
        if self.warnings.get(&text("uid")).is_none_or(is_newer) {
            self.warnings.insert(text("uid"), Arc::new(trim_warning(warning)));
        }
        owner
    }

    /// Removes the warnings of the scope about pods that are not retained.
    fn retain_warnings(&mut self, scope: &str, is_retained: impl Fn(&str) -> bool) {
        self.warnings.retain(|pod, warning| {
            !scope.is_empty() && warning["involvedObject"]["namespace"] != scope || is_retained(pod)
        });
    }

    /// Removes the warning of an expired event if its pod is not cached.
    fn remove_expired_warning(&mut self, warning: &Value) {
        let involved = &warning["involvedObject"];
        let text = |field: &str| involved[field].as_str().unwrap_or_default().to_owned();
        if !self.owner_of.contains_key(&(text("namespace"), text("name"))) {
            self.warnings.remove(&text("uid"));
        }
        // A controller that still fails writes the event again before it expires.
        if self.failed_creations.get(&text("uid")).is_some_and(|known| known["message"] == warning["message"])
        {
            self.failed_creations.remove(&text("uid"));
        }
    }

    fn remove_pods(&mut self, scope: &str) -> Vec<String> {
        let keys: Vec<_> =
            self.owner_of.keys().filter(|key| scope.is_empty() || key.0 == scope).cloned().collect();
        keys.iter().filter_map(|key| self.remove_pod(key)).collect()
    }

    fn insert_replica_set(&mut self, value: &Value) -> Option<ReleaseId> {
        let (owner, set) = (controller_uid(value)?, uid(value));
        let cached = CachedReplicaSet {
            owner: owner.clone(),
            namespace: object_key(value).0,
            revision: deployment_revision(value).unwrap_or(0),
        };
        self.replica_sets.insert(set.clone(), cached);
        self.replica_sets_of.entry(owner.clone()).or_default().insert(set);
        self.releases.get(&owner).copied()
    }

    fn remove_replica_set(&mut self, set: &str) {
        if let Some(CachedReplicaSet { owner, .. }) = self.replica_sets.remove(set)
            && let Some(sets) = self.replica_sets_of.get_mut(&owner)
        {
            sets.remove(set);
            if sets.is_empty() {
                self.replica_sets_of.remove(&owner);
            }
        }
    }

    fn release_of(&self, owner: &str) -> Option<ReleaseId> {
        let root = self.replica_sets.get(owner).map_or(owner, |set| set.owner.as_str());
        self.releases.get(root).copied()
    }
}

fn object_key(value: &Value) -> (String, String) {
    let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// The revision that the controller of a Deployment records on it and on its replica sets.
pub(crate) fn deployment_revision(object: &Value) -> Option<i64> {
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_str()?.parse().ok()
}

fn uid(value: &Value) -> String {
    value["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn controller_uid(value: &Value) -> Option<String> {
    let owners = value.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true).or_else(|| owners.first())?;
    owner["uid"].as_str().map(str::to_owned)
}

/// The fields of a pod used by the diagnosis.
fn trim_pod(pod: &Value) -> Value {
    let containers = |field: &str| -> Vec<Value> {
        let all = pod["spec"][field].as_array().map_or(&[][..], Vec::as_slice);
        all.iter()
            .map(|c| json!({"name": c["name"], "image": c["image"], "resources": c["resources"]}))
            .collect()
    };
    let volumes = pod["spec"]["volumes"].as_array().map_or(&[][..], Vec::as_slice);
    let claims: Vec<Value> = volumes
        .iter()
        .filter(|volume| volume["persistentVolumeClaim"].is_object())
        .map(|volume| json!({"persistentVolumeClaim": volume["persistentVolumeClaim"]}))
        .collect();
    let metadata = &pod["metadata"];
    let status = &pod["status"];
    let labels: BTreeMap<&str, &Value> =
        REVISION_LABELS.iter().filter_map(|name| Some((*name, metadata["labels"].get(name)?))).collect();
    json!({
        "kind": "Pod",
        "metadata": {
            "labels": labels,
            "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "creationTimestamp": metadata["creationTimestamp"], "deletionTimestamp": metadata["deletionTimestamp"],
        },
        "spec": {
            "restartPolicy": pod["spec"]["restartPolicy"],
            "containers": containers("containers"),
            "initContainers": containers("initContainers"),
            "volumes": claims,
        },
        "status": {
            "phase": status["phase"], "reason": status["reason"], "message": status["message"],
            "conditions": status["conditions"],
            "containerStatuses": status["containerStatuses"],
            "initContainerStatuses": status["initContainerStatuses"],
        },
    })
}

/// The fields of a warning used by the diagnosis.
fn trim_warning(warning: &Value) -> Value {
    json!({
        "involvedObject": {
            "uid": warning["involvedObject"]["uid"], "namespace": warning["involvedObject"]["namespace"],
        },
        "reason": warning["reason"],
        "message": warning["message"],
        "lastTimestamp": warning["lastTimestamp"],
    })
}

#[cfg(test)]
mod tests;
