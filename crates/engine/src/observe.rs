//! What the engine sees of its cluster, kept by watches: never a list at rest, never a read to check.
//!
//! One watch per kind in use over all objects with our label; namespaces, custom resource definitions and our own
//! records as a whole; pods and replica sets of the namespaces in use, cut down to what a diagnosis needs.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use domain::ReleaseId;
use domain::object::ObjectRef;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use crate::api::{Api, Resource};
use crate::release::Slots;

pub(crate) mod cluster;
mod follow;
pub(crate) mod land;
mod live;
mod objects;
mod pods;

pub(crate) use cluster::Cluster;
pub(crate) use land::{Land, NodeSeen};
pub(crate) use live::Live;
pub(crate) use objects::{Condition, Objects};
pub(crate) use pods::Pods;

/// Work that lives as long as the engine runs.
pub(crate) type Background = mpsc::UnboundedSender<BoxFuture<'static, ()>>;

/// Everything seen.
pub(crate) struct Observed {
    api: Api,
    background: Background,
    slots: Arc<Slots>,
    kinds: RwLock<HashMap<(String, String), Arc<Objects>>>,
    /// Objects that are watched by name, with the release that asked.
    singles: RwLock<HashMap<(ReleaseId, ObjectRef), Arc<Objects>>>,
    /// Namespaces and definitions.
    pub cluster: Arc<Cluster>,
    /// Pods of the namespaces in use.
    pub pods: Arc<Pods>,
}

impl Observed {
    pub(crate) fn new(api: Api, background: Background, slots: Arc<Slots>) -> Self {
        let pods = Arc::new(Pods::new(api.clone(), background.clone(), slots.clone()));
        Self {
            api,
            background,
            slots,
            kinds: RwLock::default(),
            singles: RwLock::default(),
            cluster: Arc::default(),
            pods,
        }
    }

    /// The objects of a kind; begins to watch it when it is first asked for.
    pub(crate) fn objects(&self, resource: &Resource) -> Arc<Objects> {
        let key = (resource.group.clone(), resource.kind.clone());
        if let Some(known) = self.known(&key) {
            return known;
        }
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        let objects = kinds.entry(key).or_insert_with(|| {
            let objects = Arc::new(Objects::new(resource.clone()));
            let watch = objects.clone().follow(self.api.clone(), self.slots.clone(), self.pods.clone());
            // The engine has stopped when nobody takes this; then nobody needs the watch either.
            let _ = self.background.send(Box::pin(watch));
            objects
        });
        objects.clone()
    }

    /// One object by its name, whether or not it carries our label; watched from when it is first asked for.
    pub(crate) fn single(&self, release: ReleaseId, resource: &Resource, object: &ObjectRef) -> Arc<Objects> {
        let key = (release, object.clone());
        let mut singles = self.singles.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = singles.get(&key)
            && !matches!(known.condition(), Condition::NotServed)
        {
            return known.clone();
        }
        let objects = Arc::new(Objects::single(resource.clone(), release));
        let (seen, pods) = (objects.clone(), self.pods.clone());
        let watch = seen.follow_one(self.api.clone(), self.slots.clone(), pods, object.clone());
        let _ = self.background.send(Box::pin(watch));
        singles.insert(key, objects.clone());
        objects
    }

    /// Ends the watches of single objects that this release does not need any more.
    pub(crate) fn keep_singles(&self, release: ReleaseId, needed: impl Fn(&ObjectRef) -> bool) {
        let mut singles = self.singles.write().unwrap_or_else(PoisonError::into_inner);
        singles.retain(|(of, object), objects| {
            let keep = *of != release || needed(object);
            if !keep {
                objects.end();
            }
            keep
        });
    }

    fn known(&self, key: &(String, String)) -> Option<Arc<Objects>> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        let objects = kinds.get(key)?;
        // The watch of a kind ends when the cluster stops serving it; a new one begins when it does again.
        (!matches!(objects.condition(), Condition::NotServed)).then(|| objects.clone())
    }

    /// Forgets kinds whose watch has ended, so that they are watched anew when they are needed.
    pub(crate) fn forget_ended(&self) {
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        kinds.retain(|_, objects| !matches!(objects.condition(), Condition::NotServed));
    }

    /// Everything seen that carries the label of this release.
    pub(crate) fn labelled(&self, release: ReleaseId) -> Vec<(Resource, Arc<Live>)> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        let of = |objects: &Arc<Objects>| {
            objects
                .labelled(release)
                .into_iter()
                .map(|live| (objects.resource.clone(), live))
                .collect::<Vec<_>>()
        };
        kinds.values().flat_map(of).collect()
    }
}
