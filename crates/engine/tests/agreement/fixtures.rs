//! Complete workloads from the fixtures of the browser tests: applied, healed, removed.

use std::path::Path;

use domain::manifest;
use domain::release::SyncStatus;
use domain::report::ReleaseReport;
use domain::workload::{DeletionPolicy, Policies, SourceFile};
use serde_json::{Value, json};

use crate::test_env::*;

/// The objects of a fixture, in the order of its files.
fn read_fixture(name: &str) -> Vec<Value> {
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

/// Sets the addresses of ingresses, which the test control planes have no controller for.
async fn set_ingress_addresses(env: &TestEnv) {
    if env.control_plane().is_none() {
        return;
    }
    for ingress in env.list(("networking.k8s.io/v1", "Ingress")).await {
        let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        let name = ingress["metadata"]["name"].as_str().unwrap();
        env.merge_patch_status(("networking.k8s.io/v1", "Ingress"), name, address).await;
    }
}

async fn apply_fixture(env: &TestEnv, objects: &[Value]) -> ReleaseReport {
    env.set_present(objects.to_vec(), Policies::default());
    env.until_applied().await;
    set_ingress_addresses(env).await;
    env.until_operational().await
}

async fn remove_fixture(env: &TestEnv, objects: &[Value]) {
    env.set_absent(DeletionPolicy::Foreground);
    let report = env.until_gone().await;
    assert_eq!(report.sync, SyncStatus::Removed);
    assert!(env.record().await.is_none());
    for object in objects {
        let kind = (text(object, "apiVersion"), text(object, "kind"));
        let name = object["metadata"]["name"].as_str().unwrap();
        assert!(
            kind.1 == "Lighthouse" || env.get(kind, name).await.is_none(),
            "{kind:?} {name} still exists"
        );
    }
    for kind in [POD, ("apps/v1", "ReplicaSet"), ("batch/v1", "Job")] {
        assert!(env.list(kind).await.is_empty(), "{kind:?} still exist");
    }
}

fn text(object: &Value, field: &str) -> &'static str {
    object[field].as_str().unwrap().to_owned().leak()
}

pub async fn s0_9_a_three_tier_shop_is_applied_healed_and_removed(env: TestEnv) {
    let objects = read_fixture("three-tier");
    let report = apply_fixture(&env, &objects).await;
    assert!(report.resources.iter().all(|resource| resource.applied));
    let is_recorded = async || env.record().await.is_some_and(|record| record["spec"]["state"] == "Applied");
    env.wait_until("recorded", is_recorded).await;
    let before = env.get(DEPLOYMENT, "api").await.unwrap()["metadata"]["uid"].clone();
    if env.kubectl(&["delete", "deployment", "api"]).await.is_none() {
        env.delete(DEPLOYMENT, "api").await;
    }
    let is_healed = async || {
        let live = env.get(DEPLOYMENT, "api").await;
        live.is_some_and(|live| live["metadata"]["uid"] != before && live["status"]["availableReplicas"] == 2)
    };
    env.wait_until("healed", is_healed).await;
    env.until_operational().await;
    assert_eq!(env.agent.drift()[0].object.name, "api");
    remove_fixture(&env, &objects).await;
}

pub async fn s3_8_kubectl_shows_state_workload_revision_and_age_of_a_release(env: TestEnv) {
    env.set_present(vec![config_map("blocked", "1")], Policies::default());
    env.until_operational().await;
    let is_recorded = async || env.record().await.is_some_and(|record| record["spec"]["state"] == "Applied");
    env.wait_until("recorded", is_recorded).await;
    let name = env.record().await.unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
    let row = async || -> Option<(Vec<String>, Vec<String>)> {
        let table = env.kubectl(&["get", "appliedreleases", &name]).await?;
        let mut rows = table.lines().map(|row| row.split_whitespace().map(String::from).collect());
        Some((rows.next()?, rows.next()?))
    };
    let Some((header, values)) = row().await else { return };
    assert_eq!(header, ["NAME", "STATE", "WORKLOAD", "REVISION", "AGE"]);
    assert_eq!(values[1..4], ["Applied", "shop", "1"]);
    let with_finalizers = |finalizers| json!({"metadata": {"finalizers": finalizers}});
    env.merge_patch(CONFIG_MAP, "blocked", with_finalizers(json!(["example.com/hold"])), "kubectl-edit")
        .await;
    env.set_absent(DeletionPolicy::Foreground);
    env.wait_for_report("removing", |report| report.sync == SyncStatus::Removing).await;
    env.wait_until("shown", async || row().await.is_some_and(|(_, values)| values[1] == "Removing")).await;
    env.merge_patch(CONFIG_MAP, "blocked", with_finalizers(json!(null)), "kubectl-edit").await;
    env.until_gone().await;
}

pub async fn ten_services_are_applied_and_removed(env: TestEnv) {
    let objects = read_fixture("ten-services");
    apply_fixture(&env, &objects).await;
    remove_fixture(&env, &objects).await;
}

pub async fn a_definition_and_its_object_are_applied_and_removed(env: TestEnv) {
    let objects = read_fixture("crd");
    env.set_present(objects.clone(), Policies::default());
    env.until_applied().await;
    let object = objects.iter().find(|object| object["kind"] == "Lighthouse").unwrap();
    let kind = (text(object, "apiVersion"), "Lighthouse");
    let name = object["metadata"]["name"].as_str().unwrap();
    env.merge_patch_status(kind, name, json!({"conditions": [{"type": "Ready", "status": "True"}]})).await;
    env.until_operational().await;
    remove_fixture(&env, &objects).await;
}

pub async fn a_stateful_queue_is_applied_and_removed(env: TestEnv) {
    let objects = read_fixture("stateful");
    if env.control_plane().is_some() {
        for number in 0..3 {
            let claim = json!({"namespace": env.namespace, "name": format!("data-queue-{number}")});
            let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
                "metadata": {"name": format!("queue-{number}")},
                "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "claimRef": claim,
                    "hostPath": {"path": "/nowhere"}}});
            env.create(volume, "test").await;
        }
    }
    apply_fixture(&env, &objects).await;
    assert_eq!(env.list(("v1", "PersistentVolumeClaim")).await.len(), 3);
    remove_fixture(&env, &objects).await;
    let claims = env.list(("v1", "PersistentVolumeClaim")).await.len();
    assert_eq!(claims, 3, "claims of a StatefulSet outlive it, as in Kubernetes");
}

pub async fn jobs_are_applied_and_removed(env: TestEnv) {
    let objects = read_fixture("jobs");
    apply_fixture(&env, &objects).await;
    remove_fixture(&env, &objects).await;
}
