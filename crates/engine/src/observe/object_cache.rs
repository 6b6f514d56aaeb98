//! Cache of the objects of one kind with the release label.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::ReleaseId;
use domain::object::ObjectRef;
use parking_lot::{Mutex, MutexGuard, RwLock};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::PodCache;
use super::cache_state::{self, CacheState};
use super::live_object::LiveObject;
use super::watcher::{self, WatchTarget, WatcherEvent};
use crate::api::{ApiClient, ServedKind};
use crate::desired_object::RELEASE_LABEL;
use crate::release::ReleaseWorkers;

/// Namespace and name.
type ObjectKey = (String, String);

/// All labelled objects of one kind.
pub(crate) struct ObjectCache {
    pub kind: ServedKind,
    objects: RwLock<HashMap<ObjectKey, Arc<LiveObject>>>,
    /// Keys changed since the pending list started, such as by own writes; the list may lack or predate them.
    changed_since_list: Mutex<Option<HashSet<ObjectKey>>>,
    state: watch::Sender<CacheState>,
    /// Release to wake in addition to that of an object's label.
    extra_release: Option<ReleaseId>,
    stopped: CancellationToken,
}

impl ObjectCache {
    pub(crate) fn new(kind: ServedKind) -> Self {
        Self {
            kind,
            objects: RwLock::default(),
            changed_since_list: Mutex::default(),
            state: watch::Sender::new(CacheState::Starting),
            extra_release: None,
            stopped: CancellationToken::new(),
        }
    }

    /// Cache of one object by name, for a release.
    pub(crate) fn for_object(resource: ServedKind, audience: ReleaseId) -> Self {
        Self { extra_release: Some(audience), ..Self::new(resource) }
    }

    /// Stops the watch.
    pub(crate) fn stop(&self) {
        self.stopped.cancel();
    }

    pub(crate) fn state(&self) -> CacheState {
        self.state.borrow().clone()
    }

    /// Waits until the cache is fresh, the kind is unavailable, or the time limit is reached.
    pub(crate) async fn wait_until_settled(&self) -> CacheState {
        cache_state::wait_until_settled(&self.state).await
    }

    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<LiveObject>> {
        let namespace = if self.kind.namespaced { namespace } else { "" };
        self.read_objects().get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    pub(crate) fn applied_objects(&self, release: ReleaseId) -> Vec<Arc<LiveObject>> {
        self.read_objects().values().filter(|live| live.applied_release() == Some(release)).cloned().collect()
    }

    fn read_objects(&self) -> parking_lot::RwLockReadGuard<'_, HashMap<ObjectKey, Arc<LiveObject>>> {
        self.objects.read()
    }

    /// Stores an object from a watch event or a write response. Returns whether it is newer than the cached one.
    pub(crate) fn upsert(&self, live: LiveObject) -> bool {
        let key = (live.namespace.clone(), live.name.clone());
        let mut objects = self.objects.write();
        if let Some(known) = objects.get(&key)
            && (known.version == live.version || live.is_older_than(known))
        {
            return false;
        }
        if let Some(since) = &mut *self.lock_changed_since_list() {
            since.insert(key.clone());
        }
        objects.insert(key, Arc::new(live));
        true
    }

    fn lock_changed_since_list(&self) -> MutexGuard<'_, Option<HashSet<ObjectKey>>> {
        self.changed_since_list.lock()
    }

    /// Removes a deleted object. A late event about an object that was re-created since has no effect.
    pub(crate) fn remove(&self, deleted: &LiveObject) -> bool {
        let key = (deleted.namespace.clone(), deleted.name.clone());
        let mut objects = self.objects.write();
        if objects.get(&key).is_none_or(|known| known.uid != deleted.uid || deleted.is_older_than(known)) {
            return false;
        }
        objects.remove(&key);
        true
    }

    /// Watches until the kind is no longer served.
    pub(crate) async fn watch_kind(
        self: Arc<Self>,
        api: ApiClient,
        workers: Arc<ReleaseWorkers>,
        pods: Arc<PodCache>,
    ) {
        let path = self.kind.collection_path("");
        let target = WatchTarget { label_selector: RELEASE_LABEL.to_owned(), ..WatchTarget::new(path) };
        watcher::list_and_watch(api, target, |event| self.handle_event(event, &workers, &pods)).await;
    }

    /// Watches one object by name until [`ObjectCache::stop`].
    pub(crate) async fn watch_object(
        self: Arc<Self>,
        api: ApiClient,
        workers: Arc<ReleaseWorkers>,
        pods: Arc<PodCache>,
        object: ObjectRef,
    ) {
        let namespace = if self.kind.namespaced { object.namespace.as_str() } else { "" };
        let path = self.kind.collection_path(namespace);
        let target = WatchTarget {
            field_selector: format!("metadata.name={}", object.name),
            ..WatchTarget::new(path)
        };
        let ended = self.stopped.clone();
        let watch = watcher::list_and_watch(api, target, |event| {
            self.handle_event(event, &workers, &pods);
            workers.wake(self.extra_release);
        });
        let _ = ended.run_until_cancelled(watch).await;
    }

    fn handle_event(&self, event: WatcherEvent, workers: &ReleaseWorkers, pods: &PodCache) {
        let before = self.state();
        let after = before.after(&event);
        match event {
            WatcherEvent::ListStarted => *self.lock_changed_since_list() = Some(HashSet::new()),
            WatcherEvent::Listed(values, version) => self.replace_list(&values, version, pods),
            WatcherEvent::Upserted(value) => {
                let live = LiveObject::from_value(&value);
                let release = live.release;
                // Who changes the label hides the object from the release that applied it.
                let former = self.get(&live.namespace, &live.name).and_then(|known| known.release);
                pods.insert_owner(&live);
                if self.upsert(live) {
                    workers.wake(release);
                    if former != release {
                        workers.wake(former);
                    }
                }
            }
            WatcherEvent::Deleted(value) => {
                let live = LiveObject::from_value(&value);
                pods.remove_owner(&live.uid);
                if self.remove(&live) {
                    workers.wake(live.release);
                }
            }
            WatcherEvent::NotServed => self.objects.write().clear(),
            WatcherEvent::Failing(_) | WatcherEvent::Resumed => {}
        }
        let Some(after) = after else { return };
        // A release that waits for the first list is woken by the state itself.
        let is_first_list = before == CacheState::Starting && after == CacheState::Fresh;
        let is_failure = matches!(after, CacheState::Failing(..));
        self.state.send_replace(after);
        if !is_first_list && !is_failure {
            workers.wake_all();
        }
    }

    fn replace_list(&self, values: &[Value], version: u64, pods: &PodCache) {
        let mut fresh: HashMap<ObjectKey, Arc<LiveObject>> = values
            .iter()
            .map(|value| {
                let live = LiveObject::from_value(value);
                pods.insert_owner(&live);
                ((live.namespace.clone(), live.name.clone()), Arc::new(live))
            })
            .collect();
        let mut objects = self.objects.write();
        for key in self.lock_changed_since_list().take().into_iter().flatten() {
            if let Some(newer) = objects.remove(&key)
                && newer.is_newer_than_list(version)
            {
                fresh.insert(key, newer);
            }
        }
        let former = std::mem::replace(&mut *objects, fresh);
        former
            .iter()
            .filter(|(key, live)| objects.get(*key).is_none_or(|other| other.uid != live.uid))
            .for_each(|(_, live)| pods.remove_owner(&live.uid));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_list_older_than_a_write_does_not_drop_the_written_object() {
        let (background, _work) = tokio::sync::mpsc::unbounded_channel();
        let workers = Arc::new(ReleaseWorkers::default());
        let pods = PodCache::new(ApiClient::unreachable(), background, workers.clone());
        let objects = ObjectCache::new(ServedKind::new("", "v1", "ConfigMap", "configmaps", true));
        let object =
            json!({"metadata": {"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "7"}});
        let write_during_list = |version| {
            objects.handle_event(WatcherEvent::ListStarted, &workers, &pods);
            objects.upsert(LiveObject::from_value(&object));
            objects.handle_event(WatcherEvent::Listed(Vec::new(), version), &workers, &pods);
            objects.get("shop", "a").is_some()
        };
        assert!(write_during_list(6), "the list predates the write");
        assert!(!write_during_list(8), "it was deleted before the list");
    }
}
