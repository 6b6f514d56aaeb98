//! Namespaces and custom resource definitions: prerequisites of other objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::Notify;

use super::cluster_resources::ClusterResources;
use super::watcher::{self, WatchTarget, WatcherEvent};
use crate::api::{ApiClient, ServedKind};
use crate::applied_release::{self, AppliedReleases};
use crate::release::ReleaseWorkers;

/// Status of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamespaceStatus {
    /// Exists and accepts objects.
    Active,
    /// Being deleted.
    Terminating,
    /// Does not exist.
    Missing,
    /// Namespaces can't be listed; the apply fails if it is missing.
    Unknown,
}

/// Cached attributes of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct KnownNamespace {
    terminating: bool,
    /// The enforced pod security level; empty without the label.
    pod_security: String,
}

/// Observed cluster-wide state: namespaces, definitions, cluster resources.
#[derive(Default)]
pub(crate) struct ClusterState {
    /// `None` until the first list.
    namespaces: RwLock<Option<BTreeMap<String, KnownNamespace>>>,
    /// Nodes, quotas, classes and pull accounts.
    pub resources: ClusterResources,
    /// Notified when a custom resource definition was created, changed or deleted.
    pub definitions_changed: Notify,
}

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn namespace_kind() -> ServedKind {
    ServedKind::new("", "v1", "Namespace", "namespaces", false)
}

impl ClusterState {
    pub(crate) fn namespace_status(&self, name: &str) -> NamespaceStatus {
        match &*self.namespaces.read() {
            None => NamespaceStatus::Unknown,
            Some(known) => match known.get(name) {
                Some(known) if known.terminating => NamespaceStatus::Terminating,
                Some(_) => NamespaceStatus::Active,
                None => NamespaceStatus::Missing,
            },
        }
    }

    /// Name and pod security level of every active namespace, by name; empty if namespaces can't be listed.
    pub(crate) fn active_namespaces(&self) -> Vec<(String, String)> {
        let known = self.namespaces.read();
        let active = known.iter().flatten().filter(|(_, known)| !known.terminating);
        active.map(|(name, known)| (name.clone(), known.pod_security.clone())).collect()
    }

    /// Stores a namespace from a watch event or from the response to a write.
    pub(crate) fn insert_namespace(&self, value: &Value) {
        let known = KnownNamespace {
            terminating: value.pointer("/metadata/deletionTimestamp").is_some(),
            pod_security: text(value, "/metadata/labels/pod-security.kubernetes.io~1enforce").to_owned(),
        };
        let name = text(value, "/metadata/name").to_owned();
        if let Some(all) = &mut *self.namespaces.write()
            && all.insert(name, known.clone()).as_ref() != Some(&known)
        {
            self.resources.changed.notify_one();
        }
    }

    fn handle_namespace_event(&self, event: WatcherEvent, workers: &ReleaseWorkers) {
        match event {
            WatcherEvent::Listed(values, _) => {
                *self.namespaces.write() = Some(BTreeMap::new());
                values.iter().for_each(|value| self.insert_namespace(value));
            }
            WatcherEvent::Upserted(value) => self.insert_namespace(&value),
            WatcherEvent::Deleted(value) => {
                if let Some(all) = &mut *self.namespaces.write()
                    && all.remove(text(&value, "/metadata/name")).is_some()
                {
                    self.resources.changed.notify_one();
                }
            }
            WatcherEvent::ListStarted
            | WatcherEvent::Failing(_)
            | WatcherEvent::Resumed
            | WatcherEvent::NotServed => return,
        }
        workers.wake_waiting();
    }

    /// Watches namespaces.
    pub(crate) async fn watch_namespaces(self: Arc<Self>, api: ApiClient, workers: Arc<ReleaseWorkers>) {
        let target = WatchTarget::new_metadata_only(namespace_kind().collection_path(""));
        watcher::list_and_watch(api, target, |event| self.handle_namespace_event(event, &workers)).await;
    }

    /// Watches custom resource definitions, to detect changes of the served kinds.
    pub(crate) async fn watch_definitions(self: Arc<Self>, api: ApiClient) {
        let target = WatchTarget::new_metadata_only(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
        );
        watcher::list_and_watch(api, target, |event| {
            if matches!(
                event,
                WatcherEvent::Upserted(_) | WatcherEvent::Deleted(_) | WatcherEvent::Listed(..)
            ) {
                self.definitions_changed.notify_one();
            }
        })
        .await;
    }
}

/// Watches the records, for deletions by other clients.
pub(crate) async fn watch_records(
    api: ApiClient,
    records: Arc<AppliedReleases>,
    workers: Arc<ReleaseWorkers>,
) {
    let target = WatchTarget::new(applied_release::served_kind().collection_path(""));
    watcher::list_and_watch(api, target, |event| match event {
        WatcherEvent::ListStarted => records.begin_list(),
        WatcherEvent::Listed(values, version) => {
            records.replace_listed(&values, version);
            workers.wake_all();
        }
        WatcherEvent::Upserted(value) => {
            if let Some(release) = records.handle_upsert(&value) {
                workers.wake(Some(release));
            }
        }
        WatcherEvent::Deleted(value) => {
            if let Some(release) = records.handle_deletion(&value) {
                workers.wake(Some(release));
            }
        }
        WatcherEvent::Failing(_) | WatcherEvent::Resumed | WatcherEvent::NotServed => {}
    })
    .await;
}
