//! The controllers, the scheduler and the kubelets: everything that happens in a cluster by itself.
//!
//! One task, woken by committed changes and by the nearest due time; at rest it does nothing at all. Each
//! controller has a desk, works on one key at a time from what the store says now, and may ask to see it again later.

pub(crate) mod budget;
pub(crate) mod claim;
pub(crate) mod conditions;
pub(crate) mod cronjob;
pub(crate) mod daemonset;
pub(crate) mod definition;
pub(crate) mod deployment;
pub(crate) mod events;
pub(crate) mod garbage;
pub(crate) mod ingress;
pub(crate) mod job;
pub(crate) mod namespace;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod pods;
pub(crate) mod queue;
pub(crate) mod replicaset;
pub(crate) mod scaler;
pub(crate) mod service;
pub(crate) mod statefulset;
mod wake;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use crate::cluster::Sim;
use crate::kinds::Kind;
use crate::object;
use crate::store::{Change, Stored};
use crate::verbs::{Target, Write, create, delete, update};
use queue::Queue;

/// Keys worked on before other tasks of the runtime get their turn.
const BATCH: usize = 32;

/// Who works on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Desk {
    Budget,
    Claim,
    CronJob,
    DaemonSet,
    Definition,
    Dependents,
    Deployment,
    Garbage,
    Ingress,
    Job,
    Namespace,
    Pod,
    Quota,
    ReplicaSet,
    Scaler,
    Service,
    StatefulSet,
    Volume,
}

/// What the desks share.
pub(crate) struct Works {
    pub sim: Arc<Sim>,
    pub memory: Memory,
}

/// What the controllers remember beside the objects; all of it can be made anew.
#[derive(Default)]
pub(crate) struct Memory {
    kinds: HashMap<(&'static str, &'static str), Arc<Kind>>,
    /// When a pod became ready, by uid.
    pub ready: HashMap<String, Instant>,
    /// What a pod waits for, by uid.
    pub pods: HashMap<String, pod::Timer>,
    /// A rollout's last progress, by uid of its Deployment.
    pub progress: HashMap<String, (Instant, [i64; 4])>,
    /// Failed tries in a row, by uid.
    pub failures: HashMap<String, u32>,
    /// When a thing that takes a moment will be done, by uid.
    pub due: HashMap<String, Instant>,
    pub nodes: node::Usage,
}

/// Runs until the cluster is dropped. Without `on`, only definitions take effect, as on a bare API server.
pub(crate) async fn run(sim: Weak<Sim>, mut feed: UnboundedReceiver<Arc<Change>>, on: bool) {
    let mut queue = Queue::default();
    let mut memory = Memory::default();
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
        let Some(strong) = sim.upgrade() else { return };
        let mut works = Works { sim: strong, memory };
        if let Some(change) = change {
            wake::wake(&mut works, &mut queue, &change, on);
        }
        while let Ok(change) = feed.try_recv() {
            wake::wake(&mut works, &mut queue, &change, on);
        }
        for _ in 0..BATCH {
            let Some((desk, key)) = queue.pop(Instant::now()) else { break };
            if let Some(again) = works.work(desk, &key) {
                queue.push(desk, &key, Instant::now() + again);
            }
            while let Ok(change) = feed.try_recv() {
                wake::wake(&mut works, &mut queue, &change, on);
            }
        }
        memory = works.memory;
        tokio::task::yield_now().await;
    }
}

impl Works {
    /// Works on one key; answers when to look again.
    fn work(&mut self, desk: Desk, key: &str) -> Option<Duration> {
        match desk {
            Desk::Budget => budget::work(self, key),
            Desk::Claim => claim::work(self, key),
            Desk::CronJob => cronjob::work(self, key),
            Desk::DaemonSet => daemonset::work(self, key),
            Desk::Definition => definition::work(self, key),
            Desk::Dependents => garbage::dependents(self, key),
            Desk::Deployment => deployment::work(self, key),
            Desk::Garbage => garbage::work(self, key),
            Desk::Ingress => ingress::work(self, key),
            Desk::Job => job::work(self, key),
            Desk::Namespace => namespace::work(self, key),
            Desk::Pod => pod::work(self, key),
            Desk::Quota => budget::quota(self, key),
            Desk::ReplicaSet => replicaset::work(self, key),
            Desk::Scaler => scaler::work(self, key),
            Desk::Service => service::work(self, key),
            Desk::StatefulSet => statefulset::work(self, key),
            Desk::Volume => claim::volume(self, key),
        }
    }

    /// A built-in kind; it is always there.
    pub(crate) fn kind(&mut self, group: &'static str, name: &'static str) -> Option<Arc<Kind>> {
        if let Some(kind) = self.memory.kinds.get(&(group, name)) {
            return Some(kind.clone());
        }
        let kind = self.sim.builtin(group, name)?;
        self.memory.kinds.insert((group, name), kind.clone());
        Some(kind)
    }

    /// Reads an object of a built-in kind.
    pub(crate) fn get(&mut self, group: &'static str, kind: &'static str, key: &str) -> Option<Arc<Stored>> {
        let kind = self.kind(group, kind)?;
        self.sim.store.get(kind.id, key)
    }

    /// The objects of a kind that an owner controls.
    pub(crate) fn owned(
        &mut self,
        owner: &Value,
        group: &'static str,
        kind: &'static str,
    ) -> Vec<Arc<Stored>> {
        let Some(kind) = self.kind(group, kind) else { return Vec::new() };
        let uid = object::uid(owner);
        let children = self.sim.store.children(uid).into_iter().filter(|(id, _)| *id == kind.id);
        let mut children: Vec<Arc<Stored>> = children
            .map(|(_, o)| o)
            .filter(|o| object::controller(&o.value).is_some_and(|c| object::text(c, "uid") == uid))
            .collect();
        children.sort_by(|a, b| object::name(&a.value).cmp(object::name(&b.value)));
        children
    }

    /// Writes a status, if it differs.
    pub(crate) fn status(&self, kind: &Arc<Kind>, object: &Value, edit: impl Fn(&mut Value)) {
        self.edit(kind, object, "status", edit);
    }

    /// Writes a change, if there is any.
    pub(crate) fn edit(
        &self,
        kind: &Arc<Kind>,
        object: &Value,
        subresource: &str,
        edit: impl Fn(&mut Value),
    ) {
        let target = target(kind, object);
        let manager = if kind.kind == "Pod" { "kubelet" } else { "kube-controller-manager" };
        let write = Write { manager, subresource, system: true, ..Write::default() };
        let done = update::edit(&self.sim, &target, &write, |object| {
            edit(object);
            Ok(())
        });
        if let Err(refusal) = done {
            tracing::debug!(message = refusal.message, "controller's write refused");
        }
    }

    /// Creates an object as a controller; the message of the refusal if there was one.
    pub(crate) fn create(&self, kind: &Arc<Kind>, object: Value) -> Result<Arc<Stored>, String> {
        let target = target(kind, &object);
        let write = Write { manager: "kube-controller-manager", system: true, ..Write::default() };
        match create::create(&self.sim, &target, object, &write) {
            Ok(done) => Ok(done.object),
            Err(refusal) => Err(refusal.message.clone()),
        }
    }

    /// Deletes an object in the background.
    pub(crate) fn delete(&self, kind: &Arc<Kind>, object: &Value) {
        let options = serde_json::json!({
            "propagationPolicy": "Background", "preconditions": {"uid": object::uid(object)},
        });
        delete::by_system(&self.sim, &target(kind, object), &options);
    }

    /// Time until a moment; none once it has passed.
    pub(crate) fn until(&self, moment: Instant) -> Option<Duration> {
        let left = moment.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

/// The target of an object in its stored version.
pub(crate) fn target(kind: &Arc<Kind>, object: &Value) -> Target {
    Target {
        kind: kind.clone(),
        version: kind.stored,
        namespace: object::namespace(object).to_owned(),
        name: object::name(object).to_owned(),
    }
}

/// The reference by which `owner` controls what it makes.
pub(crate) fn owner_reference(owner: &Value) -> Value {
    serde_json::json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": object::name(owner),
        "uid": object::uid(owner), "controller": true, "blockOwnerDeletion": true,
    })
}
