//! Copies of labels: an operator copies those of a published object to objects of its own, which stay when the workload is removed.

use std::time::Duration;

use domain::workload::DeletionPolicy;
use engine::RELEASE_LABEL;
use serde_json::{Value, json};

use super::objects::objects;
use super::{Kind, Life, namespace_of};
use crate::harness::*;

const CLAIM: Kind = ("v1", "PersistentVolumeClaim");

impl Life {
    /// An operator copies the labels and annotations of an object to one of its own: in turn a Namespace, a claim and a ConfigMap.
    pub(super) fn copy(&mut self) {
        let name = format!("copy-{}", self.copies);
        let settings = self.cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
        let metadata = &settings["metadata"];
        assert!(metadata["labels"][RELEASE_LABEL].is_string());
        let (kind, mut copy) = match self.copies % 3 {
            0 => (NAMESPACE, json!({})),
            1 => (
                CLAIM,
                json!({"spec": {"accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}}}}),
            ),
            _ => (CONFIG_MAP, json!({"data": settings["data"]})),
        };
        self.copies += 1;
        (copy["apiVersion"], copy["kind"]) = (kind.0.into(), kind.1.into());
        copy["metadata"] =
            json!({"name": name, "labels": metadata["labels"], "annotations": metadata["annotations"]});
        if !namespace_of(kind).is_empty() {
            copy["metadata"]["namespace"] = namespace_of(kind).into();
        }
        let created = self.cluster.create(copy, "operator").unwrap();
        self.foreign.push((kind, name, created));
    }

    /// The workload is removed: what was published goes, and what others have stays, copies of its labels too.
    pub(super) async fn leave(mut self) {
        for _ in 0..3 {
            self.assert_no_write("a copy of an object", Self::copy).await;
        }
        let generation = self.input.desired.generation;
        let published = objects(generation);
        let absent = absent_input(1, generation + 1, DeletionPolicy::Foreground);
        self.agent.engine.set_desired(vec![absent]);
        let started_at = tokio::time::Instant::now();
        while !self.agent.report(release_id(1)).is_some_and(|report| report.removed) {
            let report = self.agent.report(release_id(1));
            assert!(started_at.elapsed() < TIMEOUT * 60, "not removed: {report:#?}");
            self.drop_finalizers(&published);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(QUIET_TIME).await;
        for object in &published {
            assert_eq!(self.live(object), None, "a removal leaves nothing of the workload");
        }
        for (kind, name, object) in &self.foreign {
            let live = self.cluster.get(*kind, (namespace_of(*kind), name));
            assert_eq!(live.as_ref(), Some(object), "a removal touches nothing of others");
        }
        self.agent.stop().await;
    }

    /// The published object on the cluster.
    fn live(&self, object: &Value) -> Option<Value> {
        let metadata = &object["metadata"];
        self.cluster.get(
            (text(&object["apiVersion"]), text(&object["kind"])),
            (text(&metadata["namespace"]), text(&metadata["name"])),
        )
    }

    /// Lets those published objects go that are being deleted, as the controllers do whose finalizers they have.
    fn drop_finalizers(&self, published: &[Value]) {
        for object in published {
            let Some(live) = self.live(object) else { continue };
            if !live["metadata"]["deletionTimestamp"].is_string() {
                continue;
            }
            let kind = (text(&object["apiVersion"]), text(&object["kind"]));
            let name = (text(&live["metadata"]["namespace"]), text(&live["metadata"]["name"]));
            let drop_all = |live: &mut Value| {
                live["metadata"].as_object_mut().unwrap().remove("finalizers");
            };
            self.cluster.edit(kind, name, "operator", drop_all).unwrap();
        }
    }
}

/// The text of a field; empty if it is absent.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
