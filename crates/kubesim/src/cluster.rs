//! One simulated cluster: its parts, its start and its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::clock::Clock;
use crate::faults::Faults;
use crate::kinds::{Kind, Kinds};
use crate::stats::{Counters, Stats};
use crate::status::{Answer, Refusal};
use crate::store::Store;
use crate::verbs::{self, Target, Write};
use crate::{clockwork, object};

/// How a cluster is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the cluster; prefixes its nodes.
    pub name: String,
    /// What `/version` answers, like `v1.33.4`.
    pub version: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Labels every node carries in addition.
    pub node_labels: Vec<(String, String)>,
    /// Time from a pod's creation until it is ready; each pod differs by up to a fifth.
    pub pod_start: Duration,
    /// How long a Job's pod runs.
    pub job_run: Duration,
    /// Changes kept per kind for watches that resume.
    pub history: usize,
    /// Whether controllers, scheduler and kubelets act at all.
    pub clockwork: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            name: "sim".into(),
            version: "v1.33.4".into(),
            nodes: 3,
            node_labels: Vec::new(),
            pod_start: Duration::from_millis(300),
            job_run: Duration::from_millis(500),
            history: 10_000,
            clockwork: true,
        }
    }
}

/// A running cluster. Clones share it; its clockwork stops with the last one.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub(crate) sim: Arc<Sim>,
}

/// The parts.
#[derive(Debug)]
pub(crate) struct Sim {
    pub options: Options,
    pub kinds: Kinds,
    pub store: Store,
    pub faults: Faults,
    pub counters: Counters,
    pub clock: Clock,
    pub closing: watch::Sender<bool>,
    serial: AtomicU32,
}

impl Sim {
    /// A built-in kind.
    pub(crate) fn builtin(&self, group: &str, kind: &str) -> Option<Arc<Kind>> {
        self.kinds.served().find(group, kind)
    }

    /// The next of the numbers that addresses and ports are made of.
    pub(crate) fn next(&self) -> u32 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }
}

impl Cluster {
    /// Starts a cluster with its default namespaces and nodes.
    ///
    /// Must be called on a tokio runtime, which then also runs its clockwork.
    pub fn new(options: Options) -> Cluster {
        let (cluster, feed) = Cluster::empty(options);
        seed(&cluster.sim);
        cluster.wind_up(feed);
        cluster
    }

    pub(crate) fn empty(options: Options) -> (Cluster, mpsc::UnboundedReceiver<Arc<crate::store::Change>>) {
        let (sender, feed) = mpsc::unbounded_channel();
        let sim = Sim {
            store: Store::new(options.history, sender),
            options,
            kinds: Kinds::builtin(),
            faults: Faults::new(),
            counters: Counters::default(),
            clock: Clock::start(),
            closing: watch::Sender::new(false),
            serial: AtomicU32::new(10),
        };
        (Cluster { sim: Arc::new(sim) }, feed)
    }

    pub(crate) fn wind_up(&self, feed: mpsc::UnboundedReceiver<Arc<crate::store::Change>>) {
        let on = self.sim.options.clockwork;
        tokio::spawn(clockwork::run(Arc::downgrade(&self.sim), feed, on));
    }

    /// The cluster's name.
    pub fn name(&self) -> &str {
        &self.sim.options.name
    }

    /// What can be made to go wrong.
    pub fn faults(&self) -> &Faults {
        &self.sim.faults
    }

    /// The counters.
    pub fn stats(&self) -> Stats {
        self.sim.counters.read()
    }

    /// The version of the latest write.
    pub fn resource_version(&self) -> u64 {
        self.sim.store.version()
    }

    /// Forgets the history, as etcd's compaction does: a watch from an older version is refused with 410.
    pub fn compact(&self) {
        self.sim.store.compact();
    }

    /// Ends all watches cleanly.
    pub fn end_watches(&self) {
        self.sim.closing.send_replace(true);
        self.sim.closing.send_replace(false);
    }

    /// Edits an object as somebody else: the change is recorded for `manager` like a `kubectl edit`.
    /// `namespace` is "" for cluster-wide kinds. Answers the object afterwards.
    ///
    /// # Errors
    /// [`Problem`](crate::Problem) if there is no such kind or object, or the change is refused.
    pub fn touch(
        &self,
        (api_version, kind): (&str, &str),
        (namespace, name): (&str, &str),
        manager: &str,
        edit: impl Fn(&mut Value),
    ) -> Result<Value, crate::Problem> {
        let target = self.target(api_version, kind, namespace, name)?;
        let write = Write { manager, ..Write::default() };
        let done = verbs::update::edit(&self.sim, &target, &write, |object| {
            edit(object);
            Ok(())
        })?;
        Ok(done.value.clone())
    }

    /// Deletes an object, in the background with what it owns.
    ///
    /// # Errors
    /// [`Problem`](crate::Problem) if there is no such kind or object.
    pub fn delete(
        &self,
        (api_version, kind): (&str, &str),
        (namespace, name): (&str, &str),
    ) -> Result<(), crate::Problem> {
        let target = self.target(api_version, kind, namespace, name)?;
        let options = json!({"propagationPolicy": "Background"});
        verbs::delete::delete(&self.sim, &target, &options, false)?;
        Ok(())
    }

    /// Creates an object as `manager`.
    ///
    /// # Errors
    /// [`Problem`](crate::Problem) if the kind is not served or the object is refused.
    pub fn create(&self, object: Value, manager: &str) -> Result<Value, crate::Problem> {
        let (version, kind) = (object::text(&object, "apiVersion"), object::text(&object, "kind"));
        let target = self.target(version, kind, object::namespace(&object), "")?;
        let write = Write { manager, ..Write::default() };
        Ok(verbs::create::create(&self.sim, &target, object, &write)?.object.value.clone())
    }

    /// Reads an object.
    pub fn get(&self, (api_version, kind): (&str, &str), (namespace, name): (&str, &str)) -> Option<Value> {
        let target = self.target(api_version, kind, namespace, name).ok()?;
        let found = self.sim.store.get(target.kind.id, &target.key())?;
        Some(crate::convert::outward(&target.kind, target.version, &found).value.clone())
    }

    /// All objects of a kind in one namespace, or in all.
    pub fn list(&self, (api_version, kind): (&str, &str), namespace: Option<&str>) -> Vec<Value> {
        let Some((kind, _)) = self.sim.kinds.served().of(api_version, kind) else { return Vec::new() };
        self.sim.store.list(kind.id, namespace).0.iter().map(|o| o.value.clone()).collect()
    }

    fn target(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Answer<Target> {
        let (kind, version) =
            self.sim.kinds.served().of(api_version, kind).ok_or_else(Refusal::no_such_path)?;
        let namespace = if kind.namespaced { namespace } else { "" };
        Ok(Target { kind, version, namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

/// Namespaces, nodes and the few objects every cluster has from its start.
fn seed(sim: &Sim) {
    let put = |object: Value| {
        let served = sim.kinds.served();
        let (version, kind) = (object::text(&object, "apiVersion"), object::text(&object, "kind"));
        let Some((kind, version)) = served.of(version, kind) else { return };
        let namespace = object::namespace(&object).to_owned();
        let target = Target { kind, version, namespace, name: String::new() };
        let write = Write { manager: "kube-apiserver", ..Write::default() };
        if let Err(refusal) = verbs::create::create(sim, &target, object, &write) {
            tracing::warn!(cluster = sim.options.name, message = refusal.message, "seed object refused");
        }
    };
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }
    for number in 0..sim.options.nodes {
        put(clockwork::node::manifest(sim, number));
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
