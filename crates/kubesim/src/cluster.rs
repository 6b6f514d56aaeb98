//! One simulated cluster: options, state and the direct (non-HTTP) operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::clock::SimClock;
use crate::faults::Faults;
use crate::kinds::{KindRegistry, ResourceKind};
use crate::stats::{Counters, Stats};
use crate::status::{ApiResult, StatusError};
use crate::store::ObjectStore;
use crate::verbs::{self, ResourcePath, WriteOptions};
use crate::{controllers, object};

/// Options of a simulated cluster.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Name of the cluster; prefix of its node names.
    pub name: String,
    /// The `gitVersion` of `/version`, like `v1.33.4`.
    pub version: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Additional labels of every node.
    pub node_labels: Vec<(String, String)>,
    /// Time from a pod's creation until it is ready; varies per pod by up to 20 %.
    pub pod_start: Duration,
    /// Run time of a Job's pod.
    pub job_run: Duration,
    /// Changes retained per kind for watches that resume.
    pub history_limit: usize,
    /// Whether controllers, scheduler and kubelets run.
    pub run_controllers: bool,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions {
            name: "sim".into(),
            version: "v1.33.4".into(),
            nodes: 3,
            node_labels: Vec::new(),
            pod_start: Duration::from_millis(300),
            job_run: Duration::from_millis(500),
            history_limit: 10_000,
            run_controllers: true,
        }
    }
}

/// A running cluster. Clones share its state; its controllers stop when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct SimCluster {
    pub(crate) sim: Arc<SimState>,
}

/// The shared state of one cluster.
#[derive(Debug)]
pub(crate) struct SimState {
    pub options: SimOptions,
    /// The `gitVersion` of `/version`.
    pub version: Mutex<String>,
    pub kinds: KindRegistry,
    pub store: ObjectStore,
    pub faults: Faults,
    pub counters: Counters,
    pub clock: SimClock,
    pub close_watches: watch::Sender<bool>,
    serial: AtomicU32,
}

impl SimState {
    /// A built-in kind.
    pub(crate) fn builtin_kind(&self, group: &str, kind: &str) -> Option<Arc<ResourceKind>> {
        self.kinds.served().find(group, kind)
    }

    /// The next serial number; addresses and ports are derived from it.
    pub(crate) fn next_serial(&self) -> u32 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }
}

impl SimCluster {
    /// Starts a cluster with its default namespaces and nodes.
    ///
    /// Must be called on a tokio runtime, which also runs its controllers.
    pub fn new(options: SimOptions) -> SimCluster {
        let (cluster, feed) = SimCluster::without_objects(options);
        create_initial_objects(&cluster.sim);
        cluster.start_controllers(feed);
        cluster
    }

    pub(crate) fn without_objects(
        options: SimOptions,
    ) -> (SimCluster, mpsc::UnboundedReceiver<Arc<crate::store::ObjectChange>>) {
        let (sender, feed) = mpsc::unbounded_channel();
        let sim = SimState {
            store: ObjectStore::new(options.history_limit, sender),
            version: Mutex::new(options.version.clone()),
            options,
            kinds: KindRegistry::builtin(),
            faults: Faults::new(),
            counters: Counters::default(),
            clock: SimClock::new(),
            close_watches: watch::Sender::new(false),
            serial: AtomicU32::new(10),
        };
        (SimCluster { sim: Arc::new(sim) }, feed)
    }

    pub(crate) fn start_controllers(&self, feed: mpsc::UnboundedReceiver<Arc<crate::store::ObjectChange>>) {
        let on = self.sim.options.run_controllers;
        tokio::spawn(controllers::run_controllers(Arc::downgrade(&self.sim), feed, on));
    }

    /// The cluster's name.
    pub fn name(&self) -> &str {
        &self.sim.options.name
    }

    /// Fault injection for this cluster.
    pub fn faults(&self) -> &Faults {
        &self.sim.faults
    }

    /// The counters.
    pub fn stats(&self) -> Stats {
        self.sim.counters.snapshot()
    }

    /// Replaces the API server by one of this version: its watches end, and none resumes from before.
    pub fn upgrade(&self, version: &str) {
        *self.sim.version.lock() = version.to_owned();
        self.compact();
        self.sim.faults.disconnect_watches();
    }

    /// The resource version of the latest write.
    pub fn resource_version(&self) -> u64 {
        self.sim.store.resource_version()
    }

    /// Calls a function for every later write of clients and controllers, in commit order, while the store is locked: it must
    /// not call this cluster. Only the first call of this has an effect.
    pub fn observe_changes(&self, observer: impl Fn(crate::ObservedChange<'_>) + Send + Sync + 'static) {
        self.sim.store.observe(observer);
    }

    /// Drops the history, as etcd's compaction does: a watch from an older version fails with 410.
    pub fn compact(&self) {
        self.sim.store.compact();
    }

    /// Ends all watches cleanly.
    pub fn close_watches(&self) {
        self.sim.close_watches.send_replace(true);
        self.sim.close_watches.send_replace(false);
    }

    /// Edits an object; the change is recorded for the field manager `manager`, as by `kubectl edit`.
    /// `namespace` is "" for cluster-scoped kinds. Returns the changed object.
    ///
    /// # Errors
    /// [`SimError`](crate::SimError) if there is no such kind or object, or the change is rejected.
    pub fn edit(
        &self,
        (api_version, kind): (&str, &str),
        (namespace, name): (&str, &str),
        manager: &str,
        edit: impl Fn(&mut Value),
    ) -> Result<Value, crate::SimError> {
        let target = self.resource_path(api_version, kind, namespace, name)?;
        let write = WriteOptions { manager, ..WriteOptions::default() };
        let done = verbs::update::edit_object(&self.sim, &target, &write, |object| {
            edit(object);
            Ok(())
        })?;
        Ok(done.value.clone())
    }

    /// Sets the number of replicas through the subresource `scale`; the change is recorded for the field manager `manager`.
    ///
    /// # Errors
    /// [`SimError`](crate::SimError) if there is no such kind or object, or the kind has no such subresource.
    pub fn scale(
        &self,
        (api_version, kind): (&str, &str),
        (namespace, name): (&str, &str),
        manager: &str,
        replicas: u64,
    ) -> Result<(), crate::SimError> {
        let target = self.resource_path(api_version, kind, namespace, name)?;
        let write = WriteOptions { manager, ..WriteOptions::default() };
        verbs::subresource::update_scale(&self.sim, &target, &write, |scale| {
            scale["spec"]["replicas"] = replicas.into();
            Ok(())
        })?;
        Ok(())
    }

    /// Deletes an object with background propagation.
    ///
    /// # Errors
    /// [`SimError`](crate::SimError) if there is no such kind or object.
    pub fn delete(
        &self,
        (api_version, kind): (&str, &str),
        (namespace, name): (&str, &str),
    ) -> Result<(), crate::SimError> {
        let target = self.resource_path(api_version, kind, namespace, name)?;
        let options = json!({"propagationPolicy": "Background"});
        verbs::delete::delete_object(&self.sim, &target, &options, false)?;
        Ok(())
    }

    /// Creates an object as `manager`.
    ///
    /// # Errors
    /// [`SimError`](crate::SimError) if the kind is not served or the object is rejected.
    pub fn create(&self, object: Value, manager: &str) -> Result<Value, crate::SimError> {
        let (version, kind) = (object::str_at(&object, "apiVersion"), object::str_at(&object, "kind"));
        let target = self.resource_path(version, kind, object::namespace(&object), "")?;
        let write = WriteOptions { manager, ..WriteOptions::default() };
        Ok(verbs::create::create_object(&self.sim, &target, object, &write)?.object.value.clone())
    }

    /// Reads an object.
    pub fn get(&self, (api_version, kind): (&str, &str), (namespace, name): (&str, &str)) -> Option<Value> {
        let target = self.resource_path(api_version, kind, namespace, name).ok()?;
        let found = self.sim.store.get(target.kind.id, &target.key())?;
        Some(crate::convert::convert_from_storage(&target.kind, target.version, &found).value.clone())
    }

    /// All objects of a kind in one namespace, or in all.
    pub fn list(&self, (api_version, kind): (&str, &str), namespace: Option<&str>) -> Vec<Value> {
        let Some((kind, _)) = self.sim.kinds.served().find_version(api_version, kind) else {
            return Vec::new();
        };
        self.sim.store.list(kind.id, namespace).0.iter().map(|o| o.value.clone()).collect()
    }

    fn resource_path(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> ApiResult<ResourcePath> {
        let (kind, version) = self
            .sim
            .kinds
            .served()
            .find_version(api_version, kind)
            .ok_or_else(StatusError::path_not_found)?;
        let namespace = if kind.namespaced { namespace } else { "" };
        Ok(ResourcePath { kind, version, namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

/// Creates the namespaces, nodes and other objects that every cluster has at start.
fn create_initial_objects(sim: &SimState) {
    let put = |object: Value| {
        let served = sim.kinds.served();
        let (version, kind) = (object::str_at(&object, "apiVersion"), object::str_at(&object, "kind"));
        let Some((kind, version)) = served.find_version(version, kind) else { return };
        let namespace = object::namespace(&object).to_owned();
        let target = ResourcePath { kind, version, namespace, name: String::new() };
        let write = WriteOptions { manager: "kube-apiserver", ..WriteOptions::default() };
        if let Err(refusal) = verbs::create::create_object(sim, &target, object, &write) {
            tracing::warn!(
                cluster = sim.options.name,
                message = refusal.message,
                "the initial object was rejected"
            );
        }
    };
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }
    for number in 0..sim.options.nodes {
        put(controllers::node::node_manifest(sim, number));
    }
    put(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "sim.kubernetes.io/local", "reclaimPolicy": "Delete",
    }));
    put(json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.96.0.1",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    }));
    for (name, value) in [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)]
    {
        put(json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value,
        }));
    }
}
