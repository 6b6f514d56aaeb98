//! The land that workloads stand on: nodes, quotas, classes, accounts that may pull, cut down to what the hub is told.
//!
//! An agent that may not read one of these is asked again rarely: it only sharpens advice.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use domain::cluster::Quota;
use domain::quantity::Quantity;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use super::cluster::{Cluster, text};
use super::follow::{self, Event, Target};
use crate::api::Api;

/// A refusal to list these is a permission that the agent was not given; that changes rarely.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is kept of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NodeSeen {
    pub architecture: String,
    pub os: String,
    /// Ready and not cordoned.
    pub takes_pods: bool,
    pub cpu: Quantity,
    pub memory: Quantity,
    /// What it runs on: the scheme of the id that the cloud controller gave it.
    pub provider: String,
    pub region: String,
    pub zone: String,
}

impl NodeSeen {
    fn of(node: &Value) -> Self {
        let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
        let ready = conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        let amount = |what: &str| Quantity::of(&node["status"]["allocatable"][what]).unwrap_or_default();
        let label = |key: &str| node["metadata"]["labels"][key].as_str().unwrap_or_default().to_owned();
        let provider = text(node, "/spec/providerID");
        Self {
            architecture: text(node, "/status/nodeInfo/architecture").to_owned(),
            os: text(node, "/status/nodeInfo/operatingSystem").to_owned(),
            takes_pods: ready && node["spec"]["unschedulable"] != true,
            cpu: amount("cpu"),
            memory: amount("memory"),
            provider: provider.split_once("://").map_or("", |(scheme, _)| scheme).to_owned(),
            region: label("topology.kubernetes.io/region"),
            zone: label("topology.kubernetes.io/zone"),
        }
    }
}

fn quota(value: &Value) -> Quota {
    // One with a scope counts only some pods; which ones is not reckoned.
    let of_some = ["/spec/scopes", "/spec/scopeSelector"].iter().any(|scope| value.pointer(scope).is_some());
    let amounts = |pointer: &str| {
        let map = value.pointer(pointer).filter(|_| !of_some).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .filter_map(|(name, amount)| Some((name.clone(), Quantity::of(amount)?)))
            .collect()
    };
    Quota {
        name: text(value, "/metadata/name").to_owned(),
        hard: amounts("/spec/hard"),
        used: amounts("/status/used"),
    }
}

/// Whether a class is the default of its kind.
fn is_default(annotation: &'static str) -> impl Fn(&Value) -> Option<bool> + Send + Sync {
    move |class| Some(class["metadata"]["annotations"][annotation] == "true")
}

/// Whether a service account brings pull secrets; those that do not are not kept.
fn pulls(account: &Value) -> Option<()> {
    let secrets = account["imagePullSecrets"].as_array();
    secrets.is_some_and(|secrets| !secrets.is_empty()).then_some(())
}

/// The objects of one kind, cut down to `T`, by namespace and name.
pub(crate) struct Table<T> {
    rows: RwLock<BTreeMap<(String, String), T>>,
    /// Whether a first answer came, be it a refusal.
    settled: watch::Sender<bool>,
    /// Whether the rows can be trusted: listed at least once.
    listed: watch::Sender<bool>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            rows: RwLock::default(),
            settled: watch::Sender::new(false),
            listed: watch::Sender::new(false),
        }
    }
}

impl<T: Clone + PartialEq> Table<T> {
    /// All rows; `None` when they were never listed.
    pub fn all(&self) -> Option<Vec<((String, String), T)>> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        let known = *self.listed.borrow();
        known.then(|| rows.iter().map(|(key, row)| (key.clone(), row.clone())).collect())
    }

    /// Takes an event, of which `cut` says what is kept, if anything; says whether it was news.
    fn take(&self, event: Event, cut: impl Fn(&Value) -> Option<T>) -> bool {
        let key = |value: &Value| {
            (text(value, "/metadata/namespace").to_owned(), text(value, "/metadata/name").to_owned())
        };
        let answered = !matches!(event, Event::Listing);
        let news = {
            let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
            match event {
                Event::Listed(values, _) => {
                    let fresh = values.iter().filter_map(|value| Some((key(value), cut(value)?))).collect();
                    let first = !self.listed.send_replace(true);
                    let before = std::mem::replace(&mut *rows, fresh);
                    first || before != *rows
                }
                Event::Put(value) => match cut(&value) {
                    Some(row) => rows.insert(key(&value), row.clone()).as_ref() != Some(&row),
                    None => rows.remove(&key(&value)).is_some(),
                },
                Event::Deleted(value) => rows.remove(&key(&value)).is_some(),
                Event::Listing | Event::Failing(_) | Event::Resumed | Event::NotServed => false,
            }
        };
        if answered {
            self.settled.send_replace(true);
        }
        news
    }

    async fn settled(&self) {
        // The sender lives as long as the table.
        let _ = self.settled.subscribe().wait_for(|settled| *settled).await;
    }
}

/// Everything seen of the land.
#[derive(Default)]
pub(crate) struct Land {
    /// The nodes.
    pub nodes: Table<NodeSeen>,
    /// Resource quotas, by namespace and name.
    pub quotas: Table<Quota>,
    /// Storage classes, and whether each is the default.
    pub storage: Table<bool>,
    /// Ingress classes, and whether each is the default.
    pub ingress: Table<bool>,
    /// Service accounts with pull secrets, by namespace and name.
    pub pulling: Table<()>,
    /// Told when something of it changed.
    pub changed: Notify,
}

impl Land {
    /// Waits until every kind was listed or refused once.
    pub async fn settled(&self) {
        futures::join!(
            self.nodes.settled(),
            self.quotas.settled(),
            self.storage.settled(),
            self.ingress.settled(),
            self.pulling.settled()
        );
    }
}

/// Watches all of it.
pub(crate) async fn follow(cluster: Arc<Cluster>, api: Api) {
    let land = &cluster.land;
    let default_storage = is_default("storageclass.kubernetes.io/is-default-class");
    let default_ingress = is_default("ingressclass.kubernetes.io/is-default-class");
    futures::join!(
        one(&api, "/api/v1/nodes", &land.nodes, |node| Some(NodeSeen::of(node)), &land.changed),
        one(&api, "/api/v1/resourcequotas", &land.quotas, |value| Some(quota(value)), &land.changed),
        one(&api, "/api/v1/serviceaccounts", &land.pulling, pulls, &land.changed),
        one(&api, "/apis/storage.k8s.io/v1/storageclasses", &land.storage, default_storage, &land.changed),
        one(&api, "/apis/networking.k8s.io/v1/ingressclasses", &land.ingress, default_ingress, &land.changed),
    );
}

async fn one<T: Clone + PartialEq + Send + Sync>(
    api: &Api,
    path: &str,
    table: &Table<T>,
    cut: impl Fn(&Value) -> Option<T> + Send + Sync,
    changed: &Notify,
) {
    let target = Target { patience: PATIENCE, ..Target::all(path.to_owned()) };
    follow::follow(api.clone(), target, |event| {
        if table.take(event, &cut) {
            changed.notify_one();
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_that_is_cordoned_or_not_ready_takes_no_pods() {
        let node = |ready: &str, cordoned: bool| {
            json!({"spec": {"unschedulable": cordoned}, "status": {
                "allocatable": {"cpu": "3920m", "memory": "8Gi"},
                "nodeInfo": {"architecture": "arm64", "operatingSystem": "linux"},
                "conditions": [{"type": "Ready", "status": ready}]}})
        };
        let seen = NodeSeen::of(&node("True", false));
        assert!(seen.takes_pods);
        assert_eq!(
            (&*seen.architecture, seen.cpu.to_string(), seen.memory.in_bytes()),
            ("arm64", "3920m".into(), "8 GiB".into())
        );
        assert!(
            !NodeSeen::of(&node("True", true)).takes_pods
                && !NodeSeen::of(&node("Unknown", false)).takes_pods
        );
    }

    #[test]
    fn what_was_never_listed_is_unknown_and_a_refusal_empties_nothing() {
        let table = Table::<bool>::default();
        assert_eq!(table.all(), None);
        let class = json!({"metadata": {"name": "fast"}});
        assert!(table.take(Event::Listed(vec![class.clone()], 1), |_| Some(true)));
        assert!(!table.take(Event::Put(class.clone()), |_| Some(true)), "the same again is no news");
        assert!(
            !table.take(Event::Failing(crate::error::Error::PermissionDenied("no".into())), |_| Some(true))
        );
        assert_eq!(table.all().map(|rows| rows.len()), Some(1));
        assert!(table.take(Event::Deleted(class), |_| Some(true)));
        assert_eq!(table.all(), Some(Vec::new()));
    }

    #[test]
    fn g205_of_service_accounts_only_those_with_pull_secrets_are_kept() {
        let table = Table::<()>::default();
        let account = |secrets: Value| json!({"metadata": {"namespace": "web", "name": "a"}, "imagePullSecrets": secrets});
        assert!(table.take(Event::Listed(vec![account(json!([]))], 1), pulls), "that there are none is news");
        assert!(!table.take(Event::Put(account(json!(null))), pulls));
        assert!(table.take(Event::Put(account(json!([{"name": "reg"}]))), pulls));
        assert_eq!(table.all(), Some(vec![(("web".to_owned(), "a".to_owned()), ())]));
        assert!(table.take(Event::Put(account(json!([]))), pulls), "it was taken away");
        assert_eq!(table.all(), Some(Vec::new()));
    }
}
