//! The actual state of the cluster, cached from watches: no polling, and no reads to verify the cache.
//!
//! One watch per used kind over all objects with the release label; one each over namespaces, custom resource
//! definitions and records; pods and replica sets of the used namespaces, reduced to what a diagnosis needs.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ReleaseId;
use domain::object::ObjectRef;
use futures::future::BoxFuture;
use parking_lot::RwLock;
use tokio::sync::mpsc;

use crate::api::{ApiClient, ServedKind};
use crate::applied_release::InventoryEntry;
use crate::release::ReleaseWorkers;

mod cache_state;
pub(crate) mod cluster_resources;
pub(crate) mod cluster_state;
mod live_object;
mod object_cache;
mod pod_cache;
mod watcher;

pub(crate) use cache_state::CacheState;
pub(crate) use cluster_resources::{ClusterResources, HelmRevision, NodeSummary, list_nodes};
pub(crate) use cluster_state::ClusterState;
pub(crate) use live_object::LiveObject;
pub(crate) use object_cache::ObjectCache;
pub(crate) use pod_cache::{PodCache, deployment_revision};

/// Sender of tasks that run until the engine stops.
pub(crate) type TaskSender = mpsc::UnboundedSender<BoxFuture<'static, ()>>;

/// The observed state of the cluster.
pub(crate) struct ObservedState {
    api: ApiClient,
    task_sender: TaskSender,
    workers: Arc<ReleaseWorkers>,
    kinds: RwLock<HashMap<(String, String), Arc<ObjectCache>>>,
    /// Objects watched by name, with the requesting release.
    single_objects: RwLock<HashMap<(ReleaseId, ObjectRef), Arc<ObjectCache>>>,
    /// Namespaces, definitions and cluster resources.
    pub cluster: Arc<ClusterState>,
    /// Pods of the used namespaces.
    pub pods: Arc<PodCache>,
}

impl ObservedState {
    pub(crate) fn new(api: ApiClient, task_sender: TaskSender, workers: Arc<ReleaseWorkers>) -> Self {
        let pods = Arc::new(PodCache::new(api.clone(), task_sender.clone(), workers.clone()));
        Self {
            api,
            task_sender,
            workers,
            kinds: RwLock::default(),
            single_objects: RwLock::default(),
            cluster: Arc::default(),
            pods,
        }
    }

    /// The objects of a kind. The first call starts its watch.
    pub(crate) fn watch_kind(&self, resource: &ServedKind) -> Arc<ObjectCache> {
        let key = (resource.group.clone(), resource.kind.clone());
        if let Some(known) = self.find_served(&key) {
            return known;
        }
        let mut kinds = self.kinds.write();
        let objects = kinds.entry(key).or_insert_with(|| {
            let objects = Arc::new(ObjectCache::new(resource.clone()));
            let watch = objects.clone().watch_kind(self.api.clone(), self.workers.clone(), self.pods.clone());
            // Fails only after the engine has stopped; the watch is not needed then.
            let _ = self.task_sender.send(Box::pin(watch));
            objects
        });
        objects.clone()
    }

    /// One object by name, with or without the release label. The first call starts its watch.
    pub(crate) fn watch_object(
        &self,
        release: ReleaseId,
        resource: &ServedKind,
        object: &ObjectRef,
    ) -> Arc<ObjectCache> {
        let key = (release, object.clone());
        let mut singles = self.single_objects.write();
        if let Some(known) = singles.get(&key)
            && !matches!(known.state(), CacheState::NotServed)
        {
            return known.clone();
        }
        let objects = Arc::new(ObjectCache::for_object(resource.clone(), release));
        let (cache, pods) = (objects.clone(), self.pods.clone());
        let watch = cache.watch_object(self.api.clone(), self.workers.clone(), pods, object.clone());
        let _ = self.task_sender.send(Box::pin(watch));
        singles.insert(key, objects.clone());
        objects
    }

    /// Stops the watches of single objects that this release no longer needs.
    pub(crate) fn retain_single_objects(&self, release: ReleaseId, needed: impl Fn(&ObjectRef) -> bool) {
        let mut singles = self.single_objects.write();
        singles.retain(|(owner, object), objects| {
            let is_needed = *owner != release || needed(object);
            if !is_needed {
                objects.stop();
            }
            is_needed
        });
    }

    fn find_served(&self, key: &(String, String)) -> Option<Arc<ObjectCache>> {
        let kinds = self.kinds.read();
        let objects = kinds.get(key)?;
        // The watch of a kind ends when the kind is no longer served; a new watch replaces it.
        (!matches!(objects.state(), CacheState::NotServed)).then(|| objects.clone())
    }

    /// Drops caches whose watch has ended, so that the next use starts a new watch.
    pub(crate) fn remove_ended(&self) {
        let mut kinds = self.kinds.write();
        kinds.retain(|_, objects| !matches!(objects.state(), CacheState::NotServed));
    }

    /// Adds to a recorded inventory the observed objects that the release applied and that are missing from it, such as after the
    /// deletion of the record, or that it lists with an older uid. What a removal plans and what it deletes is this list.
    pub(crate) fn complete_inventory(&self, release: ReleaseId, inventory: &mut Vec<InventoryEntry>) {
        for objects in self.kinds.read().values() {
            let kind = &objects.kind;
            for live in objects.applied_objects(release) {
                let object = ObjectRef {
                    group: kind.group.clone(),
                    version: kind.version.clone(),
                    kind: kind.kind.clone(),
                    namespace: live.namespace.clone(),
                    name: live.name.clone(),
                };
                match inventory.iter_mut().find(|entry| entry.object.is_same_object(&object)) {
                    Some(entry) => entry.missing |= entry.uid != live.uid,
                    None => inventory.push(InventoryEntry {
                        object,
                        resource: kind.plural.clone(),
                        uid: live.uid.clone(),
                        ..InventoryEntry::default()
                    }),
                }
            }
        }
    }
}
