//! Cluster resources: nodes, quotas, classes, service accounts with pull secrets and Helm releases, reduced to the reported facts;
//! what autoscalers scale.
//!
//! A resource that the agent may not list is retried rarely: it only refines findings.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use domain::chart_object::retention_reason;
use domain::cluster::Quota;
use domain::object::ObjectRef;
use domain::quantity::Quantity;
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use super::cache_state::{self, CacheState};
use super::cluster_state::{ClusterState, text};
use super::watcher::{self, WatchTarget, WatcherEvent};
use crate::api::ApiClient;
use crate::desired_object::WORKLOAD_ANNOTATION;
use crate::error::Error;
use crate::permissions;

/// Longest back-off: a rejected list is a missing permission, which changes rarely.
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// Pause after a review of permissions that failed.
const FAILED_REVIEW_PAUSE: Duration = Duration::from_secs(5);

/// Cached attributes of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NodeSummary {
    pub architecture: String,
    pub os: String,
    /// Ready and not cordoned.
    pub is_schedulable: bool,
    pub cpu: Quantity,
    pub memory: Quantity,
    /// Cloud provider: the scheme of `spec.providerID`.
    pub provider: String,
    pub region: String,
    pub zone: String,
}

impl NodeSummary {
    fn from_node(node: &Value) -> Self {
        let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
        let ready = conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        let amount = |resource: &str| {
            Quantity::from_json(&node["status"]["allocatable"][resource]).unwrap_or_default()
        };
        let label = |key: &str| node["metadata"]["labels"][key].as_str().unwrap_or_default().to_owned();
        let provider = text(node, "/spec/providerID");
        Self {
            architecture: text(node, "/status/nodeInfo/architecture").to_owned(),
            os: text(node, "/status/nodeInfo/operatingSystem").to_owned(),
            is_schedulable: ready && node["spec"]["unschedulable"] != true,
            cpu: amount("cpu"),
            memory: amount("memory"),
            provider: provider.split_once("://").map_or("", |(scheme, _)| scheme).to_owned(),
            region: label("topology.kubernetes.io/region"),
            zone: label("topology.kubernetes.io/zone"),
        }
    }
}

fn parse_quota(value: &Value) -> Quota {
    // A scoped quota counts only some pods, so its amounts are omitted.
    let is_scoped =
        ["/spec/scopes", "/spec/scopeSelector"].iter().any(|scope| value.pointer(scope).is_some());
    let amounts = |pointer: &str| {
        let map = value.pointer(pointer).filter(|_| !is_scoped).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .filter_map(|(name, amount)| Some((name.clone(), Quantity::from_json(amount)?)))
            .collect()
    };
    Quota {
        name: text(value, "/metadata/name").to_owned(),
        hard: amounts("/spec/hard"),
        used: amounts("/status/used"),
    }
}

/// What an autoscaler scales.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ScaleTarget {
    kind: String,
    name: String,
    /// The uids of the autoscaler and of the objects that own it, such as a ScaledObject of KEDA.
    scaler_uids: Vec<String>,
    /// Whether the autoscaler stays on the cluster when it is pruned.
    is_retained: bool,
}

impl ScaleTarget {
    fn from_scaler(scaler: &Value) -> Self {
        let field = |name: &str| text(scaler, &format!("/spec/scaleTargetRef/{name}")).to_owned();
        let owners = scaler.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let own = scaler.pointer("/metadata/uid").into_iter();
        let uids = own.chain(owners.into_iter().flatten().filter_map(|owner| owner.get("uid")));
        Self {
            kind: field("kind"),
            name: field("name"),
            scaler_uids: uids.filter_map(Value::as_str).map(str::to_owned).collect(),
            is_retained: retention_reason(scaler).is_some(),
        }
    }

    /// Whether the autoscaler is deleted with the objects of these uids.
    fn is_deleted_with(&self, uids: &HashSet<String>) -> bool {
        !self.is_retained && self.scaler_uids.iter().any(|uid| uids.contains(uid))
    }
}

/// Cached attributes of a storage class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StorageClassSummary {
    /// Whether it is the default of the cluster.
    pub is_default: bool,
    /// Whether a claim is bound only once a pod uses it (`WaitForFirstConsumer`).
    pub binds_late: bool,
}

impl StorageClassSummary {
    fn from_class(class: &Value) -> Self {
        let annotations = &class["metadata"]["annotations"];
        Self {
            is_default: annotations["storageclass.kubernetes.io/is-default-class"] == "true",
            binds_late: class["volumeBindingMode"] == "WaitForFirstConsumer",
        }
    }
}

/// Whether an ingress class is the default.
fn is_default_ingress_class(class: &Value) -> Option<bool> {
    Some(class["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"] == "true")
}

/// `Some` if a service account has pull secrets; others are not cached.
fn pull_account(account: &Value) -> Option<()> {
    let secrets = account["imagePullSecrets"].as_array();
    secrets.is_some_and(|secrets| !secrets.is_empty()).then_some(())
}

/// Selects the Secrets in which Helm keeps the revisions of its releases, without those that a newer one replaced.
const HELM_REVISIONS: &str = "owner=helm,status!=superseded,status!=uninstalled";

/// A revision of a Helm release, from the labels of its Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HelmRevision {
    /// Name of the release.
    pub release: String,
    pub revision: u32,
    pub status: String,
    /// The workload that recorded it; empty if Helm or another tool did.
    pub workload: String,
}

impl HelmRevision {
    fn from_secret(secret: &Value) -> Option<Self> {
        let metadata = &secret["metadata"];
        let label = |key: &str| metadata["labels"][key].as_str().unwrap_or_default().to_owned();
        let release = label("name");
        (!release.is_empty()).then(|| Self {
            release,
            revision: label("version").parse().unwrap_or_default(),
            status: label("status"),
            workload: metadata["annotations"][WORKLOAD_ANNOTATION].as_str().unwrap_or_default().to_owned(),
        })
    }
}

/// The objects of one kind, reduced to `T`, by namespace and name.
pub(crate) struct SummaryTable<T> {
    rows: RwLock<BTreeMap<(String, String), T>>,
    state: watch::Sender<CacheState>,
}

impl<T> Default for SummaryTable<T> {
    fn default() -> Self {
        Self { rows: RwLock::default(), state: watch::Sender::new(CacheState::Starting) }
    }
}

impl<T: Clone + PartialEq> SummaryTable<T> {
    /// All rows; `None` if never listed.
    pub fn rows(&self) -> Option<Vec<((String, String), T)>> {
        let rows = self.rows.read();
        let is_listed = self.state.borrow().is_listed();
        is_listed.then(|| rows.iter().map(|(key, row)| (key.clone(), row.clone())).collect())
    }

    /// The row of a cluster-scoped object; `None` if it does not exist or its kind was never listed.
    pub fn row(&self, name: &str) -> Option<T> {
        self.rows.read().get(&(String::new(), name.to_owned())).cloned()
    }

    /// Whether a row of an object in this namespace fulfils a condition.
    fn any_in_namespace(&self, namespace: &str, is_match: impl Fn(&T) -> bool) -> bool {
        let rows = self.rows.read();
        let own =
            rows.range((namespace.to_owned(), String::new())..).take_while(|((own, _), _)| own == namespace);
        own.into_iter().any(|(_, row)| is_match(row))
    }

    /// Handles an event; `reduce` returns the row of an object, or `None` to omit it. Returns whether a row changed.
    fn handle_event(&self, event: WatcherEvent, reduce: impl Fn(&Value) -> Option<T>) -> bool {
        let key = |value: &Value| {
            (text(value, "/metadata/namespace").to_owned(), text(value, "/metadata/name").to_owned())
        };
        let before = self.state.borrow().clone();
        let after = before.after(&event);
        let is_changed = {
            let mut rows = self.rows.write();
            match event {
                WatcherEvent::Listed(values, _) => {
                    let fresh =
                        values.iter().filter_map(|value| Some((key(value), reduce(value)?))).collect();
                    let former = std::mem::replace(&mut *rows, fresh);
                    !before.is_listed() || former != *rows
                }
                WatcherEvent::Upserted(value) => match reduce(&value) {
                    Some(row) => rows.insert(key(&value), row.clone()).as_ref() != Some(&row),
                    None => rows.remove(&key(&value)).is_some(),
                },
                WatcherEvent::Deleted(value) => rows.remove(&key(&value)).is_some(),
                WatcherEvent::ListStarted
                | WatcherEvent::Failing(_)
                | WatcherEvent::Resumed
                | WatcherEvent::NotServed => false,
            }
        };
        if let Some(after) = after {
            self.state.send_replace(after);
        }
        is_changed
    }

    /// Waits until the rows are up to date, the kind is unavailable, or the time limit is reached.
    pub(crate) async fn wait_until_settled(&self) -> CacheState {
        cache_state::wait_until_settled(&self.state).await
    }

    /// Waits for the first response, including an error.
    async fn wait_for_response(&self) {
        // Never fails: the sender lives as long as the table.
        let _ = self.state.subscribe().wait_for(|state| *state != CacheState::Starting).await;
    }
}

/// All observed cluster resources.
#[derive(Default)]
pub(crate) struct ClusterResources {
    /// The nodes.
    pub nodes: SummaryTable<NodeSummary>,
    /// Resource quotas, by namespace and name.
    pub quotas: SummaryTable<Quota>,
    /// Storage classes.
    pub storage_classes: SummaryTable<StorageClassSummary>,
    /// Ingress classes, and whether each is the default.
    pub ingress_classes: SummaryTable<bool>,
    /// Service accounts with pull secrets, by namespace and name.
    pub pull_accounts: SummaryTable<()>,
    /// The revisions of Helm releases that are not superseded, by namespace and name of their Secret.
    pub helm_revisions: SummaryTable<HelmRevision>,
    /// What every HorizontalPodAutoscaler scales, by its namespace and name.
    pub scale_targets: SummaryTable<ScaleTarget>,
    /// Notified when a reported one of them changed.
    pub changed: Notify,
    /// Notified when an autoscaler was created or deleted, or scales something else.
    pub autoscalers_changed: Notify,
}

impl ClusterResources {
    /// Whether an autoscaler of the cluster scales this object, whoever created it. KEDA scales by autoscalers too. One that is about
    /// to be deleted with the objects of the uids `dropped` scales nothing.
    pub fn is_autoscaled(&self, object: &ObjectRef, dropped: &HashSet<String>) -> bool {
        self.scale_targets.any_in_namespace(&object.namespace, |target| {
            target.kind == object.kind && target.name == object.name && !target.is_deleted_with(dropped)
        })
    }

    /// Waits until the autoscalers of the cluster are known: none if the cluster does not serve them or the agent may not list
    /// them. Without them, the replicas that they set would count as drift.
    ///
    /// # Errors
    /// They can't be read at present.
    pub async fn wait_for_autoscalers(&self) -> Result<(), Error> {
        match self.scale_targets.wait_until_settled().await {
            CacheState::Failing(Error::PermissionDenied(_), _) => Ok(()),
            CacheState::Failing(error, _) => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until every kind was listed or rejected once.
    pub async fn wait_for_responses(&self) {
        futures::join!(
            self.nodes.wait_for_response(),
            self.quotas.wait_for_response(),
            self.storage_classes.wait_for_response(),
            self.ingress_classes.wait_for_response(),
            self.pull_accounts.wait_for_response(),
            self.helm_revisions.wait_for_response(),
            self.scale_targets.wait_for_response()
        );
    }
}

/// Watches all cluster resources.
pub(crate) async fn watch_cluster_resources(cluster: Arc<ClusterState>, api: ApiClient) {
    let land = &cluster.resources;
    futures::join!(
        watch_table(
            &api,
            "/api/v1/nodes",
            &land.nodes,
            |node| Some(NodeSummary::from_node(node)),
            &land.changed
        ),
        watch_table(
            &api,
            "/api/v1/resourcequotas",
            &land.quotas,
            |value| Some(parse_quota(value)),
            &land.changed
        ),
        watch_table(&api, "/api/v1/serviceaccounts", &land.pull_accounts, pull_account, &land.changed),
        watch_helm_revisions(&api, land),
        watch_table(
            &api,
            "/apis/autoscaling/v1/horizontalpodautoscalers",
            &land.scale_targets,
            |scaler| Some(ScaleTarget::from_scaler(scaler)),
            &land.autoscalers_changed
        ),
        watch_table(
            &api,
            "/apis/storage.k8s.io/v1/storageclasses",
            &land.storage_classes,
            |class| Some(StorageClassSummary::from_class(class)),
            &land.changed
        ),
        watch_table(
            &api,
            "/apis/networking.k8s.io/v1/ingressclasses",
            &land.ingress_classes,
            is_default_ingress_class,
            &land.changed
        ),
    );
}

/// Reads all nodes once.
///
/// # Errors
/// They can't be listed.
pub(crate) async fn list_nodes(api: &ApiClient) -> Result<Vec<NodeSummary>, Error> {
    let (nodes, _) = watcher::list(api, &WatchTarget::new("/api/v1/nodes".to_owned())).await?;
    Ok(nodes.iter().map(NodeSummary::from_node).collect())
}

/// Watches the Secrets of Helm, if the agent may list Secrets: a rejected list would be one more alert for the audit of the cluster.
async fn watch_helm_revisions(api: &ApiClient, land: &ClusterResources) {
    loop {
        let (error, pause) = match permissions::can_list(api, "secrets").await {
            Ok(false) => (Error::PermissionDenied("list secrets".to_owned()), MAX_BACKOFF),
            // An API server without reviews answers the list itself.
            Ok(true) | Err(Error::ApiMissing(_) | Error::NotFound(_)) => break,
            Err(error) => {
                tracing::debug!(%error, "whether Secrets may be listed is not known; it is asked again");
                (error, FAILED_REVIEW_PAUSE)
            }
        };
        land.helm_revisions.handle_event(WatcherEvent::Failing(error), HelmRevision::from_secret);
        tokio::time::sleep(pause).await;
    }
    let secrets = WatchTarget::new_metadata_only("/api/v1/secrets".to_owned());
    let target = WatchTarget { label_selector: HELM_REVISIONS.to_owned(), ..secrets };
    watch_target(api, target, &land.helm_revisions, HelmRevision::from_secret, &land.changed).await;
}

async fn watch_table<T: Clone + PartialEq + Send + Sync>(
    api: &ApiClient,
    path: &str,
    table: &SummaryTable<T>,
    reduce: impl Fn(&Value) -> Option<T> + Send + Sync,
    changed: &Notify,
) {
    watch_target(api, WatchTarget::new(path.to_owned()), table, reduce, changed).await;
}

async fn watch_target<T: Clone + PartialEq + Send + Sync>(
    api: &ApiClient,
    target: WatchTarget,
    table: &SummaryTable<T>,
    reduce: impl Fn(&Value) -> Option<T> + Send + Sync,
    changed: &Notify,
) {
    let target = WatchTarget { max_backoff: MAX_BACKOFF, ..target };
    watcher::list_and_watch(api.clone(), target, |event| {
        if table.handle_event(event, &reduce) {
            changed.notify_one();
        }
    })
    .await;
}

#[cfg(test)]
mod tests;
