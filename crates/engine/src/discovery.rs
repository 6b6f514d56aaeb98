//! Which kinds the cluster serves.
//!
//! Two requests with aggregated discovery (Kubernetes 1.27 and later), one per group version on older servers. The
//! result is kept and read anew when a custom resource definition comes or goes, or when a kind is missed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, RwLock};

use domain::object::ObjectRef;
use futures::StreamExt;
use futures::stream;
use serde_json::Value;
use tokio::sync::{Mutex, watch};

use crate::api::{Api, Resource};
use crate::error::Error;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// The kinds of one reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    by_name: HashMap<(String, String, String), Resource>,
    /// Groups whose kinds could not be read: nothing may be concluded from their absence (DESIGN 3.8).
    unread: HashSet<String>,
}

impl Kinds {
    /// The kind of this group and version.
    pub(crate) fn get(&self, group: &str, version: &str, kind: &str) -> Option<&Resource> {
        self.by_name.get(&(group.to_owned(), version.to_owned(), kind.to_owned()))
    }

    /// The kind of an object, in the version it names.
    pub(crate) fn of(&self, object: &ObjectRef) -> Option<&Resource> {
        self.get(&object.group, &object.version, &object.kind)
    }

    /// The kind in any version, for objects recorded in a version that is served no more.
    pub(crate) fn in_any_version(&self, group: &str, kind: &str) -> Option<&Resource> {
        self.by_name
            .values()
            .filter(|r| r.group == group && r.kind == kind)
            .min_by(|a, b| a.version.cmp(&b.version))
    }

    /// Whether the group could be read.
    pub(crate) fn is_known(&self, group: &str) -> bool {
        !self.unread.contains(group)
    }

    /// Every kind.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Resource> {
        self.by_name.values()
    }

    fn insert(&mut self, resource: Resource) {
        let key = (resource.group.clone(), resource.version.clone(), resource.kind.clone());
        self.by_name.insert(key, resource);
    }
}

/// The latest reading.
pub(crate) struct Discovery {
    api: Api,
    kinds: RwLock<Arc<Kinds>>,
    /// One reading at a time; who waits for it takes its result.
    reading: Mutex<u64>,
    changed: watch::Sender<u64>,
}

impl Discovery {
    /// Reads for the first time.
    ///
    /// # Errors
    /// When the API server can't be read.
    pub(crate) async fn read(api: Api) -> Result<Self, Error> {
        let kinds = read(&api).await?;
        let (changed, _) = watch::channel(0);
        Ok(Self { api, kinds: RwLock::new(Arc::new(kinds)), reading: Mutex::new(0), changed })
    }

    /// The latest reading.
    pub(crate) fn kinds(&self) -> Arc<Kinds> {
        match self.kinds.read() {
            Ok(kinds) => kinds.clone(),
            Err(poisoned) => poisoned.into_inner().clone(),
        }
    }

    /// Told whenever a reading differs from the one before.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Reads anew.
    ///
    /// # Errors
    /// When the API server can't be read; the latest reading stays.
    pub(crate) async fn refresh(&self) -> Result<Arc<Kinds>, Error> {
        let mut count = self.reading.lock().await;
        let fresh = Arc::new(read(&self.api).await?);
        if *fresh != *self.kinds() {
            match self.kinds.write() {
                Ok(mut kinds) => *kinds = fresh.clone(),
                Err(poisoned) => *poisoned.into_inner() = fresh.clone(),
            }
            *count += 1;
            self.changed.send_replace(*count);
        }
        Ok(fresh)
    }
}

async fn read(api: &Api) -> Result<Kinds, Error> {
    let (core, groups) =
        futures::future::try_join(api.get_as("/api", AGGREGATED), api.get_as("/apis", AGGREGATED)).await?;
    let mut kinds = Kinds::default();
    if core["kind"] == "APIGroupDiscoveryList" && groups["kind"] == "APIGroupDiscoveryList" {
        take_aggregated(&core, &mut kinds);
        take_aggregated(&groups, &mut kinds);
    } else {
        read_one_by_one(api, &groups, &mut kinds).await?;
    }
    Ok(kinds)
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn take_aggregated(list: &Value, kinds: &mut Kinds) {
    for group in items(list, "items") {
        let name = text(group, "/metadata/name");
        for version in items(group, "versions") {
            if version["freshness"] == "Stale" {
                kinds.unread.insert(name.clone());
            }
            for resource in items(version, "resources") {
                kinds.insert(Resource {
                    group: name.clone(),
                    version: text(version, "/version"),
                    kind: text(resource, "/responseKind/kind"),
                    plural: text(resource, "/resource"),
                    namespaced: resource["scope"] == "Namespaced",
                });
            }
        }
    }
}

async fn read_one_by_one(api: &Api, groups: &Value, kinds: &mut Kinds) -> Result<(), Error> {
    let mut wanted = vec![(String::new(), "v1".to_owned())];
    for group in items(groups, "groups") {
        for version in items(group, "versions") {
            wanted.push((text(group, "/name"), text(version, "/version")));
        }
    }
    let mut lists = stream::iter(wanted)
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
            Ok(list) => take_list(&list, &group, &version, kinds),
            // An extension server that is down hides its own group, not the cluster.
            Err(error) if !group.is_empty() && !error.is_silence() => {
                kinds.unread.insert(group);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn take_list(list: &Value, group: &str, version: &str, kinds: &mut Kinds) {
    for resource in items(list, "resources") {
        let plural = text(resource, "/name");
        if plural.contains('/') {
            continue;
        }
        kinds.insert(Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text(resource, "/kind"),
            plural,
            namespaced: resource["namespaced"] == true,
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn aggregated_discovery_is_read_with_its_gaps() {
        let list = json!({"items": [{"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
            {"resource": "deployments", "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
             "scope": "Namespaced"}]}]},
            {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]}]});
        let mut kinds = Kinds::default();
        take_aggregated(&list, &mut kinds);
        assert_eq!(kinds.get("apps", "v1", "Deployment").unwrap().plural, "deployments");
        assert!(kinds.is_known("apps"));
        assert!(!kinds.is_known("metrics.k8s.io"), "a group that could not be read is not a missing group");
    }

    #[test]
    fn the_older_lists_are_read_without_subresources() {
        let list = json!({"resources": [
            {"name": "pods", "kind": "Pod", "namespaced": true},
            {"name": "pods/log", "kind": "Pod", "namespaced": true}]});
        let mut kinds = Kinds::default();
        take_list(&list, "", "v1", &mut kinds);
        assert_eq!(kinds.iter().count(), 1);
        assert!(kinds.get("", "v1", "Pod").unwrap().namespaced);
    }
}
