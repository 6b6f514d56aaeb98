//! Tests of the public API against real control planes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use testkit::{ControlPlane, ControlPlaneOptions, PodFault, is_available};
use tokio::sync::OnceCell;
use tokio::time::Instant;

const WAIT_TIMEOUT: Duration = testkit::patience();

async fn shared_control_plane() -> &'static ControlPlane {
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    SHARED.get_or_init(|| ControlPlane::start(ControlPlaneOptions::with_workloads())).await
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": "1"}})).unwrap()
}

fn deployment(name: &str, ailment: Option<PodFault>) -> Deployment {
    let annotations: Value = ailment.into_iter().flat_map(PodFault::annotations).collect();
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": {
        "replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}, "annotations": annotations},
            "spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}}}))
    .unwrap()
}

/// Waits for a pod for which `ok` holds.
async fn wait_for_pod(api: &Api<Pod>, what: &str, ok: impl Fn(&Value) -> bool) {
    let started = Instant::now();
    loop {
        let pods = api.list(&ListParams::default()).await.unwrap();
        let pods = serde_json::to_value(pods.items).unwrap();
        if pods.as_array().unwrap().iter().any(&ok) {
            return;
        }
        assert!(started.elapsed() < WAIT_TIMEOUT, "no pod is {what}: {pods:#}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Number of processes with this text on their command line.
fn count_processes(text: &str) -> usize {
    let output = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains(text)).count()
}

#[tokio::test]
async fn a_restarted_api_server_keeps_its_data_and_port() {
    if !is_available("a_restarted_api_server_keeps_its_data_and_port") {
        return;
    }
    let plane = ControlPlane::start(ControlPlaneOptions::default()).await;
    let api: Api<ConfigMap> = Api::namespaced(plane.client(), "default");
    api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    plane.kill_api_server();
    assert!(api.get("a").await.is_err(), "a stopped API server sends no response");
    plane.restart_api_server().await;
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["key"], "1");
    plane.pause_api_server();
    // A suspended process can't respond, however slow the machine is: the time can't make the test fail.
    let response = tokio::time::timeout(Duration::from_millis(300), api.get("a")).await;
    assert!(response.is_err(), "a paused API server sends no response");
    plane.resume_api_server();
    assert!(api.get("a").await.is_ok());
    let port = plane.url().rsplit(':').next().unwrap().to_owned();
    let flag = format!("--secure-port={port}");
    assert_eq!(count_processes(&flag), 1);
    drop(plane);
    assert_eq!(count_processes(&flag), 0);
}

#[tokio::test]
async fn an_old_watch_on_a_compacted_history_is_rejected_with_410() {
    if !is_available("an_old_watch_on_a_compacted_history_is_rejected_with_410") {
        return;
    }
    let plane = ControlPlane::start(ControlPlaneOptions::default()).await;
    let api: Api<ConfigMap> = Api::namespaced(plane.client(), "default");
    let old = api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    plane.kill_api_server();
    plane.delete_from_etcd("registry/configmaps/default/a").await;
    plane.compact_etcd().await;
    plane.restart_api_server().await;
    assert!(api.get_opt("a").await.unwrap().is_none());
    let version = old.metadata.resource_version.unwrap();
    let mut watch = std::pin::pin!(api.watch(&WatchParams::default(), &version).await.unwrap());
    match watch.try_next().await.unwrap() {
        Some(WatchEvent::Error(status)) => assert_eq!(status.code, 410, "{status:?}"),
        other => panic!("expected 410, got {other:?}"),
    }
}

#[tokio::test]
async fn nothing_remains_of_a_control_plane_whose_test_process_was_killed() {
    if !is_available("nothing_remains_of_a_control_plane_whose_test_process_was_killed") {
        return;
    }
    let example = std::env::current_exe().unwrap().with_file_name("../examples/control_plane");
    let mut child = Command::new(example).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = lines.next().unwrap().unwrap().rsplit(':').next().unwrap().to_owned();
    let kubeconfig = lines.next().unwrap().unwrap().split_once('=').unwrap().1.to_owned();
    let flag = format!("--secure-port={port}");
    assert_eq!(count_processes(&flag), 1);
    assert!(Path::new(&kubeconfig).is_file());
    child.kill().unwrap();
    child.wait().unwrap();
    let started = Instant::now();
    while count_processes(&flag) > 0 || Path::new(&kubeconfig).exists() {
        assert!(
            started.elapsed() < WAIT_TIMEOUT,
            "the API server or its directory outlived the test process"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn workloads_become_available() {
    if !is_available("workloads_become_available") {
        return;
    }
    let plane = shared_control_plane().await;
    plane.create_namespace("alive").await;
    let api: Api<Deployment> = Api::namespaced(plane.client(), "alive");
    api.create(&PostParams::default(), &deployment("web", None)).await.unwrap();
    let started = Instant::now();
    while api.get("web").await.unwrap().status.and_then(|status| status.available_replicas) != Some(2) {
        assert!(started.elapsed() < WAIT_TIMEOUT, "{:#?}", api.get("web").await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn pod_faults_are_reported_as_a_kubelet_reports_them() {
    if !is_available("pod_faults_are_reported_as_a_kubelet_reports_them") {
        return;
    }
    let plane = shared_control_plane().await;
    let waiting = |pod: &Value, reason: &str| {
        pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == reason
    };
    let last = |pod: &Value, reason: &str| {
        pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"] == reason
    };
    type PodCondition<'a> = &'a dyn Fn(&Value) -> bool;
    let cases: [(PodFault, &str, PodCondition<'_>); 5] = [
        (PodFault::Crash, "crash", &|pod| waiting(pod, "CrashLoopBackOff") && last(pod, "Error")),
        (PodFault::OutOfMemory, "memory", &|pod| waiting(pod, "CrashLoopBackOff") && last(pod, "OOMKilled")),
        (PodFault::ImagePull, "image", &|pod| waiting(pod, "ImagePullBackOff")),
        (PodFault::NeverReady, "unready", &|pod| {
            pod["status"]["phase"] == "Running" && pod["status"]["containerStatuses"][0]["ready"] == false
        }),
        (PodFault::SlowStart(Duration::from_secs(1)), "slow", &|pod| waiting(pod, "ContainerCreating")),
    ];
    for (ailment, name, is_reported) in cases {
        plane.create_namespace(name).await;
        let api: Api<Deployment> = Api::namespaced(plane.client(), name);
        api.create(&PostParams::default(), &deployment(name, Some(ailment))).await.unwrap();
        let pods: Api<Pod> = Api::namespaced(plane.client(), name);
        wait_for_pod(&pods, name, is_reported).await;
        if name == "slow" {
            wait_for_pod(&pods, "started", |pod| pod["status"]["containerStatuses"][0]["ready"] == true)
                .await;
        }
    }
}
