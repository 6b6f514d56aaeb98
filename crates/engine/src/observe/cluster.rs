//! Namespaces and custom resource definitions: what objects need to be there before them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use tokio::sync::Notify;

use super::follow::{self, Event, Target};
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

/// The namespaces of the cluster, and whether definitions changed.
#[derive(Default)]
pub(crate) struct Cluster {
    /// `None` until the first list.
    namespaces: RwLock<Option<HashMap<String, bool>>>,
    /// Told when a custom resource definition came, went or changed.
    pub definitions: Notify,
}

pub(crate) fn namespaces() -> Resource {
    Resource::known("", "v1", "Namespace", "namespaces", false)
}

impl Cluster {
    pub(crate) fn namespace(&self, name: &str) -> Namespace {
        match &*self.namespaces.read().unwrap_or_else(PoisonError::into_inner) {
            None => Namespace::Unknown,
            Some(known) => match known.get(name) {
                Some(true) => Namespace::Terminating,
                Some(false) => Namespace::Active,
                None => Namespace::Missing,
            },
        }
    }

    /// Takes that a namespace is there, from a watch or from the answer to a write.
    pub(crate) fn put_namespace(&self, value: &Value) {
        let terminating = value.pointer("/metadata/deletionTimestamp").is_some();
        let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        if let Some(known) = &mut *self.namespaces.write().unwrap_or_else(PoisonError::into_inner) {
            known.insert(name.to_owned(), terminating);
        }
    }

    fn take_namespaces(&self, event: Event, slots: &Slots) {
        match event {
            Event::Listed(values, _) => {
                *self.namespaces.write().unwrap_or_else(PoisonError::into_inner) = Some(HashMap::new());
                values.iter().for_each(|value| self.put_namespace(value));
            }
            Event::Put(value) => self.put_namespace(&value),
            Event::Deleted(value) => {
                let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                if let Some(known) = &mut *self.namespaces.write().unwrap_or_else(PoisonError::into_inner) {
                    known.remove(name);
                }
            }
            Event::Listing | Event::Failing(_) | Event::Resumed | Event::NotServed => return,
        }
        slots.wake_waiting();
    }

    /// Watches namespaces.
    pub(crate) async fn follow_namespaces(self: Arc<Self>, api: Api, slots: Arc<Slots>) {
        let target = Target {
            path: namespaces().collection(""),
            selector: String::new(),
            fields: String::new(),
            metadata_only: true,
        };
        follow::follow(api, target, |event| self.take_namespaces(event, &slots)).await;
    }

    /// Watches custom resource definitions, only to know when the kinds of the cluster may have changed.
    pub(crate) async fn follow_definitions(self: Arc<Self>, api: Api) {
        let target = Target {
            path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
            selector: String::new(),
            fields: String::new(),
            metadata_only: true,
        };
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
    let target = Target {
        path: record::resource().collection(""),
        selector: String::new(),
        fields: String::new(),
        metadata_only: false,
    };
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
