//! Whole workloads, from the files that the browser tests publish: applied, healed, removed without a trace.

use std::path::Path;

use domain::manifest;
use domain::release::Sync;
use domain::report::ReleaseReport;
use domain::workload::{DeletionPolicy, Policies, SourceFile};
use serde_json::{Value, json};

use crate::place::*;

/// The objects of a fixture, in the order of its files.
fn fixture(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let file = |path: &std::path::PathBuf| SourceFile {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    let parsed = manifest::parse(&paths.iter().map(file).collect::<Vec<_>>());
    assert!(parsed.findings.is_empty(), "{:?}", parsed.findings);
    parsed.objects()
}

/// What a real cluster has and these control planes do not: somebody who gives addresses and volumes.
async fn provide(place: &Place) {
    if place.plane().is_none() {
        return;
    }
    for ingress in place.list(("networking.k8s.io/v1", "Ingress")).await {
        let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        let name = ingress["metadata"]["name"].as_str().unwrap();
        place.merge_status(("networking.k8s.io/v1", "Ingress"), name, address).await;
    }
}

async fn lives(place: &Place, objects: &[Value]) -> ReleaseReport {
    place.wants(objects.to_vec(), Policies::default());
    place.until_applied().await;
    provide(place).await;
    place.until_operational().await
}

async fn goes(place: &Place, objects: &[Value]) {
    place.wants_nothing(DeletionPolicy::Foreground);
    let report = place.until_gone().await;
    assert_eq!(report.sync, Sync::Removed);
    assert!(place.record().await.is_none());
    for object in objects {
        let kind = (text(object, "apiVersion"), text(object, "kind"));
        let name = object["metadata"]["name"].as_str().unwrap();
        assert!(kind.1 == "Lighthouse" || place.get(kind, name).await.is_none(), "{kind:?} {name} is left");
    }
    for kind in [POD, ("apps/v1", "ReplicaSet"), ("batch/v1", "Job")] {
        assert!(place.list(kind).await.is_empty(), "{kind:?} are left");
    }
}

fn text(object: &Value, field: &str) -> &'static str {
    object[field].as_str().unwrap().to_owned().leak()
}

pub async fn s0_9_the_shop_of_three_tiers_lives_heals_and_goes_without_a_trace(place: Place) {
    let objects = fixture("three-tier");
    let report = lives(&place, &objects).await;
    assert!(report.resources.iter().all(|resource| resource.applied));
    let recorded = async || place.record().await.is_some_and(|record| record["spec"]["state"] == "Applied");
    place.eventually("recorded", recorded).await;
    let before = place.get(DEPLOYMENT, "api").await.unwrap()["metadata"]["uid"].clone();
    if place.kubectl(&["delete", "deployment", "api"]).await.is_none() {
        place.delete(DEPLOYMENT, "api").await;
    }
    let healed = async || {
        let live = place.get(DEPLOYMENT, "api").await;
        live.is_some_and(|live| live["metadata"]["uid"] != before && live["status"]["availableReplicas"] == 2)
    };
    place.eventually("healed", healed).await;
    place.until_operational().await;
    assert_eq!(place.agent.drift()[0].object.name, "api");
    goes(&place, &objects).await;
}

pub async fn s3_8_kubectl_shows_state_workload_revision_and_age_of_a_release(place: Place) {
    place.wants(vec![config_map("held", "1")], Policies::default());
    place.until_operational().await;
    let recorded = async || place.record().await.is_some_and(|record| record["spec"]["state"] == "Applied");
    place.eventually("recorded", recorded).await;
    let name = place.record().await.unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
    let row = async || -> Option<(Vec<String>, Vec<String>)> {
        let table = place.kubectl(&["get", "appliedreleases", &name]).await?;
        let mut rows = table.lines().map(|row| row.split_whitespace().map(String::from).collect());
        Some((rows.next()?, rows.next()?))
    };
    let Some((head, values)) = row().await else { return };
    assert_eq!(head, ["NAME", "STATE", "WORKLOAD", "REVISION", "AGE"]);
    assert_eq!(values[1..4], ["Applied", "shop", "1"]);
    let hold = |finalizers| json!({"metadata": {"finalizers": finalizers}});
    place.merge(CONFIG_MAP, "held", hold(json!(["example.com/hold"])), "kubectl-edit").await;
    place.wants_nothing(DeletionPolicy::Foreground);
    place.until("going", |report| report.sync == Sync::Removing).await;
    place.eventually("told", async || row().await.is_some_and(|(_, values)| values[1] == "Removing")).await;
    place.merge(CONFIG_MAP, "held", hold(json!(null)), "kubectl-edit").await;
    place.until_gone().await;
}

pub async fn ten_services_live_and_go(place: Place) {
    let objects = fixture("ten-services");
    lives(&place, &objects).await;
    goes(&place, &objects).await;
}

pub async fn a_definition_and_its_object_live_and_go(place: Place) {
    let objects = fixture("crd");
    place.wants(objects.clone(), Policies::default());
    place.until_applied().await;
    let lamp = objects.iter().find(|object| object["kind"] == "Lighthouse").unwrap();
    let kind = (text(lamp, "apiVersion"), "Lighthouse");
    let name = lamp["metadata"]["name"].as_str().unwrap();
    place.merge_status(kind, name, json!({"conditions": [{"type": "Ready", "status": "True"}]})).await;
    place.until_operational().await;
    goes(&place, &objects).await;
}

pub async fn a_stateful_queue_lives_and_goes(place: Place) {
    let objects = fixture("stateful");
    if place.plane().is_some() {
        for number in 0..3 {
            let claim = json!({"namespace": place.namespace, "name": format!("data-queue-{number}")});
            let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
                "metadata": {"name": format!("queue-{number}")},
                "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "claimRef": claim,
                    "hostPath": {"path": "/nowhere"}}});
            place.create(volume, "test").await;
        }
    }
    lives(&place, &objects).await;
    assert_eq!(place.list(("v1", "PersistentVolumeClaim")).await.len(), 3);
    goes(&place, &objects).await;
    let kept = place.list(("v1", "PersistentVolumeClaim")).await.len();
    assert_eq!(kept, 3, "data outlives the workload, as Kubernetes has it");
}

pub async fn jobs_live_and_go(place: Place) {
    let objects = fixture("jobs");
    lives(&place, &objects).await;
    goes(&place, &objects).await;
}
