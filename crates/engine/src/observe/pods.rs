//! Pods and replica sets of the namespaces in use, for diagnosis (`health.md` C.3).
//!
//! Pods carry no label of ours, because labels on a pod template would restart every workload; they are found through
//! their owners. Of each only what a diagnosis reads is kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ReleaseId;
use serde_json::{Value, json};

use super::Background;
use super::follow::{self, Event, Target};
use super::live::Live;
use crate::api::{Api, Resource};
use crate::release::Slots;

/// From so many namespaces on, one watch over all of them is cheaper than one each.
const NAMESPACES_MAX: usize = 50;
/// Warnings that tell more than the state of the containers does.
const TELLING: [&str; 4] = ["FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Unhealthy"];

#[derive(Default)]
struct Kept {
    /// Namespaces watched; an empty name means all.
    watched: HashSet<String>,
    /// Pods by the uid of their owner.
    pods: HashMap<String, BTreeMap<(String, String), Arc<Value>>>,
    /// The newest telling warning about each pod, by the uid of the pod.
    warnings: HashMap<String, Arc<Value>>,
    /// The owner of each pod.
    owner_of: HashMap<(String, String), String>,
    /// Replica set uid to (owner uid, namespace, name).
    sets: HashMap<String, (String, String)>,
    /// Owner uid to its replica sets.
    sets_of: HashMap<String, HashSet<String>>,
    /// The release of each object of ours that has pods.
    releases: HashMap<String, ReleaseId>,
}

/// All pods that matter.
pub(crate) struct Pods {
    api: Api,
    background: Background,
    slots: Arc<Slots>,
    kept: Mutex<Kept>,
}

impl Pods {
    pub(crate) fn new(api: Api, background: Background, slots: Arc<Slots>) -> Self {
        Self { api, background, slots, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers which release an object belongs to, so that its pods wake it.
    pub(crate) fn note_owner(&self, live: &Live) {
        if let Some(release) = live.release {
            self.kept().releases.insert(live.uid.clone(), release);
        }
    }

    /// Begins to watch a namespace, if it is not watched yet.
    pub(crate) fn watch(self: &Arc<Self>, namespace: &str) {
        let mut kept = self.kept();
        if kept.watched.contains(namespace) || kept.watched.contains("") {
            return;
        }
        let scope = if kept.watched.len() >= NAMESPACES_MAX { "" } else { namespace };
        kept.watched.insert(scope.to_owned());
        drop(kept);
        let pods = Resource::known("", "v1", "Pod", "pods", true);
        let sets = Resource::known("apps", "v1", "ReplicaSet", "replicasets", true);
        let events = Resource::known("", "v1", "Event", "events", true);
        let all = |resource: &Resource| Target::all(resource.collection(scope));
        let warnings = Target { fields: "involvedObject.kind=Pod,type=Warning".to_owned(), ..all(&events) };
        self.follow(all(&pods), scope, Self::take_pods);
        self.follow(Target { metadata_only: true, ..all(&sets) }, scope, Self::take_sets);
        self.follow(warnings, scope, Self::take_warnings);
    }

    fn follow(self: &Arc<Self>, target: Target, scope: &str, take: fn(&Self, Event, &str)) {
        let (me, scope) = (self.clone(), scope.to_owned());
        let watch = follow::follow(self.api.clone(), target, move |event| take(&me, event, &scope));
        // Nobody takes this once the engine has stopped; then nobody asks for pods either.
        let _ = self.background.send(Box::pin(watch));
    }

    /// The pods of an object, through its replica sets if it has any.
    pub(crate) fn of(&self, owner: &str) -> Vec<Arc<Value>> {
        let kept = self.kept();
        let sets = kept.sets_of.get(owner).into_iter().flatten();
        std::iter::once(owner)
            .chain(sets.map(String::as_str))
            .filter_map(|uid| kept.pods.get(uid))
            .flat_map(|pods| pods.values().cloned())
            .collect()
    }

    /// The telling warnings about these pods.
    pub(crate) fn warnings(&self, pods: &[Arc<Value>]) -> Vec<Arc<Value>> {
        let kept = self.kept();
        pods.iter().filter_map(|pod| kept.warnings.get(&uid(pod)).cloned()).collect()
    }

    /// Forgets an object that is gone.
    pub(crate) fn forget_owner(&self, uid: &str) {
        self.kept().releases.remove(uid);
    }

    fn take_warnings(&self, event: Event, _scope: &str) {
        let warnings = match event {
            Event::Listed(values, _) => values,
            Event::Put(value) => vec![value],
            // Events are cleaned away after an hour; what they told goes with the pod.
            _ => return,
        };
        let mut kept = self.kept();
        let owners: Vec<String> = warnings.iter().filter_map(|warning| kept.put_warning(warning)).collect();
        let releases: HashSet<ReleaseId> = owners.iter().filter_map(|owner| kept.release_of(owner)).collect();
        drop(kept);
        releases.into_iter().for_each(|release| self.slots.wake(Some(release)));
    }

    fn take_pods(&self, event: Event, scope: &str) {
        let mut kept = self.kept();
        let touched: Vec<String> = match event {
            Event::Listed(values, _) => {
                let before = kept.clear_pods(scope);
                let now = values.into_iter().filter_map(|value| kept.put_pod(&value)).collect::<Vec<_>>();
                before.into_iter().chain(now).collect()
            }
            Event::Put(value) => kept.put_pod(&value).into_iter().collect(),
            Event::Deleted(value) => {
                kept.warnings.remove(&uid(&value));
                kept.drop_pod(&key(&value)).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let releases: HashSet<ReleaseId> =
            touched.iter().filter_map(|owner| kept.release_of(owner)).collect();
        drop(kept);
        releases.into_iter().for_each(|release| self.slots.wake(Some(release)));
    }

    fn take_sets(&self, event: Event, scope: &str) {
        let mut kept = self.kept();
        let values = match event {
            Event::Listed(values, _) => {
                kept.sets.retain(|_, (_, namespace)| !scope.is_empty() && namespace != scope);
                values
            }
            Event::Put(value) => vec![value],
            Event::Deleted(value) => {
                kept.drop_set(&uid(&value));
                return;
            }
            _ => return,
        };
        let releases: HashSet<ReleaseId> = values.iter().filter_map(|value| kept.put_set(value)).collect();
        drop(kept);
        releases.into_iter().for_each(|release| self.slots.wake(Some(release)));
    }
}

impl Kept {
    fn put_pod(&mut self, value: &Value) -> Option<String> {
        let owner = controller(value)?;
        let key = key(value);
        self.owner_of.insert(key.clone(), owner.clone());
        self.pods.entry(owner.clone()).or_default().insert(key, Arc::new(trimmed(value)));
        Some(owner)
    }

    fn drop_pod(&mut self, key: &(String, String)) -> Option<String> {
        let owner = self.owner_of.remove(key)?;
        let pods = self.pods.get_mut(&owner)?;
        pods.remove(key);
        if pods.is_empty() {
            self.pods.remove(&owner);
        }
        Some(owner)
    }

    /// Keeps the newest warning about a pod; returns the owner of the pod.
    fn put_warning(&mut self, warning: &Value) -> Option<String> {
        let about = &warning["involvedObject"];
        let text = |field: &str| about[field].as_str().unwrap_or_default().to_owned();
        if !TELLING.iter().any(|reason| warning["reason"] == *reason) {
            return None;
        }
        let owner = self.owner_of.get(&(text("namespace"), text("name"))).cloned();
        let newer = |known: &Arc<Value>| warning["lastTimestamp"].as_str() >= known["lastTimestamp"].as_str();
        if self.warnings.get(&text("uid")).is_none_or(newer) {
            self.warnings.insert(text("uid"), Arc::new(trimmed_warning(warning)));
        }
        owner
    }

    fn clear_pods(&mut self, scope: &str) -> Vec<String> {
        let gone: Vec<_> =
            self.owner_of.keys().filter(|key| scope.is_empty() || key.0 == scope).cloned().collect();
        gone.iter().filter_map(|key| self.drop_pod(key)).collect()
    }

    fn put_set(&mut self, value: &Value) -> Option<ReleaseId> {
        let (owner, set) = (controller(value)?, uid(value));
        self.sets.insert(set.clone(), (owner.clone(), key(value).0));
        self.sets_of.entry(owner.clone()).or_default().insert(set);
        self.releases.get(&owner).copied()
    }

    fn drop_set(&mut self, set: &str) {
        if let Some((owner, _)) = self.sets.remove(set)
            && let Some(sets) = self.sets_of.get_mut(&owner)
        {
            sets.remove(set);
            if sets.is_empty() {
                self.sets_of.remove(&owner);
            }
        }
    }

    fn release_of(&self, owner: &str) -> Option<ReleaseId> {
        let top = self.sets.get(owner).map_or(owner, |(top, _)| top.as_str());
        self.releases.get(top).copied()
    }
}

fn key(value: &Value) -> (String, String) {
    let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

fn uid(value: &Value) -> String {
    value["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn controller(value: &Value) -> Option<String> {
    let owners = value.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true).or_else(|| owners.first())?;
    owner["uid"].as_str().map(str::to_owned)
}

/// What a diagnosis reads of a pod.
fn trimmed(pod: &Value) -> Value {
    let containers = |field: &str| -> Vec<Value> {
        let all = pod["spec"][field].as_array().map_or(&[][..], Vec::as_slice);
        all.iter()
            .map(|c| json!({"name": c["name"], "image": c["image"], "resources": c["resources"]}))
            .collect()
    };
    let metadata = &pod["metadata"];
    let status = &pod["status"];
    json!({
        "kind": "Pod",
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "creationTimestamp": metadata["creationTimestamp"], "deletionTimestamp": metadata["deletionTimestamp"],
        },
        "spec": {
            "restartPolicy": pod["spec"]["restartPolicy"],
            "containers": containers("containers"),
            "initContainers": containers("initContainers"),
        },
        "status": {
            "phase": status["phase"], "reason": status["reason"], "message": status["message"],
            "conditions": status["conditions"],
            "containerStatuses": status["containerStatuses"],
            "initContainerStatuses": status["initContainerStatuses"],
        },
    })
}

/// What a diagnosis reads of a warning.
fn trimmed_warning(warning: &Value) -> Value {
    json!({
        "involvedObject": { "uid": warning["involvedObject"]["uid"] },
        "reason": warning["reason"],
        "message": warning["message"],
        "lastTimestamp": warning["lastTimestamp"],
    })
}
