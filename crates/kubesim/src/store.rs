//! Objects, their versions and the bounded history watches are fed from.
//!
//! One lock, short critical sections: a write computes its new object outside and commits it only if nobody was
//! faster. Every commit is also sent, in order, to the clockwork.

pub(crate) mod history;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::object;
use history::History;

/// One version of an object. Never changes; its JSON is made once.
#[derive(Debug)]
pub(crate) struct Stored {
    pub rv: u64,
    pub value: Value,
    json: OnceLock<Bytes>,
}

impl Stored {
    pub(crate) fn new(rv: u64, value: Value) -> Stored {
        Stored { rv, value, json: OnceLock::new() }
    }

    /// The object as JSON text.
    pub(crate) fn json(&self) -> Bytes {
        self.json.get_or_init(|| Bytes::from(self.value.to_string())).clone()
    }
}

/// One committed write.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub rv: u64,
    pub key: String,
    pub old: Option<Arc<Stored>>,
    /// The object afterwards; for a deletion its last state, with the version of the deletion.
    pub new: Arc<Stored>,
    pub deleted: bool,
}

/// Somebody else wrote in between.
#[derive(Debug)]
pub(crate) struct Raced;

#[derive(Debug)]
pub(crate) struct Bucket {
    pub objects: BTreeMap<String, Arc<Stored>>,
    pub history: History,
    pub bell: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub rv: u64,
    /// No watch may start before this version.
    pub floor: u64,
    buckets: Vec<Bucket>,
    uids: HashMap<String, (usize, String)>,
    children: HashMap<String, HashSet<(usize, String)>>,
}

/// The store of one cluster.
#[derive(Debug)]
pub(crate) struct Store {
    state: Mutex<State>,
    keep: usize,
    feed: mpsc::UnboundedSender<Arc<Change>>,
}

/// `namespace/name`; a cluster-wide object's namespace is empty.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    let mut key = String::with_capacity(namespace.len() + name.len() + 1);
    key.push_str(namespace);
    key.push('/');
    key.push_str(name);
    key
}

impl Store {
    pub(crate) fn new(keep: usize, feed: mpsc::UnboundedSender<Arc<Change>>) -> Store {
        let state = State { rv: 1, ..State::default() };
        Store { state: Mutex::new(state), keep, feed }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of the latest write.
    pub(crate) fn version(&self) -> u64 {
        self.lock().rv
    }

    pub(crate) fn get(&self, kind: usize, key: &str) -> Option<Arc<Stored>> {
        self.lock().buckets.get(kind)?.objects.get(key).cloned()
    }

    /// The object with that uid.
    pub(crate) fn by_uid(&self, uid: &str) -> Option<(usize, Arc<Stored>)> {
        let state = self.lock();
        let (kind, key) = state.uids.get(uid)?;
        Some((*kind, state.buckets.get(*kind)?.objects.get(key)?.clone()))
    }

    /// Everything that names that uid as an owner.
    pub(crate) fn children(&self, uid: &str) -> Vec<(usize, Arc<Stored>)> {
        let state = self.lock();
        let Some(keys) = state.children.get(uid) else { return Vec::new() };
        keys.iter()
            .filter_map(|(kind, key)| Some((*kind, state.buckets.get(*kind)?.objects.get(key)?.clone())))
            .collect()
    }

    /// All objects of a kind, of one namespace or of all, in key order, and the version they were read at.
    pub(crate) fn list(&self, kind: usize, namespace: Option<&str>) -> (Vec<Arc<Stored>>, u64) {
        let state = self.lock();
        (state.list(kind, namespace), state.rv)
    }

    /// Writes if the object is still at `expected` (`None`: still absent). `None` as the new value deletes.
    ///
    /// # Errors
    /// [`Raced`] if it is not.
    pub(crate) fn commit(
        &self,
        kind: usize,
        key: &str,
        expected: Option<u64>,
        new: Option<Value>,
    ) -> Result<Arc<Stored>, Raced> {
        let mut state = self.lock();
        let keep = self.keep;
        let old = state.bucket(kind, keep).objects.get(key).cloned();
        if old.as_ref().map(|o| o.rv) != expected {
            return Err(Raced);
        }
        state.rv += 1;
        let rv = state.rv;
        let deleted = new.is_none();
        let mut value = new.or_else(|| old.as_ref().map(|o| o.value.clone())).ok_or(Raced)?;
        object::put(&mut value, "metadata.resourceVersion", rv.to_string());
        let stored = Arc::new(Stored::new(rv, value));
        state.index(kind, key, old.as_deref(), (!deleted).then_some(&*stored));
        let change = Arc::new(Change { rv, key: key.to_owned(), old, new: stored.clone(), deleted });
        let bucket = state.bucket(kind, keep);
        if deleted {
            bucket.objects.remove(key);
        } else {
            bucket.objects.insert(key.to_owned(), stored.clone());
        }
        bucket.history.push(change.clone());
        bucket.bell.send_replace(rv);
        // The receiver is gone only while the cluster is being dropped.
        let _ = self.feed.send(change);
        Ok(stored)
    }

    /// Listens for writes to a kind.
    pub(crate) fn bell(&self, kind: usize) -> watch::Receiver<u64> {
        self.lock().bucket(kind, self.keep).bell.subscribe()
    }

    /// Forgets all history: watches can start only from now on.
    pub(crate) fn compact(&self) {
        let mut state = self.lock();
        state.floor = state.rv;
        state.buckets.iter_mut().for_each(|b| b.history.clear());
    }

    /// Raises the version counter, so that versions never repeat after a restore.
    pub(crate) fn resume_at(&self, rv: u64) {
        let mut state = self.lock();
        state.rv = state.rv.max(rv);
        state.floor = state.rv;
    }
}

impl State {
    pub(crate) fn bucket(&mut self, kind: usize, keep: usize) -> &mut Bucket {
        while self.buckets.len() <= kind {
            self.buckets.push(Bucket {
                objects: BTreeMap::new(),
                history: History::new(keep),
                bell: watch::Sender::new(0),
            });
        }
        &mut self.buckets[kind]
    }

    /// A kind's objects, if it ever had one.
    pub(crate) fn peek(&self, kind: usize) -> Option<&Bucket> {
        self.buckets.get(kind)
    }

    /// All objects of a kind in key order.
    pub(crate) fn list(&self, kind: usize, namespace: Option<&str>) -> Vec<Arc<Stored>> {
        let Some(bucket) = self.buckets.get(kind) else { return Vec::new() };
        match namespace {
            None => bucket.objects.values().cloned().collect(),
            Some(ns) => {
                let (from, to) = (format!("{ns}/"), format!("{ns}0"));
                bucket.objects.range(from..to).map(|(_, o)| o.clone()).collect()
            }
        }
    }

    fn index(&mut self, kind: usize, key: &str, old: Option<&Stored>, new: Option<&Stored>) {
        let owners = |s: &Stored| -> Vec<String> {
            object::list(&s.value, "metadata.ownerReferences")
                .iter()
                .map(|o| object::text(o, "uid").to_owned())
                .collect()
        };
        let (before, after) = (old.map(owners).unwrap_or_default(), new.map(owners).unwrap_or_default());
        let slot = (kind, key.to_owned());
        for uid in before.iter().filter(|u| !after.contains(u)) {
            if let Some(set) = self.children.get_mut(uid) {
                set.remove(&slot);
                if set.is_empty() {
                    self.children.remove(uid);
                }
            }
        }
        for uid in after.into_iter().filter(|u| !before.contains(u)) {
            self.children.entry(uid).or_default().insert(slot.clone());
        }
        match (old, new) {
            (None, Some(new)) => drop(self.uids.insert(object::uid(&new.value).to_owned(), slot)),
            (Some(old), None) => drop(self.uids.remove(object::uid(&old.value))),
            _ => {}
        }
    }
}
