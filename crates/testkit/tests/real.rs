//! Control planes as a test sees them.

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
use testkit::{Ailment, ControlPlane, Options, available};
use tokio::sync::OnceCell;
use tokio::time::Instant;

const PATIENCE: Duration = Duration::from_secs(60);

async fn full() -> &'static ControlPlane {
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    SHARED.get_or_init(|| ControlPlane::start(Options::full())).await
}

fn settings(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": "1"}})).unwrap()
}

fn deployment(name: &str, ailment: Option<Ailment>) -> Deployment {
    let annotations: Value = ailment.into_iter().flat_map(Ailment::annotations).collect();
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": {
        "replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}, "annotations": annotations},
            "spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}}}))
    .unwrap()
}

/// Waits for a pod of which this holds.
async fn until_pod(api: &Api<Pod>, what: &str, ok: impl Fn(&Value) -> bool) {
    let begun = Instant::now();
    loop {
        let pods = api.list(&ListParams::default()).await.unwrap();
        let pods = serde_json::to_value(pods.items).unwrap();
        if pods.as_array().unwrap().iter().any(&ok) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "no pod is {what}: {pods:#}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Number of processes with this on their command line.
fn processes_with(text: &str) -> usize {
    let output = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains(text)).count()
}

#[tokio::test]
async fn a_plain_control_plane_stores_and_keeps_over_a_restart_on_the_same_port() {
    if !available("a_plain_control_plane_stores_and_keeps_over_a_restart_on_the_same_port") {
        return;
    }
    let plane = ControlPlane::start(Options::default()).await;
    let api: Api<ConfigMap> = Api::namespaced(plane.client(), "default");
    api.create(&PostParams::default(), &settings("a")).await.unwrap();
    plane.stop();
    assert!(api.get("a").await.is_err(), "a stopped API server answers nothing");
    plane.restart().await;
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["key"], "1");
    plane.pause();
    let waited = tokio::time::timeout(Duration::from_millis(300), api.get("a")).await;
    assert!(waited.is_err(), "a paused API server keeps its callers waiting");
    plane.resume();
    assert!(api.get("a").await.is_ok());
    let port = plane.url().rsplit(':').next().unwrap().to_owned();
    let flag = format!("--secure-port={port}");
    assert_eq!(processes_with(&flag), 1);
    drop(plane);
    assert_eq!(processes_with(&flag), 0);
}

#[tokio::test]
async fn a_compacted_history_refuses_an_old_watch_with_410() {
    if !available("a_compacted_history_refuses_an_old_watch_with_410") {
        return;
    }
    let plane = ControlPlane::start(Options::default()).await;
    let api: Api<ConfigMap> = Api::namespaced(plane.client(), "default");
    let old = api.create(&PostParams::default(), &settings("a")).await.unwrap();
    plane.stop();
    plane.delete_stored("registry/configmaps/default/a").await;
    plane.compact().await;
    plane.restart().await;
    assert!(api.get_opt("a").await.unwrap().is_none());
    let version = old.metadata.resource_version.unwrap();
    let mut watch = std::pin::pin!(api.watch(&WatchParams::default(), &version).await.unwrap());
    match watch.try_next().await.unwrap() {
        Some(WatchEvent::Error(status)) => assert_eq!(status.code, 410, "{status:?}"),
        other => panic!("expected 410, got {other:?}"),
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_control_plane_whose_program_is_killed() {
    if !available("nothing_is_left_of_a_control_plane_whose_program_is_killed") {
        return;
    }
    let example = std::env::current_exe().unwrap().with_file_name("../examples/control_plane");
    let mut child = Command::new(example).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = said.next().unwrap().unwrap().rsplit(':').next().unwrap().to_owned();
    let kubeconfig = said.next().unwrap().unwrap().split_once('=').unwrap().1.to_owned();
    let flag = format!("--secure-port={port}");
    assert_eq!(processes_with(&flag), 1);
    assert!(Path::new(&kubeconfig).is_file());
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    while processes_with(&flag) > 0 || Path::new(&kubeconfig).exists() {
        assert!(begun.elapsed() < PATIENCE, "the API server or its folder outlived its program");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn workloads_come_alive() {
    if !available("workloads_come_alive") {
        return;
    }
    let plane = full().await;
    plane.namespace("alive").await;
    let api: Api<Deployment> = Api::namespaced(plane.client(), "alive");
    api.create(&PostParams::default(), &deployment("web", None)).await.unwrap();
    let begun = Instant::now();
    while api.get("web").await.unwrap().status.and_then(|status| status.available_replicas) != Some(2) {
        assert!(begun.elapsed() < PATIENCE, "{:#?}", api.get("web").await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn ailments_show_as_a_kubelet_shows_them() {
    if !available("ailments_show_as_a_kubelet_shows_them") {
        return;
    }
    let plane = full().await;
    let waiting = |pod: &Value, reason: &str| {
        pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == reason
    };
    let last = |pod: &Value, reason: &str| {
        pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"] == reason
    };
    type Look<'a> = &'a dyn Fn(&Value) -> bool;
    let looks: [(Ailment, &str, Look<'_>); 5] = [
        (Ailment::Crash, "crash", &|pod| waiting(pod, "CrashLoopBackOff") && last(pod, "Error")),
        (Ailment::OutOfMemory, "memory", &|pod| waiting(pod, "CrashLoopBackOff") && last(pod, "OOMKilled")),
        (Ailment::ImagePull, "image", &|pod| waiting(pod, "ImagePullBackOff")),
        (Ailment::NeverReady, "unready", &|pod| {
            pod["status"]["phase"] == "Running" && pod["status"]["containerStatuses"][0]["ready"] == false
        }),
        (Ailment::SlowStart(Duration::from_secs(1)), "slow", &|pod| waiting(pod, "ContainerCreating")),
    ];
    for (ailment, name, look) in looks {
        plane.namespace(name).await;
        let api: Api<Deployment> = Api::namespaced(plane.client(), name);
        api.create(&PostParams::default(), &deployment(name, Some(ailment))).await.unwrap();
        let pods: Api<Pod> = Api::namespaced(plane.client(), name);
        until_pod(&pods, name, look).await;
        if name == "slow" {
            until_pod(&pods, "started", |pod| pod["status"]["containerStatuses"][0]["ready"] == true).await;
        }
    }
}
