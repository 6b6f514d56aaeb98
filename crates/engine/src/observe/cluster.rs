//! Namespaces and custom resource definitions: what objects need to be there before them.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use tokio::sync::Notify;

use super::follow::{self, Event, Target};
use super::land::Land;
use crate::api::{Api, Resource};
use crate::record::{self, Records};
use crate::release::Slots;

/// What is known of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// There, and takes objects.
    Active,
    /// On its way out.
    Terminating,
    /// Not there.
    Missing,
    /// Namespaces can't be listed: the apply will tell.
    Unknown,
}

/// What is kept of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Known {
    terminating: bool,
    /// The pod security level it enforces; empty when it says nothing.
    pod_security: String,
}

/// The namespaces of the cluster, and whether definitions changed.
#[derive(Default)]
pub(crate) struct Cluster {
    /// `None` until the first list.
    namespaces: RwLock<Option<BTreeMap<String, Known>>>,
    /// Machines, quotas and classes.
    pub land: Land,
    /// Told when a custom resource definition came, went or changed.
    pub definitions: Notify,
}

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn namespaces() -> Resource {
    Resource::known("", "v1", "Namespace", "namespaces", false)
}

impl Cluster {
    pub(crate) fn namespace(&self, name: &str) -> Namespace {
        match &*self.namespaces.read().unwrap_or_else(PoisonError::into_inner) {
            None => Namespace::Unknown,
            Some(known) => match known.get(name) {
                Some(known) if known.terminating => Namespace::Terminating,
                Some(_) => Namespace::Active,
                None => Namespace::Missing,
            },
        }
    }

    /// Name and pod security level of every namespace that takes objects, by name; empty when they can't be listed.
    pub(crate) fn namespaces(&self) -> Vec<(String, String)> {
        let known = self.namespaces.read().unwrap_or_else(PoisonError::into_inner);
        let active = known.iter().flatten().filter(|(_, known)| !known.terminating);
        active.map(|(name, known)| (name.clone(), known.pod_security.clone())).collect()
    }

    /// Takes that a namespace is there, from a watch or from the answer to a write.
    pub(crate) fn put_namespace(&self, value: &Value) {
        let known = Known {
            terminating: value.pointer("/metadata/deletionTimestamp").is_some(),
            pod_security: text(value, "/metadata/labels/pod-security.kubernetes.io~1enforce").to_owned(),
        };
        let name = text(value, "/metadata/name").to_owned();
        if let Some(all) = &mut *self.namespaces.write().unwrap_or_else(PoisonError::into_inner)
            && all.insert(name, known.clone()).as_ref() != Some(&known)
        {
            self.land.changed.notify_one();
        }
    }

    fn take_namespaces(&self, event: Event, slots: &Slots) {
        match event {
            Event::Listed(values, _) => {
                *self.namespaces.write().unwrap_or_else(PoisonError::into_inner) = Some(BTreeMap::new());
                values.iter().for_each(|value| self.put_namespace(value));
            }
            Event::Put(value) => self.put_namespace(&value),
            Event::Deleted(value) => {
                if let Some(all) = &mut *self.namespaces.write().unwrap_or_else(PoisonError::into_inner)
                    && all.remove(text(&value, "/metadata/name")).is_some()
                {
                    self.land.changed.notify_one();
                }
            }
            Event::Listing | Event::Failing(_) | Event::Resumed | Event::NotServed => return,
        }
        slots.wake_waiting();
    }

    /// Watches namespaces.
    pub(crate) async fn follow_namespaces(self: Arc<Self>, api: Api, slots: Arc<Slots>) {
        let target = Target::metadata(namespaces().collection(""));
        follow::follow(api, target, |event| self.take_namespaces(event, &slots)).await;
    }

    /// Watches custom resource definitions, only to know when the kinds of the cluster may have changed.
    pub(crate) async fn follow_definitions(self: Arc<Self>, api: Api) {
        let target = Target::metadata("/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned());
        follow::follow(api, target, |event| {
            if matches!(event, Event::Put(_) | Event::Deleted(_) | Event::Listed(..)) {
                self.definitions.notify_one();
            }
        })
        .await;
    }
}

/// Watches our own records, for deletions by others.
pub(crate) async fn follow_records(api: Api, records: Arc<Records>, slots: Arc<Slots>) {
    let target = Target::all(record::resource().collection(""));
    follow::follow(api, target, |event| match event {
        Event::Listing => records.listing(),
        Event::Listed(values, version) => {
            records.listed(&values, version);
            slots.wake_all();
        }
        Event::Put(value) => {
            if let Some(release) = records.seen(&value) {
                slots.wake(Some(release));
            }
        }
        Event::Deleted(value) => {
            if let Some(release) = records.vanished(&value) {
                slots.wake(Some(release));
            }
        }
        Event::Failing(_) | Event::Resumed | Event::NotServed => {}
    })
    .await;
}
