//! Objects, their versions and the bounded history that watches read.
//!
//! One lock, short critical sections: a write computes its new object outside the lock and commits it only if the
//! object has not changed since (optimistic concurrency). Every commit is also sent, in order, to the controllers.

pub(crate) mod history;
mod observer;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::object;
use history::ChangeHistory;
use observer::ChangeObserver;
pub use observer::ObservedChange;

/// One version of an object. Immutable; its JSON is serialized once.
#[derive(Debug)]
pub(crate) struct StoredObject {
    pub rv: u64,
    pub value: Value,
    json: OnceLock<Bytes>,
}

impl StoredObject {
    pub(crate) fn new(rv: u64, value: Value) -> StoredObject {
        StoredObject { rv, value, json: OnceLock::new() }
    }

    /// The object as JSON text.
    pub(crate) fn json(&self) -> Bytes {
        self.json.get_or_init(|| Bytes::from(self.value.to_string())).clone()
    }
}

/// One committed write.
#[derive(Clone, Debug)]
pub(crate) struct ObjectChange {
    pub rv: u64,
    pub key: String,
    pub old: Option<Arc<StoredObject>>,
    /// The new object; for a deletion its last state, with the resource version of the deletion.
    pub new: Arc<StoredObject>,
    pub deleted: bool,
}

/// The object was changed concurrently.
#[derive(Debug)]
pub(crate) struct WriteConflict;

#[derive(Debug)]
pub(crate) struct KindStore {
    pub objects: BTreeMap<String, Arc<StoredObject>>,
    pub history: ChangeHistory,
    pub latest_version: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct StoreState {
    pub rv: u64,
    /// The compacted version; no watch may start before it.
    pub compacted_version: u64,
    kinds: Vec<KindStore>,
    uids: HashMap<String, (usize, String)>,
    dependents: HashMap<String, HashSet<(usize, String)>>,
}

/// The objects of one cluster.
#[derive(Debug)]
pub(crate) struct ObjectStore {
    state: Mutex<StoreState>,
    history_limit: usize,
    changes: mpsc::UnboundedSender<Arc<ObjectChange>>,
    observer: OnceLock<ChangeObserver>,
}

/// `namespace/name`; the namespace of a cluster-scoped object is empty.
pub(crate) fn object_key(namespace: &str, name: &str) -> String {
    let mut key = String::with_capacity(namespace.len() + name.len() + 1);
    key.push_str(namespace);
    key.push('/');
    key.push_str(name);
    key
}

impl ObjectStore {
    pub(crate) fn new(
        history_limit: usize,
        changes: mpsc::UnboundedSender<Arc<ObjectChange>>,
    ) -> ObjectStore {
        let state = StoreState { rv: 1, ..StoreState::default() };
        ObjectStore { state: Mutex::new(state), history_limit, changes, observer: OnceLock::new() }
    }

    /// Calls a function for every later write, in commit order and before the write can be read. The first one stays.
    pub(crate) fn observe(&self, observer: impl Fn(ObservedChange<'_>) + Send + Sync + 'static) {
        let _ = self.observer.set(ChangeObserver::new(observer));
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock()
    }

    /// The resource version of the latest write.
    pub(crate) fn resource_version(&self) -> u64 {
        self.lock().rv
    }

    pub(crate) fn get(&self, kind: usize, key: &str) -> Option<Arc<StoredObject>> {
        self.lock().kinds.get(kind)?.objects.get(key).cloned()
    }

    /// The object with that uid.
    pub(crate) fn get_by_uid(&self, uid: &str) -> Option<(usize, Arc<StoredObject>)> {
        let state = self.lock();
        let (kind, key) = state.uids.get(uid)?;
        Some((*kind, state.kinds.get(*kind)?.objects.get(key)?.clone()))
    }

    /// All objects with an owner reference to that uid.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(usize, Arc<StoredObject>)> {
        let state = self.lock();
        let Some(keys) = state.dependents.get(uid) else { return Vec::new() };
        keys.iter()
            .filter_map(|(kind, key)| Some((*kind, state.kinds.get(*kind)?.objects.get(key)?.clone())))
            .collect()
    }

    /// All objects of a kind in one namespace, or in all, in key order, and the resource version of the read.
    pub(crate) fn list(&self, kind: usize, namespace: Option<&str>) -> (Vec<Arc<StoredObject>>, u64) {
        let state = self.lock();
        (state.list(kind, namespace), state.rv)
    }

    /// Writes if the object is still at version `expected` (`None`: still absent). `None` as the new value deletes.
    ///
    /// # Errors
    /// [`WriteConflict`] if its version differs.
    pub(crate) fn commit(
        &self,
        kind: usize,
        key: &str,
        expected: Option<u64>,
        new: Option<Value>,
    ) -> Result<Arc<StoredObject>, WriteConflict> {
        let mut state = self.lock();
        let keep = self.history_limit;
        let old = state.kind_store_mut(kind, keep).objects.get(key).cloned();
        if old.as_ref().map(|o| o.rv) != expected {
            return Err(WriteConflict);
        }
        state.rv += 1;
        let rv = state.rv;
        let deleted = new.is_none();
        let mut value = new.or_else(|| old.as_ref().map(|o| o.value.clone())).ok_or(WriteConflict)?;
        object::set_value(&mut value, "metadata.resourceVersion", rv.to_string());
        let stored = Arc::new(StoredObject::new(rv, value));
        state.update_indexes(kind, key, old.as_deref(), (!deleted).then_some(&*stored));
        let change = Arc::new(ObjectChange { rv, key: key.to_owned(), old, new: stored.clone(), deleted });
        let bucket = state.kind_store_mut(kind, keep);
        if deleted {
            bucket.objects.remove(key);
        } else {
            bucket.objects.insert(key.to_owned(), stored.clone());
        }
        bucket.history.push(change.clone());
        bucket.latest_version.send_replace(rv);
        if let Some(observer) = self.observer.get() {
            observer.call(ObservedChange { object: &stored.value, is_deleted: deleted });
        }
        // The receiver is closed only while the cluster is being dropped.
        let _ = self.changes.send(change);
        Ok(stored)
    }

    /// Subscribes to writes to a kind.
    pub(crate) fn subscribe(&self, kind: usize) -> watch::Receiver<u64> {
        self.lock().kind_store_mut(kind, self.history_limit).latest_version.subscribe()
    }

    /// Drops all history: watches can start only from the current version.
    pub(crate) fn compact(&self) {
        let mut state = self.lock();
        state.compacted_version = state.rv;
        state.kinds.iter_mut().for_each(|b| b.history.clear());
    }

    /// Raises the version counter, so that versions do not repeat after a restore.
    pub(crate) fn raise_version(&self, rv: u64) {
        let mut state = self.lock();
        state.rv = state.rv.max(rv);
        state.compacted_version = state.rv;
    }
}

impl StoreState {
    pub(crate) fn kind_store_mut(&mut self, kind: usize, keep: usize) -> &mut KindStore {
        while self.kinds.len() <= kind {
            self.kinds.push(KindStore {
                objects: BTreeMap::new(),
                history: ChangeHistory::new(keep),
                latest_version: watch::Sender::new(0),
            });
        }
        &mut self.kinds[kind]
    }

    /// A kind's objects and history; `None` if the kind never had an object.
    pub(crate) fn kind_store(&self, kind: usize) -> Option<&KindStore> {
        self.kinds.get(kind)
    }

    /// All objects of a kind in key order.
    pub(crate) fn list(&self, kind: usize, namespace: Option<&str>) -> Vec<Arc<StoredObject>> {
        let Some(bucket) = self.kinds.get(kind) else { return Vec::new() };
        match namespace {
            None => bucket.objects.values().cloned().collect(),
            Some(ns) => {
                let (from, to) = (format!("{ns}/"), format!("{ns}0"));
                bucket.objects.range(from..to).map(|(_, o)| o.clone()).collect()
            }
        }
    }

    fn update_indexes(
        &mut self,
        kind: usize,
        key: &str,
        old: Option<&StoredObject>,
        new: Option<&StoredObject>,
    ) {
        let owners = |s: &StoredObject| -> Vec<String> {
            object::array_at(&s.value, "metadata.ownerReferences")
                .iter()
                .map(|o| object::str_at(o, "uid").to_owned())
                .collect()
        };
        let (before, after) = (old.map(owners).unwrap_or_default(), new.map(owners).unwrap_or_default());
        let slot = (kind, key.to_owned());
        for uid in before.iter().filter(|u| !after.contains(u)) {
            if let Some(set) = self.dependents.get_mut(uid) {
                set.remove(&slot);
                if set.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
        for uid in after.into_iter().filter(|u| !before.contains(u)) {
            self.dependents.entry(uid).or_default().insert(slot.clone());
        }
        match (old, new) {
            (None, Some(new)) => drop(self.uids.insert(object::uid(&new.value).to_owned(), slot)),
            (Some(old), None) => drop(self.uids.remove(object::uid(&old.value))),
            _ => {}
        }
    }
}
