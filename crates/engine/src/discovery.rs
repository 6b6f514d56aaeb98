//! API discovery: the kinds that the cluster serves.
//!
//! Two requests with aggregated discovery (Kubernetes 1.27 and later), one per group version on older servers. The
//! result is cached and read again when a custom resource definition changes or a kind is missing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::object::ObjectRef;
use futures::StreamExt;
use futures::stream;
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::{Mutex, watch};

use crate::api::{ApiClient, ServedKind};
use crate::error::Error;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// The result of one discovery.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ServedKinds {
    by_name: HashMap<(String, String, String), ServedKind>,
    /// Groups whose kinds could not be read: absence of their kinds is unknown, not proven.
    unreadable_groups: HashSet<String>,
}

impl ServedKinds {
    /// The kind in this group and version.
    pub(crate) fn get(&self, group: &str, version: &str, kind: &str) -> Option<&ServedKind> {
        self.by_name.get(&(group.to_owned(), version.to_owned(), kind.to_owned()))
    }

    /// The kind of an object, in the object's version.
    pub(crate) fn resolve(&self, object: &ObjectRef) -> Option<&ServedKind> {
        self.get(&object.group, &object.version, &object.kind)
    }

    /// The kind in any version, for objects recorded in a version that is no longer served.
    pub(crate) fn find_any_version(&self, group: &str, kind: &str) -> Option<&ServedKind> {
        self.by_name
            .values()
            .filter(|r| r.group == group && r.kind == kind)
            .min_by(|a, b| a.version.cmp(&b.version))
    }

    /// Whether the kinds of the group could be read.
    pub(crate) fn is_group_known(&self, group: &str) -> bool {
        !self.unreadable_groups.contains(group)
    }

    /// Every kind.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ServedKind> {
        self.by_name.values()
    }

    fn insert(&mut self, resource: ServedKind) {
        let key = (resource.group.clone(), resource.version.clone(), resource.kind.clone());
        self.by_name.insert(key, resource);
    }
}

/// Cached result of the latest discovery.
pub(crate) struct Discovery {
    api: ApiClient,
    kinds: RwLock<Arc<ServedKinds>>,
    /// Serializes reads; the value counts changes.
    refresh_count: Mutex<u64>,
    changed: watch::Sender<u64>,
}

impl Discovery {
    /// Runs the first discovery.
    ///
    /// # Errors
    /// The request failed.
    pub(crate) async fn read(api: ApiClient) -> Result<Self, Error> {
        let kinds = discover(&api).await?;
        let (changed, _) = watch::channel(0);
        Ok(Self { api, kinds: RwLock::new(Arc::new(kinds)), refresh_count: Mutex::new(0), changed })
    }

    /// The latest result.
    pub(crate) fn kinds(&self) -> Arc<ServedKinds> {
        self.kinds.read().clone()
    }

    /// Changes whenever a result differs from the previous one.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Runs discovery again.
    ///
    /// # Errors
    /// The request failed; the latest result stays.
    pub(crate) async fn refresh(&self) -> Result<Arc<ServedKinds>, Error> {
        let mut count = self.refresh_count.lock().await;
        let fresh = Arc::new(discover(&self.api).await?);
        if *fresh != *self.kinds() {
            *self.kinds.write() = fresh.clone();
            *count += 1;
            self.changed.send_replace(*count);
        }
        Ok(fresh)
    }
}

async fn discover(api: &ApiClient) -> Result<ServedKinds, Error> {
    let (core, groups) =
        futures::future::try_join(api.get_as("/api", AGGREGATED), api.get_as("/apis", AGGREGATED)).await?;
    let mut kinds = ServedKinds::default();
    if core["kind"] == "APIGroupDiscoveryList" && groups["kind"] == "APIGroupDiscoveryList" {
        insert_aggregated(&core, &mut kinds);
        insert_aggregated(&groups, &mut kinds);
    } else {
        read_group_versions(api, &groups, &mut kinds).await?;
    }
    Ok(kinds)
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn insert_aggregated(list: &Value, kinds: &mut ServedKinds) {
    for group in items(list, "items") {
        let name = text(group, "/metadata/name");
        for version in items(group, "versions") {
            if version["freshness"] == "Stale" {
                kinds.unreadable_groups.insert(name.clone());
            }
            for resource in items(version, "resources") {
                kinds.insert(ServedKind {
                    group: name.clone(),
                    version: text(version, "/version"),
                    kind: text(resource, "/responseKind/kind"),
                    plural: text(resource, "/resource"),
                    namespaced: resource["scope"] == "Namespaced",
                    has_status: items(resource, "subresources")
                        .iter()
                        .any(|subresource| subresource["subresource"] == "status"),
                });
            }
        }
    }
}

async fn read_group_versions(api: &ApiClient, groups: &Value, kinds: &mut ServedKinds) -> Result<(), Error> {
    let mut group_versions = vec![(String::new(), "v1".to_owned())];
    for group in items(groups, "groups") {
        for version in items(group, "versions") {
            group_versions.push((text(group, "/name"), text(version, "/version")));
        }
    }
    let mut lists = stream::iter(group_versions)
        .map(|(group, version)| async move {
            let path = match group.as_str() {
                "" => format!("/api/{version}"),
                group => format!("/apis/{group}/{version}"),
            };
            let list = api.get(&path).await;
            (group, version, list)
        })
        .buffer_unordered(8);
    while let Some((group, version, list)) = lists.next().await {
        match list {
            Ok(list) => insert_list(&list, &group, &version, kinds),
            // An unavailable extension server affects only its own group.
            Err(error) if !group.is_empty() && !error.is_unreachable() => {
                kinds.unreadable_groups.insert(group);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn insert_list(list: &Value, group: &str, version: &str, kinds: &mut ServedKinds) {
    for resource in items(list, "resources") {
        let plural = text(resource, "/name");
        if plural.contains('/') {
            continue;
        }
        let status = format!("{plural}/status");
        kinds.insert(ServedKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text(resource, "/kind"),
            plural,
            namespaced: resource["namespaced"] == true,
            has_status: items(list, "resources").iter().any(|other| other["name"] == status),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn aggregated_discovery_marks_stale_groups_as_unknown() {
        let list = json!({"items": [{"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
            {"resource": "deployments", "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
             "scope": "Namespaced", "subresources": [{"subresource": "status"}]}]}]},
            {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]}]});
        let mut kinds = ServedKinds::default();
        insert_aggregated(&list, &mut kinds);
        let deployments = kinds.get("apps", "v1", "Deployment").unwrap();
        assert!(deployments.plural == "deployments" && deployments.has_status);
        assert!(kinds.is_group_known("apps"));
        assert!(!kinds.is_group_known("metrics.k8s.io"), "a stale group is unknown, not missing");
    }

    #[test]
    fn resource_lists_of_older_servers_are_read_without_subresources() {
        let list = json!({"resources": [
            {"name": "pods", "kind": "Pod", "namespaced": true},
            {"name": "pods/log", "kind": "Pod", "namespaced": true}]});
        let mut kinds = ServedKinds::default();
        insert_list(&list, "", "v1", &mut kinds);
        assert_eq!(kinds.iter().count(), 1);
        let pods = kinds.get("", "v1", "Pod").unwrap();
        assert!(pods.namespaced && !pods.has_status);
    }
}
