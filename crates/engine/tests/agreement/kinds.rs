//! Health of kinds without containers.

use std::time::Duration;

use domain::health::HealthStatus::{Degraded, Healthy, NotAssessed, Progressing, Suspended};
use domain::policy::{ConflictPolicy, NotAssessedPolicy};
use domain::release::{StageName, StageState};
use domain::report::ReleaseReport;
use domain::workload::Policies;
use serde_json::{Value, json};

use crate::apply::definition;
use crate::test_env::*;

fn service(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

pub async fn c1_services_of_every_type(env: TestEnv) {
    let ports = json!([{"port": 80}]);
    let plain = service("plain", json!({"ports": ports, "selector": {"app": "web"}}));
    let headless = service("headless", json!({"ports": ports, "clusterIP": "None"}));
    let node = service("node", json!({"ports": ports, "type": "NodePort"}));
    let name = service("name", json!({"type": "ExternalName", "externalName": "example.com"}));
    env.set_present(vec![plain, headless, node, name], Policies::default());
    env.until_operational().await;
    for name in ["plain", "headless", "node", "name"] {
        env.until_health(name, Healthy, "").await;
    }
}

pub async fn c1_a_load_balancer_waits_for_its_address(env: TestEnv) {
    let spec = json!({"ports": [{"port": 80}], "type": "LoadBalancer"});
    env.set_present(vec![service("front", spec)], Policies::default());
    env.until_applied().await;
    if env.control_plane().is_some() {
        // The test control planes have no controller for addresses.
        env.until_health("front", Progressing, "NoLoadBalancerAddress").await;
        let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        env.merge_patch_status(("v1", "Service"), "front", address).await;
    }
    env.until_health("front", Healthy, "").await;
    env.until_operational().await;
}

pub async fn c1_an_ingress_waits_for_its_address(env: TestEnv) {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "front"},
        "spec": {"ingressClassName": "none", "defaultBackend": backend}});
    env.set_present(vec![ingress], Policies::default());
    env.until_applied().await;
    let kind = ("networking.k8s.io/v1", "Ingress");
    if env.control_plane().is_some() {
        // The test control planes have no controller for addresses.
        env.until_health("front", Progressing, "NoIngressAddress").await;
        let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        env.merge_patch_status(kind, "front", address).await;
    }
    env.until_health("front", Healthy, "").await;
    env.until_operational().await;
}

fn claim(class: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}})
}

fn volume(name: &str, class: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
            "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/nowhere"}}})
}

pub async fn c1_a_claim_waits_for_its_volume(env: TestEnv) {
    if env.control_plane().is_some() {
        env.set_present(vec![claim("by-hand")], Policies::default());
        env.until_health("data", Progressing, "ClaimPending").await;
        env.create(volume("by-hand-1", "by-hand"), "test").await;
    } else {
        env.set_present(vec![claim("standard")], Policies::default());
    }
    env.until_health("data", Healthy, "").await;
    env.until_operational().await;
}

pub async fn c1_a_claim_that_waits_for_its_first_consumer_is_healthy(env: TestEnv) {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "first-consumer"},
        "provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"});
    env.create(class, "test").await;
    env.set_present(vec![claim("first-consumer")], Policies::default());
    let (health, _) = env.until_health("data", Healthy, "").await;
    assert_eq!(health.message, "waiting for its first consumer");
    env.until_operational().await;
}

pub async fn c1_a_claim_whose_first_consumer_has_come_waits_for_its_volume(env: TestEnv) {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "used-late"},
        "provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"});
    env.create(class, "test").await;
    env.set_present(vec![claim("used-late")], Policies::default());
    env.until_health("data", Healthy, "").await;
    let mut web = workload("Deployment", "web", None);
    web["spec"]["replicas"] = 1.into();
    web["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    env.set_present(vec![claim("used-late"), web], Policies::default());
    if env.control_plane().is_some() {
        // The scheduler has chosen a node, and nothing provisions the volume.
        env.until_health("data", Progressing, "ClaimPending").await;
    } else {
        env.until_operational().await;
        assert_eq!(env.get(CLAIM, "data").await.unwrap()["status"]["phase"], "Bound");
    }
}

pub async fn c1_a_volume_without_a_claim_is_healthy(env: TestEnv) {
    env.set_present(vec![volume("unclaimed", "unused")], Policies::default());
    env.until_health("unclaimed", Healthy, "").await;
}

pub async fn c1_an_autoscaler_without_metrics_is_degraded_after_a_grace_period(mut env: TestEnv) {
    if let Some(cluster) = env.simulated_cluster() {
        cluster.faults().set_no_metrics(true);
    }
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let metric = json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 50}}});
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "scale"},
        "spec": {"minReplicas": 1, "maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric]}});
    let mut web = workload("Deployment", "web", None);
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "100m"}});
    let objects = vec![web, scaler];
    env.set_present(objects.clone(), Policies::default());
    env.until_health("scale", Progressing, "FailedGetResourceMetric").await;
    env.restart_agent_ahead(Duration::from_secs(600), objects).await;
    env.until_health("scale", Degraded, "FailedGetResourceMetric").await;
}

pub async fn c1_a_disruption_budget_counts_its_pods(env: TestEnv) {
    let budget = |min_available: u32| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "budget"},
            "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": "web"}}}})
    };
    env.set_present(vec![budget(2), workload("Deployment", "web", None)], Policies::default());
    env.until_operational().await;
    env.until_health("budget", Healthy, "").await;
    env.set_present(vec![budget(3), workload("Deployment", "web", None)], Policies::default());
    env.until_health("budget", Progressing, "InsufficientPods").await;
    // Of a workload without replicas there is nothing to keep available.
    let mut stopped = workload("Deployment", "web", None);
    stopped["spec"]["replicas"] = 0.into();
    env.set_present(vec![budget(3), stopped], Policies::default());
    let (health, _) = env.until_health("budget", Healthy, "").await;
    assert_eq!(health.message, "covers no pods");
    env.until_operational().await;
}

pub async fn c1_a_definition_with_conflicting_names_is_degraded(env: TestEnv) {
    let mut conflicting = definition("conflict.example.com", "Lantern");
    conflicting["metadata"]["name"] = "others.conflict.example.com".into();
    conflicting["spec"]["names"]["plural"] = "others".into();
    conflicting["spec"]["names"]["singular"] = "other".into();
    env.create(definition("conflict.example.com", "Lantern"), "kubectl").await;
    env.set_present(vec![conflicting], Policies::default());
    env.wait_for_report("degraded", |report| report.health.status == Degraded).await;
    env.until_health("others.conflict.example.com", Degraded, "NamesNotAccepted").await;
}

pub async fn c1_plain_objects_are_healthy_once_they_exist(env: TestEnv) {
    let plain = |version: &str, kind: &str, rest: Value| {
        let mut object =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": kind.to_lowercase()}});
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        object
    };
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "role"});
    let subject = json!({"kind": "ServiceAccount", "name": "serviceaccount", "namespace": env.namespace});
    let rbac = "rbac.authorization.k8s.io/v1";
    let objects = vec![
        plain("v1", "ServiceAccount", json!({})),
        plain("v1", "Secret", json!({"stringData": {"password": "x"}})),
        plain(rbac, "Role", json!({"rules": rules})),
        plain(rbac, "RoleBinding", json!({"roleRef": role, "subjects": [subject]})),
        plain("networking.k8s.io/v1", "NetworkPolicy", json!({"spec": {"podSelector": {}}})),
        plain("v1", "LimitRange", json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}]}})),
        plain("v1", "ResourceQuota", json!({"spec": {"hard": {"secrets": "20"}}})),
    ];
    env.set_present(objects, Policies::default());
    let report = env.until_operational().await;
    assert_eq!(report.health.status, Healthy);
    assert!(report.resources.iter().all(|resource| resource.health.status == Healthy), "{report:#?}");
}

fn objects_of_lamp() -> Vec<Value> {
    let object = json!({"apiVersion": "time.example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}});
    vec![definition("time.example.com", "Lamp"), object]
}

pub async fn c1_a_custom_object_without_a_status_has_a_grace_period_and_is_then_not_assessed(
    mut env: TestEnv,
) {
    let objects = objects_of_lamp();
    env.set_present(objects.clone(), Policies::default());
    env.until_health("a", Progressing, "StatusNotReportedYet").await;
    let ready = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "InvalidSize", "message": "too big",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
    env.merge_patch_status(("time.example.com/v1", "Lamp"), "a", ready).await;
    env.until_health("a", Degraded, "InvalidSize").await;
    env.merge_patch_status(("time.example.com/v1", "Lamp"), "a", json!(null)).await;
    env.restart_agent_ahead(Duration::from_secs(60), objects).await;
    env.until_health("a", NotAssessed, "NoStatus").await;
    let report = env.until_operational().await;
    assert_eq!(report.health.status, NotAssessed, "it is accepted and not called healthy");
    let waiting = Policies { not_assessed: Some(NotAssessedPolicy::Wait), ..Policies::default() };
    env.set_present(objects_of_lamp(), waiting);
    let is_waiting = |report: &ReleaseReport| {
        report.applied.is_some()
            && matches!(stage_state(report, StageName::Operational), Some(StageState::Running { message })
                if message.contains("Lamp") && message.contains("set the policy to accept"))
    };
    env.wait_for_report("waiting by policy", is_waiting).await;
}

pub async fn c1_a_custom_object_whose_kind_has_no_status_is_healthy_at_once(env: TestEnv) {
    let mut plain = definition("plain.example.com", "Stone");
    for version in plain["spec"]["versions"].as_array_mut().unwrap() {
        version.as_object_mut().unwrap().remove("subresources");
    }
    let object = json!({"apiVersion": "plain.example.com/v1", "kind": "Stone", "metadata": {"name": "a"}});
    env.set_present(vec![plain, object], Policies::default());
    let (health, _) = env.until_health("a", Healthy, "").await;
    assert_eq!(health.message, "exists; its kind has no status");
    env.until_operational().await;
}

pub async fn c1_a_custom_object_that_reports_a_pause_is_not_operational_whatever_else_it_reports(
    env: TestEnv,
) {
    let mut lamps = definition("pause.example.com", "Lamp");
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    lamps.pointer_mut(spec).unwrap()["paused"] = json!({"type": "boolean"});
    let objects = |spec: Value| {
        let lamp = json!({"apiVersion": "pause.example.com/v1", "kind": "Lamp", "metadata": {"name": "a"},
            "spec": spec});
        vec![lamps.clone(), lamp]
    };
    env.set_present(objects(json!({"size": 1})), Policies::default());
    env.until_applied().await;
    let report_status = async |phase: &str, suspended: &str| {
        let conditions =
            json!([{"type": "Ready", "status": "True"}, {"type": "Suspended", "status": suspended}]);
        let status = json!({"phase": phase, "conditions": conditions});
        env.merge_patch_status(("pause.example.com/v1", "Lamp"), "a", status).await;
    };
    for (phase, suspended, reason) in [("Paused", "False", "Paused"), ("Running", "True", "Suspended")] {
        report_status(phase, suspended).await;
        let (health, _) = env.until_health("a", Progressing, reason).await;
        assert!(health.message.ends_with("which its manifest does not say"), "{}", health.message);
        let report = env.agent.report(env.release).unwrap();
        let operational = stage_state(&report, StageName::Operational);
        assert!(!operational.is_some_and(StageState::is_finished), "{report:#?}");
    }
    report_status("Running", "False").await;
    env.until_health("a", Healthy, "").await;
    env.until_operational().await;

    // Its controller reports nothing of what was set by hand.
    let pause = async |paused: bool| {
        let patch = json!({"spec": {"paused": paused}});
        env.merge_patch(("pause.example.com/v1", "Lamp"), "a", patch, "kubectl-edit").await;
    };
    pause(true).await;
    let (health, _) = env.until_health("a", Progressing, "HeldOutsideManifest").await;
    assert!(health.message.contains("kubectl-edit set spec.paused"), "{}", health.message);
    pause(false).await;
    env.until_health("a", Healthy, "").await;

    // What the manifest says is what was published.
    let force = Policies { conflict: ConflictPolicy::Force, ..Policies::default() };
    env.set_present(objects(json!({"size": 1, "paused": true})), force);
    env.until_applied().await;
    report_status("Paused", "True").await;
    env.until_health("a", Suspended, "Suspended").await;
}
