//! A cluster's objects as JSON, so that a demo's clusters survive a restart.

use serde_json::{Value, json};

use crate::cluster::{Cluster, Options};
use crate::object::{self, int, list, text};
use crate::store;

impl Cluster {
    /// Everything in the cluster. Faults and counters are not part of it.
    pub fn snapshot(&self) -> Value {
        let served = self.sim.kinds.served();
        let kinds = served.kinds.iter();
        let objects: Vec<Value> =
            kinds.flat_map(|k| self.sim.store.list(k.id, None).0).map(|o| o.value.clone()).collect();
        json!({"resourceVersion": self.resource_version(), "objects": objects})
    }

    /// A cluster with the objects of a snapshot; what is unreadable in it is left out.
    ///
    /// Must be called on a tokio runtime. Watches cannot resume from before the restore: they meet 410 and list.
    pub fn restore(options: Options, snapshot: &Value) -> Cluster {
        let (cluster, feed) = Cluster::empty(options);
        let sim = &cluster.sim;
        sim.store
            .resume_at(int(snapshot, "resourceVersion").and_then(|v| u64::try_from(v).ok()).unwrap_or(1));
        let objects = list(snapshot, "objects");
        let is_definition = |o: &&Value| text(o, "kind") == "CustomResourceDefinition";
        for definition in objects.iter().filter(is_definition) {
            sim.kinds.define(definition);
        }
        let served = sim.kinds.served();
        for object in objects {
            let Some((kind, _)) = served.of(text(object, "apiVersion"), text(object, "kind")) else {
                continue;
            };
            let key = store::key(object::namespace(object), object::name(object));
            // Two objects of one key in a snapshot: the first stays.
            let _ = sim.store.commit(kind.id, &key, None, Some(object.clone()));
        }
        // Addresses and ports already given out are not given again.
        for _ in objects {
            sim.next();
        }
        sim.store.compact();
        cluster.wind_up(feed);
        cluster
    }
}
