//! Every fault setting and marker, observed through a client.

use std::time::Duration;

use crate::support::{api_error, apply_deployment, condition_status, deployment, start_cluster, wait_until};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, WatchParams};
use kubesim::{AdmissionRule, ErrorRates};
use serde_json::{Value, json};

const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");

/// The first pod that satisfies `done`.
async fn wait_for_pod(cluster: &kubesim::SimCluster, done: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..12_000 {
        if let Some(found) = cluster.list(("v1", "Pod"), Some("default")).into_iter().find(&done) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no such pod: {:#?}", cluster.list(("v1", "Pod"), Some("default")));
}

fn waiting_reason(pod: &Value) -> &str {
    pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"].as_str().unwrap_or("")
}

#[tokio::test(start_paused = true)]
async fn an_offline_cluster_fails_requests_and_breaks_its_watches() {
    let (cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    let version = cluster.resource_version().to_string();
    let mut stream = api.watch(&WatchParams::default().labels("x=y"), &version).await.unwrap().boxed();
    cluster.faults().set_offline(true);
    assert!(matches!(stream.next().await, Some(Err(_))), "the watch breaks");
    let error = api.list(&ListParams::default()).await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error:?}");
    cluster.faults().set_offline(false);
    api.list(&ListParams::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_fail_at_the_configured_rate() {
    let (cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for (rates, code) in [
        (ErrorRates { too_many_requests: 1.0, ..ErrorRates::default() }, 429),
        (ErrorRates { internal_error: 1.0, ..ErrorRates::default() }, 500),
        (ErrorRates { unavailable: 1.0, ..ErrorRates::default() }, 503),
    ] {
        cluster.faults().set_error_rates(rates);
        assert_eq!(api_error(api.list(&ListParams::default()).await).code, code);
    }
    cluster.faults().set_error_rates(ErrorRates { hang: 1.0, ..ErrorRates::default() });
    let params = ListParams::default();
    let call = tokio::time::timeout(Duration::from_millis(100), api.list(&params));
    assert!(call.await.is_err(), "the call hangs");
    cluster.faults().clear();
    api.list(&ListParams::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_response_delay_delays_every_response() {
    let (cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    cluster.faults().set_delay(Duration::from_secs(3));
    let start = tokio::time::Instant::now();
    api.list(&ListParams::default()).await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_missing_image_backs_off_with_the_runtimes_message() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 1, "acme/does-not-exist:1"), "flotilla", false).await.unwrap();
    let found = wait_for_pod(&cluster, |p| waiting_reason(p) == "ImagePullBackOff").await;
    let message = found["status"]["containerStatuses"][0]["state"]["waiting"]["message"].as_str().unwrap();
    assert!(message.starts_with("Back-off pulling image \"acme/does-not-exist:1\""), "{message}");
    assert!(message.contains("docker.io/acme/does-not-exist:1: not found"), "{message}");
    let events = cluster.list(("v1", "Event"), Some("default"));
    assert!(
        events.iter().any(|e| e["reason"] == "Failed" && e["involvedObject"]["kind"] == "Pod"),
        "{events:#?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_crashing_container_backs_off_with_its_exit_code() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 1, "acme/crashloop:1"), "flotilla", false).await.unwrap();
    let found = wait_for_pod(&cluster, |p| waiting_reason(p) == "CrashLoopBackOff").await;
    let status = &found["status"]["containerStatuses"][0];
    assert_eq!(
        (status["restartCount"].as_i64(), status["lastState"]["terminated"]["exitCode"].as_i64()),
        (Some(1), Some(1))
    );
}

#[tokio::test(start_paused = true)]
async fn an_out_of_memory_container_reports_oomkilled() {
    let (cluster, client) = start_cluster();
    cluster.faults().set_out_of_memory_images(vec!["nginx".into()]);
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 1, "nginx:1"), "flotilla", false).await.unwrap();
    let found = wait_for_pod(&cluster, |p| waiting_reason(p) == "CrashLoopBackOff").await;
    let ended = &found["status"]["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!((ended["reason"].as_str(), ended["exitCode"].as_i64()), (Some("OOMKilled"), Some(137)));
}

#[tokio::test(start_paused = true)]
async fn a_stalled_rollout_exceeds_its_progress_deadline() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    let mut web = deployment("web", 1, "acme/neverready:1");
    web["spec"]["progressDeadlineSeconds"] = 5.into();
    apply_deployment(&api, &web, "flotilla", false).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let found = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
    let conditions = found["status"]["conditions"].as_array().unwrap();
    let progressing = conditions.iter().find(|c| c["type"] == "Progressing").unwrap();
    assert_eq!(
        (progressing["status"].as_str(), progressing["reason"].as_str()),
        (Some("False"), Some("ProgressDeadlineExceeded"))
    );
    assert_eq!(condition_status(&found, "Available"), "False");
}

#[tokio::test(start_paused = true)]
async fn an_unschedulable_pod_reports_the_reason() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    let mut web = deployment("web", 1, "nginx:1");
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "64"}});
    apply_deployment(&api, &web, "flotilla", false).await.unwrap();
    let found = wait_for_pod(&cluster, |p| condition_status(p, "PodScheduled") == "False").await;
    let conditions = found["status"]["conditions"].as_array().unwrap();
    let message = conditions[0]["message"].as_str().unwrap();
    assert!(message.starts_with("0/3 nodes are available: 3 Insufficient cpu."), "{message}");
}

// The paused clock stands still while a controller runs without a pause: each attempt must wait for its back-off.
#[tokio::test(start_paused = true)]
async fn a_quota_rejects_pods_and_the_deployment_reports_it() {
    for real in [true, false] {
        let (cluster, client) = start_cluster();
        if real {
            let quota = json!({
                "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "default"},
                "spec": {"hard": {"pods": "1"}},
            });
            cluster.create(quota, "test").unwrap();
        } else {
            cluster.faults().set_pod_limit("default", Some(1));
        }
        let api = Api::default_namespaced(client);
        apply_deployment(&api, &deployment("web", 3, "nginx:1"), "flotilla", false).await.unwrap();
        let found = wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| {
            condition_status(d, "ReplicaFailure") == "True"
        })
        .await;
        let conditions = found["status"]["conditions"].as_array().unwrap();
        let failure = conditions.iter().find(|c| c["type"] == "ReplicaFailure").unwrap();
        let message = failure["message"].as_str().unwrap();
        assert!(message.contains("is forbidden: exceeded quota"), "{message}");
        assert_eq!(failure["reason"], "FailedCreate");
    }
}

#[tokio::test(start_paused = true)]
async fn an_admission_rule_rejects_with_the_webhooks_message() {
    let (cluster, client) = start_cluster();
    cluster.faults().set_admission_rules(vec![AdmissionRule {
        webhook: "policy.acme.io".into(),
        kind: "Deployment".into(),
        message: "images must come from reg.acme.io".into(),
        ..AdmissionRule::default()
    }]);
    let api = Api::default_namespaced(client);
    let status = api_error(apply_deployment(&api, &deployment("web", 1, "nginx"), "flotilla", false).await);
    assert_eq!(status.code, 403);
    assert_eq!(
        status.message,
        "admission webhook \"policy.acme.io\" denied the request: images must come from reg.acme.io"
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_start_delays_the_pod() {
    let (cluster, client) = start_cluster();
    cluster.faults().set_slow_start(vec![("web".into(), Duration::from_secs(60))]);
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 1, "nginx:1"), "flotilla", false).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(wait_for_pod(&cluster, |_| true).await["status"]["phase"], "Pending");
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(wait_for_pod(&cluster, |_| true).await["status"]["phase"], "Running");
}
