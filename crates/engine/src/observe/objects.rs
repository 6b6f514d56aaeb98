//! The objects of one kind that carry our label.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use domain::ReleaseId;
use domain::object::ObjectRef;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Pods;
use super::follow::{self, Event, Target};
use super::live::Live;
use crate::api::{Api, Resource};
use crate::error::Error;
use crate::release::Slots;
use crate::wanted::RELEASE_LABEL;

/// Whether what is kept can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The first list has not come yet.
    Starting,
    /// Up to date.
    Fresh,
    /// It can't be read for now; what is kept is the last known. `true` if there was a list before.
    Failing(Error, bool),
    /// The cluster does not serve the kind.
    NotServed,
}

/// How long a broken watch is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Namespace and name.
type Key = (String, String);

/// All labelled objects of one kind.
pub(crate) struct Objects {
    pub resource: Resource,
    kept: RwLock<HashMap<Key, Arc<Live>>>,
    /// Kept since a list was asked for that has not come yet: answers to writes, maybe missing or older in it.
    since_listing: Mutex<Option<HashSet<Key>>>,
    condition: watch::Sender<Condition>,
    /// Who is woken beside the release that an object's label names.
    audience: Option<ReleaseId>,
    ended: CancellationToken,
}

impl Objects {
    pub(crate) fn new(resource: Resource) -> Self {
        Self {
            resource,
            kept: RwLock::default(),
            since_listing: Mutex::default(),
            condition: watch::Sender::new(Condition::Starting),
            audience: None,
            ended: CancellationToken::new(),
        }
    }

    /// One object by name, for a release.
    pub(crate) fn single(resource: Resource, audience: ReleaseId) -> Self {
        Self { audience: Some(audience), ..Self::new(resource) }
    }

    /// Ends the watch.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    pub(crate) fn condition(&self) -> Condition {
        self.condition.borrow().clone()
    }

    /// Waits until what is kept can be trusted, or until it is clear that it can't for now.
    pub(crate) async fn settled(&self) -> Condition {
        let mut receiver = self.condition.subscribe();
        // A watch that broke goes on in a moment; only then is what is kept worth acting on.
        let is_over =
            |condition: &Condition| !matches!(condition, Condition::Starting | Condition::Failing(_, true));
        let settled = tokio::time::timeout(PATIENCE, receiver.wait_for(is_over)).await;
        match settled {
            Ok(Ok(condition)) => condition.clone(),
            _ => self.condition(),
        }
    }

    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<Live>> {
        let namespace = if self.resource.namespaced { namespace } else { "" };
        self.read().get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    pub(crate) fn labelled(&self, release: ReleaseId) -> Vec<Arc<Live>> {
        self.read().values().filter(|live| live.release == Some(release)).cloned().collect()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<Key, Arc<Live>>> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an object, from a watch or from the answer to a write. Returns whether that was news.
    pub(crate) fn put(&self, live: Live) -> bool {
        let key = (live.namespace.clone(), live.name.clone());
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&key)
            && (known.version == live.version || live.is_older_than(known))
        {
            return false;
        }
        if let Some(since) = &mut *self.since_listing() {
            since.insert(key.clone());
        }
        kept.insert(key, Arc::new(live));
        true
    }

    fn since_listing(&self) -> MutexGuard<'_, Option<HashSet<Key>>> {
        self.since_listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops an object that is gone. A late word about an object that was made anew since changes nothing.
    pub(crate) fn drop(&self, gone: &Live) -> bool {
        let key = (gone.namespace.clone(), gone.name.clone());
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.get(&key).is_none_or(|known| known.uid != gone.uid || gone.is_older_than(known)) {
            return false;
        }
        kept.remove(&key);
        true
    }

    /// Watches until the kind is not served any more.
    pub(crate) async fn follow(self: Arc<Self>, api: Api, slots: Arc<Slots>, pods: Arc<Pods>) {
        let path = self.resource.collection("");
        let target = Target { selector: RELEASE_LABEL.to_owned(), ..Target::all(path) };
        follow::follow(api, target, |event| self.take(event, &slots, &pods)).await;
    }

    /// Watches one object by its name until [`Objects::end`].
    pub(crate) async fn follow_one(
        self: Arc<Self>,
        api: Api,
        slots: Arc<Slots>,
        pods: Arc<Pods>,
        one: ObjectRef,
    ) {
        let namespace = if self.resource.namespaced { one.namespace.as_str() } else { "" };
        let path = self.resource.collection(namespace);
        let target = Target { fields: format!("metadata.name={}", one.name), ..Target::all(path) };
        let ended = self.ended.clone();
        let watch = follow::follow(api, target, |event| {
            self.take(event, &slots, &pods);
            slots.wake(self.audience);
        });
        let _ = ended.run_until_cancelled(watch).await;
    }

    fn take(&self, event: Event, slots: &Slots, pods: &Pods) {
        match event {
            Event::Listing => *self.since_listing() = Some(HashSet::new()),
            Event::Listed(values, version) => self.take_list(&values, version, slots, pods),
            Event::Put(value) => {
                let live = Live::of(&value);
                let release = live.release;
                pods.note_owner(&live);
                if self.put(live) {
                    slots.wake(release);
                }
            }
            Event::Deleted(value) => {
                let live = Live::of(&value);
                pods.forget_owner(&live.uid);
                if self.drop(&live) {
                    slots.wake(live.release);
                }
            }
            Event::Failing(error) => {
                let known = !matches!(self.condition(), Condition::Starting | Condition::Failing(_, false));
                self.condition.send_replace(Condition::Failing(error, known));
            }
            Event::Resumed => {
                self.condition.send_replace(Condition::Fresh);
                slots.wake_all();
            }
            Event::NotServed => {
                self.kept.write().unwrap_or_else(PoisonError::into_inner).clear();
                self.condition.send_replace(Condition::NotServed);
                slots.wake_all();
            }
        }
    }

    fn take_list(&self, values: &[Value], version: u64, slots: &Slots, pods: &Pods) {
        let mut fresh: HashMap<Key, Arc<Live>> = values
            .iter()
            .map(|value| {
                let live = Live::of(value);
                pods.note_owner(&live);
                ((live.namespace.clone(), live.name.clone()), Arc::new(live))
            })
            .collect();
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        for key in self.since_listing().take().into_iter().flatten() {
            if let Some(mine) = kept.remove(&key)
                && mine.is_newer_than_list(version)
            {
                fresh.insert(key, mine);
            }
        }
        *kept = fresh;
        drop(kept);
        let first = self.condition.send_replace(Condition::Fresh) == Condition::Starting;
        if !first {
            slots.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_list_made_before_a_write_does_not_make_the_object_vanish() {
        let (background, _work) = tokio::sync::mpsc::unbounded_channel();
        let slots = Arc::new(Slots::default());
        let pods = Pods::new(Api::deaf(), background, slots.clone());
        let objects = Objects::new(Resource::known("", "v1", "ConfigMap", "configmaps", true));
        let object =
            json!({"metadata": {"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "7"}});
        let write_during_list = |version| {
            objects.take(Event::Listing, &slots, &pods);
            objects.put(Live::of(&object));
            objects.take(Event::Listed(Vec::new(), version), &slots, &pods);
            objects.get("shop", "a").is_some()
        };
        assert!(write_during_list(6), "the list knows nothing of the write");
        assert!(!write_during_list(8), "somebody deleted it before the list was made");
    }
}
