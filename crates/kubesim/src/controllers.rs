//! The controllers, the scheduler and the kubelets.
//!
//! One task, woken by committed changes and by the next due time; it is idle otherwise. Each controller reconciles one
//! key at a time from the current state of the store and may request to be called again later.

pub(crate) mod autoscaler;
pub(crate) mod claim;
pub(crate) mod conditions;
pub(crate) mod cronjob;
pub(crate) mod daemonset;
pub(crate) mod definition;
pub(crate) mod deployment;
pub(crate) mod disruption_budget;
mod enqueue;
pub(crate) mod events;
pub(crate) mod garbage_collector;
pub(crate) mod ingress;
pub(crate) mod job;
pub(crate) mod namespace;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod pods;
pub(crate) mod replicaset;
pub(crate) mod service;
pub(crate) mod statefulset;
pub(crate) mod work_queue;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use crate::cluster::SimState;
use crate::kinds::ResourceKind;
use crate::object;
use crate::store::{ObjectChange, StoredObject};
use crate::verbs::{ResourcePath, WriteOptions, create, delete, update};
use work_queue::WorkQueue;

/// Keys reconciled before the task yields to other tasks of the runtime.
const MAX_KEYS_PER_TURN: usize = 32;

/// The controller that reconciles a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Controller {
    DisruptionBudget,
    VolumeClaim,
    CronJob,
    DaemonSet,
    CustomResourceDefinition,
    Dependents,
    Deployment,
    GarbageCollector,
    Ingress,
    Job,
    Namespace,
    Pod,
    Quota,
    ReplicaSet,
    Autoscaler,
    Service,
    StatefulSet,
    Volume,
}

/// The context shared by the controllers.
pub(crate) struct ControllerContext {
    pub sim: Arc<SimState>,
    pub state: ControllerState,
}

/// State of the controllers that is not in objects; all of it can be rebuilt.
#[derive(Default)]
pub(crate) struct ControllerState {
    kinds: HashMap<(&'static str, &'static str), Arc<ResourceKind>>,
    /// When a pod became ready, by uid.
    pub ready_since: HashMap<String, Instant>,
    /// The stage of a pod and its due time, by uid.
    pub pod_timers: HashMap<String, pod::PodTimer>,
    /// Time and state of a rollout's last progress, by uid of its Deployment.
    pub rollout_progress: HashMap<String, (Instant, [i64; 4])>,
    /// Failed tries in a row, by uid.
    pub failed_tries: HashMap<String, u32>,
    /// When a delayed action is due, by uid.
    pub due_times: HashMap<String, Instant>,
    pub node_usage: node::NodeUsage,
}

/// Runs until the cluster is dropped. Unless `on`, only CustomResourceDefinitions are reconciled, as on an API server
/// without controllers.
pub(crate) async fn run_controllers(
    sim: Weak<SimState>,
    mut feed: UnboundedReceiver<Arc<ObjectChange>>,
    on: bool,
) {
    let mut queue = WorkQueue::default();
    let mut memory = ControllerState::default();
    loop {
        let due = queue.next_due();
        let timer = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let change = tokio::select! {
            biased;
            change = feed.recv() => match change {
                Some(change) => Some(change),
                None => return,
            },
            () = timer => None,
        };
        let Some(sim_state) = sim.upgrade() else { return };
        let mut ctx = ControllerContext { sim: sim_state, state: memory };
        if let Some(change) = change {
            enqueue::enqueue_change(&mut ctx, &mut queue, &change, on);
        }
        while let Ok(change) = feed.try_recv() {
            enqueue::enqueue_change(&mut ctx, &mut queue, &change, on);
        }
        for _ in 0..MAX_KEYS_PER_TURN {
            let Some((controller, key)) = queue.pop(Instant::now()) else { break };
            if let Some(again) = ctx.reconcile(controller, &key) {
                queue.push(controller, &key, Instant::now() + again);
            }
            while let Ok(change) = feed.try_recv() {
                enqueue::enqueue_change(&mut ctx, &mut queue, &change, on);
            }
        }
        memory = ctx.state;
        tokio::task::yield_now().await;
    }
}

impl ControllerContext {
    /// Reconciles one key; returns the delay until it must be reconciled again.
    fn reconcile(&mut self, controller: Controller, key: &str) -> Option<Duration> {
        match controller {
            Controller::DisruptionBudget => disruption_budget::reconcile(self, key),
            Controller::VolumeClaim => claim::reconcile(self, key),
            Controller::CronJob => cronjob::reconcile(self, key),
            Controller::DaemonSet => daemonset::reconcile(self, key),
            Controller::CustomResourceDefinition => definition::reconcile(self, key),
            Controller::Dependents => garbage_collector::reconcile_dependents(self, key),
            Controller::Deployment => deployment::reconcile(self, key),
            Controller::GarbageCollector => garbage_collector::reconcile(self, key),
            Controller::Ingress => ingress::reconcile(self, key),
            Controller::Job => job::reconcile(self, key),
            Controller::Namespace => namespace::reconcile(self, key),
            Controller::Pod => pod::reconcile(self, key),
            Controller::Quota => disruption_budget::reconcile_quota(self, key),
            Controller::ReplicaSet => replicaset::reconcile(self, key),
            Controller::Autoscaler => autoscaler::reconcile(self, key),
            Controller::Service => service::reconcile(self, key),
            Controller::StatefulSet => statefulset::reconcile(self, key),
            Controller::Volume => claim::reconcile_volume(self, key),
        }
    }

    /// A built-in kind, cached.
    pub(crate) fn builtin_kind(
        &mut self,
        group: &'static str,
        name: &'static str,
    ) -> Option<Arc<ResourceKind>> {
        if let Some(kind) = self.state.kinds.get(&(group, name)) {
            return Some(kind.clone());
        }
        let kind = self.sim.builtin_kind(group, name)?;
        self.state.kinds.insert((group, name), kind.clone());
        Some(kind)
    }

    /// Reads an object of a built-in kind.
    pub(crate) fn get_object(
        &mut self,
        group: &'static str,
        kind: &'static str,
        key: &str,
    ) -> Option<Arc<StoredObject>> {
        let kind = self.builtin_kind(group, kind)?;
        self.sim.store.get(kind.id, key)
    }

    /// The objects of a kind that an owner controls.
    pub(crate) fn list_controlled(
        &mut self,
        owner: &Value,
        group: &'static str,
        kind: &'static str,
    ) -> Vec<Arc<StoredObject>> {
        let Some(kind) = self.builtin_kind(group, kind) else { return Vec::new() };
        let uid = object::uid(owner);
        let children = self.sim.store.dependents(uid).into_iter().filter(|(id, _)| *id == kind.id);
        let mut children: Vec<Arc<StoredObject>> = children
            .map(|(_, o)| o)
            .filter(|o| {
                object::controller_reference(&o.value).is_some_and(|c| object::str_at(c, "uid") == uid)
            })
            .collect();
        children.sort_by(|a, b| object::name(&a.value).cmp(object::name(&b.value)));
        children
    }

    /// Writes a status, if it differs.
    pub(crate) fn update_status(&self, kind: &Arc<ResourceKind>, object: &Value, edit: impl Fn(&mut Value)) {
        self.edit_object(kind, object, "status", edit);
    }

    /// Writes an edit, if it changes the object.
    pub(crate) fn edit_object(
        &self,
        kind: &Arc<ResourceKind>,
        object: &Value,
        subresource: &str,
        edit: impl Fn(&mut Value),
    ) {
        let target = resource_path(kind, object);
        let manager = if kind.kind == "Pod" { "kubelet" } else { "kube-controller-manager" };
        let write = WriteOptions { manager, subresource, by_system: true, ..WriteOptions::default() };
        let done = update::edit_object(&self.sim, &target, &write, |object| {
            edit(object);
            Ok(())
        });
        if let Err(refusal) = done {
            tracing::debug!(message = refusal.message, "the controller's write was rejected");
        }
    }

    /// Creates an object as a controller.
    ///
    /// # Errors
    /// The message of the error.
    pub(crate) fn create_object(
        &self,
        kind: &Arc<ResourceKind>,
        object: Value,
    ) -> Result<Arc<StoredObject>, String> {
        let target = resource_path(kind, &object);
        let write =
            WriteOptions { manager: "kube-controller-manager", by_system: true, ..WriteOptions::default() };
        match create::create_object(&self.sim, &target, object, &write) {
            Ok(done) => Ok(done.object),
            Err(refusal) => Err(refusal.message.clone()),
        }
    }

    /// Deletes an object with background propagation.
    pub(crate) fn delete_object(&self, kind: &Arc<ResourceKind>, object: &Value) {
        let options = serde_json::json!({
            "propagationPolicy": "Background", "preconditions": {"uid": object::uid(object)},
        });
        delete::delete_as_system(&self.sim, &resource_path(kind, object), &options);
    }

    /// The time until an instant; `None` once it has passed.
    pub(crate) fn time_until(&self, moment: Instant) -> Option<Duration> {
        let left = moment.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

/// The target of an object in its storage version.
pub(crate) fn resource_path(kind: &Arc<ResourceKind>, object: &Value) -> ResourcePath {
    ResourcePath {
        kind: kind.clone(),
        version: kind.storage_index,
        namespace: object::namespace(object).to_owned(),
        name: object::name(object).to_owned(),
    }
}

/// The controller owner reference to `owner`.
pub(crate) fn owner_reference(owner: &Value) -> Value {
    serde_json::json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": object::name(owner),
        "uid": object::uid(owner), "controller": true, "blockOwnerDeletion": true,
    })
}
