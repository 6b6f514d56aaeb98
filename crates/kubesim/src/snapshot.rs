//! A cluster's objects as JSON, so that the demo's clusters survive a restart.

use serde_json::{Value, json};

use crate::cluster::{SimCluster, SimOptions};
use crate::object::{self, array_at, i64_at, str_at};
use crate::store;

impl SimCluster {
    /// All objects of the cluster. Faults and counters are not included.
    pub fn snapshot(&self) -> Value {
        let served = self.sim.kinds.served();
        let kinds = served.kinds.iter();
        let objects: Vec<Value> =
            kinds.flat_map(|k| self.sim.store.list(k.id, None).0).map(|o| o.value.clone()).collect();
        json!({"resourceVersion": self.resource_version(), "objects": objects})
    }

    /// A cluster with the objects of a snapshot; objects of kinds that are not served are skipped.
    ///
    /// Must be called on a tokio runtime. Watches cannot resume from before the restore: they get 410 and list again.
    pub fn restore(options: SimOptions, snapshot: &Value) -> SimCluster {
        let (cluster, feed) = SimCluster::without_objects(options);
        let sim = &cluster.sim;
        sim.store.raise_version(
            i64_at(snapshot, "resourceVersion").and_then(|v| u64::try_from(v).ok()).unwrap_or(1),
        );
        let objects = array_at(snapshot, "objects");
        let is_definition = |o: &&Value| str_at(o, "kind") == "CustomResourceDefinition";
        for definition in objects.iter().filter(is_definition) {
            sim.kinds.register(definition);
        }
        let served = sim.kinds.served();
        for object in objects {
            let Some((kind, _)) = served.find_version(str_at(object, "apiVersion"), str_at(object, "kind"))
            else {
                continue;
            };
            let key = store::object_key(object::namespace(object), object::name(object));
            // On duplicate keys in a snapshot the first object wins.
            let _ = sim.store.commit(kind.id, &key, None, Some(object.clone()));
        }
        // Addresses and ports that are already allocated must not be allocated again.
        for _ in objects {
            sim.next_serial();
        }
        sim.store.compact();
        cluster.start_controllers(feed);
        cluster
    }
}
