//! Health of everything else (`health.md` C.1 and C.2).

use std::time::Duration;

use domain::health::HealthStatus::{Degraded, Healthy, Progressing};
use domain::workload::Policies;
use serde_json::{Value, json};

use crate::apply::definition;
use crate::place::*;

fn service(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

pub async fn c1_services_of_every_type(place: Place) {
    let ports = json!([{"port": 80}]);
    let plain = service("plain", json!({"ports": ports, "selector": {"app": "web"}}));
    let headless = service("headless", json!({"ports": ports, "clusterIP": "None"}));
    let node = service("node", json!({"ports": ports, "type": "NodePort"}));
    let name = service("name", json!({"type": "ExternalName", "externalName": "example.com"}));
    place.wants(vec![plain, headless, node, name], Policies::default());
    place.until_operational().await;
    for name in ["plain", "headless", "node", "name"] {
        place.until_health(name, Healthy, "").await;
    }
}

pub async fn c1_a_load_balancer_waits_for_its_address(place: Place) {
    let spec = json!({"ports": [{"port": 80}], "type": "LoadBalancer"});
    place.wants(vec![service("front", spec)], Policies::default());
    place.until_applied().await;
    if place.plane().is_some() {
        // Nobody here gives addresses by himself.
        place.until_health("front", Progressing, "NoLoadBalancerAddress").await;
        let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        place.merge_status(("v1", "Service"), "front", address).await;
    }
    place.until_health("front", Healthy, "").await;
    place.until_operational().await;
}

pub async fn c1_an_ingress_waits_for_its_address(place: Place) {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "front"},
        "spec": {"ingressClassName": "none", "defaultBackend": backend}});
    place.wants(vec![ingress], Policies::default());
    place.until_applied().await;
    let kind = ("networking.k8s.io/v1", "Ingress");
    if place.plane().is_some() {
        // Nobody here gives addresses by himself.
        place.until_health("front", Progressing, "NoIngressAddress").await;
        let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        place.merge_status(kind, "front", address).await;
    }
    place.until_health("front", Healthy, "").await;
    place.until_operational().await;
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

pub async fn c1_a_claim_waits_for_its_volume(place: Place) {
    if place.plane().is_some() {
        place.wants(vec![claim("by-hand")], Policies::default());
        place.until_health("data", Progressing, "ClaimPending").await;
        place.create(volume("by-hand-1", "by-hand"), "test").await;
    } else {
        place.wants(vec![claim("standard")], Policies::default());
    }
    place.until_health("data", Healthy, "").await;
    place.until_operational().await;
}

pub async fn c1_a_volume_without_a_claim_is_healthy(place: Place) {
    place.wants(vec![volume("unclaimed", "nobody")], Policies::default());
    place.until_health("unclaimed", Healthy, "").await;
}

pub async fn c1_an_autoscaler_without_metrics_is_degraded_after_a_while(mut place: Place) {
    if let Some(cluster) = place.cluster() {
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
    place.wants(objects.clone(), Policies::default());
    place.until_health("scale", Progressing, "FailedGetResourceMetric").await;
    place.later(Duration::from_secs(600), objects).await;
    place.until_health("scale", Degraded, "FailedGetResourceMetric").await;
}

pub async fn c1_a_disruption_budget_counts_its_pods(place: Place) {
    let budget = |least: u32| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep"},
            "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}}})
    };
    place.wants(vec![budget(2), workload("Deployment", "web", None)], Policies::default());
    place.until_operational().await;
    place.until_health("keep", Healthy, "").await;
    place.wants(vec![budget(3), workload("Deployment", "web", None)], Policies::default());
    place.until_health("keep", Progressing, "InsufficientPods").await;
}

pub async fn c1_a_definition_whose_names_are_taken_is_degraded(place: Place) {
    let mut taken = definition("taken.example.com", "Lantern");
    taken["metadata"]["name"] = "others.taken.example.com".into();
    taken["spec"]["names"]["plural"] = "others".into();
    taken["spec"]["names"]["singular"] = "other".into();
    place.create(definition("taken.example.com", "Lantern"), "kubectl").await;
    place.wants(vec![taken], Policies::default());
    place.until("degraded", |report| report.health.status == Degraded).await;
    place.until_health("others.taken.example.com", Degraded, "NamesNotAccepted").await;
}

pub async fn c1_plain_objects_are_healthy_once_they_exist(place: Place) {
    let plain = |version: &str, kind: &str, rest: Value| {
        let mut object =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": kind.to_lowercase()}});
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        object
    };
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "role"});
    let subject = json!({"kind": "ServiceAccount", "name": "serviceaccount", "namespace": place.namespace});
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
    place.wants(objects, Policies::default());
    let report = place.until_operational().await;
    assert_eq!(report.health.status, Healthy);
    assert!(report.resources.iter().all(|one| one.health.status == Healthy), "{report:#?}");
}

pub async fn c1_a_custom_object_without_a_status_is_given_time(mut place: Place) {
    let object = json!({"apiVersion": "time.example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}});
    let objects = vec![definition("time.example.com", "Lamp"), object];
    place.wants(objects.clone(), Policies::default());
    place.until_health("a", Progressing, "StatusNotReportedYet").await;
    let ready = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "InvalidSize", "message": "too big",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
    place.merge_status(("time.example.com/v1", "Lamp"), "a", ready).await;
    place.until_health("a", Degraded, "InvalidSize").await;
    place.merge_status(("time.example.com/v1", "Lamp"), "a", json!(null)).await;
    place.later(Duration::from_secs(60), objects).await;
    place.until_health("a", Healthy, "NoStatus").await;
}
