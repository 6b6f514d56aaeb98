//! Each kind of workload reaches the status that a health check rates as Healthy.

use std::time::Duration;

use crate::support::{apply_deployment, condition_status, deployment, start_cluster, wait_until};
use kube::Api;
use serde_json::{Value, json};

const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");

fn pod_template(name: &str, policy: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": name}},
        "spec": {"restartPolicy": policy, "containers": [{"name": "main", "image": "busybox:1"}]},
    })
}

fn is_complete(d: &Value, replicas: i64) -> bool {
    let status = &d["status"];
    status["observedGeneration"] == d["metadata"]["generation"]
        && status["updatedReplicas"] == replicas
        && status["availableReplicas"] == replicas
        && status["replicas"] == replicas
        && condition_status(d, "Available") == "True"
}

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_available_and_rolls() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 3, "nginx:1"), "flotilla", false).await.unwrap();
    let first = wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| is_complete(d, 3)).await;
    assert_eq!(condition_status(&first, "Progressing"), "True");
    apply_deployment(&api, &deployment("web", 3, "nginx:2"), "flotilla", false).await.unwrap();
    let second = wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| {
        is_complete(d, 3) && d["metadata"]["generation"] == 2
    })
    .await;
    assert_eq!(second["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
    let sets = cluster.list(("apps/v1", "ReplicaSet"), Some("default"));
    let mut sizes: Vec<i64> = sets.iter().map(|s| s["spec"]["replicas"].as_i64().unwrap()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [0, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_scales_to_zero_and_pauses() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 2, "nginx:1"), "flotilla", false).await.unwrap();
    wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| is_complete(d, 2)).await;
    apply_deployment(&api, &deployment("web", 0, "nginx:1"), "flotilla", false).await.unwrap();
    wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| d["status"].get("replicas").is_none()).await;
    let mut paused = deployment("web", 2, "nginx:2");
    paused["spec"]["paused"] = true.into();
    apply_deployment(&api, &paused, "flotilla", false).await.unwrap();
    wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| condition_status(d, "Progressing") == "Unknown")
        .await;
    assert_eq!(cluster.list(("apps/v1", "ReplicaSet"), Some("default")).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_recreate_deployment_replaces_all_pods() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    let mut web = deployment("web", 2, "nginx:1");
    web["spec"]["strategy"] = json!({"type": "Recreate"});
    apply_deployment(&api, &web, "flotilla", false).await.unwrap();
    wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| is_complete(d, 2)).await;
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2".into();
    apply_deployment(&api, &web, "flotilla", false).await.unwrap();
    wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| {
        is_complete(d, 2) && d["metadata"]["generation"] == 2
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_starts_its_pods_in_order_with_their_claims() {
    let (cluster, _client) = start_cluster();
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": pod_template("db", "Always"),
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }],
        },
    });
    cluster.create(set, "test").unwrap();
    let what = ("apps/v1", "StatefulSet");
    let ready = |d: &Value, n: i64| {
        d["status"]["readyReplicas"] == n
            && d["status"]["updatedReplicas"] == n
            && d["status"]["currentRevision"] == d["status"]["updateRevision"]
    };
    wait_until(&cluster, what, ("default", "db"), |d| ready(d, 3)).await;
    for number in 0..3 {
        assert!(cluster.get(("v1", "Pod"), ("default", &format!("db-{number}"))).is_some());
        let claim = format!("data-db-{number}");
        wait_until(&cluster, ("v1", "PersistentVolumeClaim"), ("default", &claim), |c| {
            c["status"]["phase"] == "Bound"
        })
        .await;
    }
    let before = cluster.get(what, ("default", "db")).unwrap()["status"]["updateRevision"].clone();
    cluster
        .edit(what, ("default", "db"), "test", |d| {
            d["spec"]["template"]["spec"]["containers"][0]["image"] = "busybox:2".into();
        })
        .unwrap();
    wait_until(&cluster, what, ("default", "db"), |d| d["status"]["updateRevision"] != before && ready(d, 3))
        .await;
    cluster.edit(what, ("default", "db"), "test", |d| d["spec"]["replicas"] = 1.into()).unwrap();
    wait_until(&cluster, what, ("default", "db"), |d| ready(d, 1) && d["status"]["replicas"] == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_runs_on_every_node() {
    let (cluster, _client) = start_cluster();
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": pod_template("agent", "Always")},
    });
    cluster.create(set, "test").unwrap();
    let what = ("apps/v1", "DaemonSet");
    let ready = |d: &Value| d["status"]["numberAvailable"] == 3 && d["status"]["updatedNumberScheduled"] == 3;
    wait_until(&cluster, what, ("default", "agent"), ready).await;
    cluster
        .edit(what, ("default", "agent"), "test", |d| {
            d["spec"]["template"]["spec"]["containers"][0]["image"] = "busybox:2".into();
        })
        .unwrap();
    let rolled = |d: &Value| ready(d) && d["status"]["observedGeneration"] == 2;
    wait_until(&cluster, what, ("default", "agent"), rolled).await;
    let pods = cluster.list(("v1", "Pod"), Some("default"));
    assert!(
        pods.iter()
            .filter(|p| p["metadata"]["deletionTimestamp"].is_null())
            .all(|p| p["spec"]["containers"][0]["image"] == "busybox:2")
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_completes_and_a_crashing_job_fails() {
    let (cluster, _client) = start_cluster();
    let job = |name: &str, template: Value| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
            "spec": {"completions": 2, "parallelism": 2, "backoffLimit": 0, "template": template},
        })
    };
    cluster.create(job("good", pod_template("good", "Never")), "test").unwrap();
    let mut bad = pod_template("bad", "Never");
    bad["spec"]["containers"][0]["command"] = json!(["sh", "-c", "exit 1"]);
    cluster.create(job("bad", bad), "test").unwrap();
    let what = ("batch/v1", "Job");
    let good =
        wait_until(&cluster, what, ("default", "good"), |j| condition_status(j, "Complete") == "True").await;
    assert_eq!(good["status"]["succeeded"], 2);
    assert_eq!(condition_status(&good, "SuccessCriteriaMet"), "True");
    assert!(good["status"]["completionTime"].is_string());
    let bad =
        wait_until(&cluster, what, ("default", "bad"), |j| condition_status(j, "Failed") == "True").await;
    let failed =
        bad["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Failed").unwrap();
    assert_eq!(failed["reason"], "BackoffLimitExceeded");
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_starts_a_job_when_it_is_due() {
    let (cluster, _client) = start_cluster();
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick", "namespace": "default"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": pod_template("tick", "Never")}}},
    });
    cluster.create(cron, "test").unwrap();
    tokio::time::sleep(Duration::from_secs(130)).await;
    let cron = cluster.get(("batch/v1", "CronJob"), ("default", "tick")).unwrap();
    assert!(cron["status"]["lastScheduleTime"].is_string(), "{cron:#}");
    assert!(cron["status"]["lastSuccessfulTime"].is_string(), "{cron:#}");
}

#[tokio::test(start_paused = true)]
async fn services_get_addresses_and_endpoints() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 2, "nginx:1"), "flotilla", false).await.unwrap();
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    cluster.create(service, "test").unwrap();
    let found = wait_until(&cluster, ("v1", "Service"), ("default", "web"), |s| {
        s["status"]["loadBalancer"]["ingress"][0]["ip"].is_string()
    })
    .await;
    assert!(found["spec"]["ports"][0]["nodePort"].as_i64().unwrap() >= 30000);
    wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| is_complete(d, 2)).await;
    let all_ready = |slice: &Value| {
        let endpoints = slice["endpoints"].as_array().map_or(&[][..], Vec::as_slice);
        endpoints.len() == 2 && endpoints.iter().all(|e| e["conditions"]["ready"] == true)
    };
    for _ in 0..12_000 {
        if cluster.list(("discovery.k8s.io/v1", "EndpointSlice"), Some("default")).iter().any(all_ready) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no slice has both pods");
}

#[tokio::test(start_paused = true)]
async fn autoscalers_budgets_ingresses_and_quotas_report_their_status() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 1, "nginx:1"), "flotilla", false).await.unwrap();
    for object in [
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 4}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}}),
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "default"},
            "spec": {"hard": {"pods": "10"}}}),
    ] {
        cluster.create(object, "test").unwrap();
    }
    wait_until(&cluster, ("autoscaling/v2", "HorizontalPodAutoscaler"), ("default", "web"), |h| {
        condition_status(h, "AbleToScale") == "True" && condition_status(h, "ScalingActive") == "True"
    })
    .await;
    wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| is_complete(d, 2)).await;
    wait_until(&cluster, ("policy/v1", "PodDisruptionBudget"), ("default", "web"), |b| {
        b["status"]["disruptionsAllowed"] == 1
    })
    .await;
    wait_until(&cluster, ("networking.k8s.io/v1", "Ingress"), ("default", "web"), |i| {
        i["status"]["loadBalancer"]["ingress"][0]["ip"].is_string()
    })
    .await;
    wait_until(&cluster, ("v1", "ResourceQuota"), ("default", "few"), |q| q["status"]["used"]["pods"] == "2")
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_cluster_neither_writes_nor_sends() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 2, "nginx:1"), "flotilla", false).await.unwrap();
    wait_until(&cluster, DEPLOYMENT, ("default", "web"), |d| is_complete(d, 2)).await;
    // Virtual time, for everything that follows the last status.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = cluster.stats();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(cluster.stats(), before);
}
