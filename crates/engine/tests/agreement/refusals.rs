//! What the API server refuses, and what the engine makes of it.

use domain::health::HealthStatus;
use domain::plan::Outcome;
use domain::release::StageName;
use domain::workload::Policies;
use serde_json::{Value, json};

use crate::place::*;

/// Refuses ConfigMaps called `bad`: by a policy on the real API server.
pub async fn refuse_bad_names(place: &Place) {
    if let Some(cluster) = place.cluster() {
        cluster.faults().set_admission(vec![kubesim::AdmissionRule {
            webhook: "policy.example.com".into(),
            kind: "ConfigMap".into(),
            name: "bad".into(),
            message: "names must be good".into(),
            ..Default::default()
        }]);
        return;
    }
    let only_here = json!({"matchLabels": {"kubernetes.io/metadata.name": place.namespace}});
    let version = "admissionregistration.k8s.io/v1";
    let policy = json!({"apiVersion": version, "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": place.namespace}, "spec": {"failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]},
            "validations": [{"expression": "object.metadata.name != 'bad'", "message": "names must be good"}]}});
    let binding = json!({"apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": place.namespace}, "spec": {"policyName": place.namespace,
            "validationActions": ["Deny"], "matchResources": {"namespaceSelector": only_here}}});
    place.create(policy, "test").await;
    place.create(binding, "test").await;
    // A policy takes effect a moment after it is made.
    place.eventually("in force", async || !may_create_bad(place).await).await;
}

async fn may_create_bad(place: &Place) -> bool {
    use k8s_openapi::api::core::v1::ConfigMap;
    let api: kube::Api<ConfigMap> = kube::Api::namespaced(place.client(), &place.namespace);
    let object = serde_json::from_value(json!({"metadata": {"name": "bad"}})).unwrap();
    let trial = kube::api::PostParams { dry_run: true, ..Default::default() };
    api.create(&trial, &object).await.is_ok()
}

pub async fn p14_admission_refuses_with_its_own_words(place: Place) {
    refuse_bad_names(&place).await;
    place.wants(vec![config_map("bad", "1"), config_map("good", "1")], Policies::default());
    let (report, message) = place.until_trouble(StageName::Applied, "AdmissionRejected").await;
    assert!(message.contains("names must be good"), "{message}");
    let applied: Vec<bool> = report.resources.iter().map(|resource| resource.applied).collect();
    assert_eq!(applied, [false, true]);
    assert!(place.get(CONFIG_MAP, "bad").await.is_none());
}

pub async fn p14_admission_is_asked_by_a_dry_run(place: Place) {
    refuse_bad_names(&place).await;
    let bundle = place.bundle(vec![config_map("bad", "1"), config_map("good", "1")]);
    let effect = place.agent.engine.effect(None, &present(Policies::default()), &bundle).await;
    let finding = effect.findings().next().unwrap();
    assert_eq!(finding.code, "G404");
    assert!(finding.message.contains("names must be good"), "{}", finding.message);
    assert_eq!(effect.objects[1].outcome, Outcome::Create);
    assert!(place.get(CONFIG_MAP, "good").await.is_none(), "a dry run writes nothing");
}

pub async fn p14_a_field_that_cannot_change_is_named(place: Place) {
    let service = |ip: Value| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"clusterIP": ip, "selector": {"app": "web"}, "ports": [{"port": 80}]}})
    };
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"},
        "spec": {"template": template("once", None)}});
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
    let deployment = workload("Deployment", "front", None);
    let claims = workload("StatefulSet", "base", None);
    let before = vec![service("None".into()), job.clone(), deployment.clone(), claims.clone()];
    place.wants(before, Policies::default());
    place.until_operational().await;
    job["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2".into();
    let mut moved = deployment;
    moved["spec"]["selector"]["matchLabels"] = json!({"app": "other"});
    moved["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    let mut renamed = claims;
    renamed["spec"]["serviceName"] = "other".into();
    let over = async || {
        let job = place.get(("batch/v1", "Job"), "once").await.unwrap();
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "Complete" && one["status"] == "True")
    };
    place.eventually("run to its end", over).await;
    let ran = place.effect(vec![job], Policies::default()).await;
    assert_eq!(ran.objects[0].outcome, Outcome::Unchanged, "a job that has run is not run again");
    for object in [service("10.96.77.77".into()), moved, renamed] {
        let kind = object["kind"].as_str().unwrap().to_owned();
        let effect = place.effect(vec![object], Policies::default()).await;
        let finding = effect.findings().next().unwrap();
        assert_eq!(finding.code, "G406", "{kind}: {}", finding.message);
    }
}

pub async fn p14_an_object_that_is_not_valid_says_why(place: Place) {
    let mut negative = workload("Deployment", "web", None);
    negative["spec"]["replicas"] = (-1).into();
    let mut nameless = workload("Deployment", "web", None);
    nameless["spec"]["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("image");
    let mut unmatched = workload("Deployment", "web", None);
    unmatched["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    let mut mistyped = workload("Deployment", "web", None);
    mistyped["spec"]["replicas"] = "two".into();
    let mut misspelt = workload("Deployment", "web", None);
    misspelt["spec"]["replikas"] = 2.into();
    let mut twice = workload("Deployment", "web", None);
    let container = twice["spec"]["template"]["spec"]["containers"][0].clone();
    twice["spec"]["template"]["spec"]["containers"] = json!([container, container]);
    for (object, part) in [
        (misspelt, "replikas"),
        (twice, "duplicate"),
        (negative, "spec.replicas"),
        (nameless, "image"),
        (unmatched, "selector"),
        (mistyped, "replicas"),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not_A_Name"}}),
            "metadata.name",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {"ports": [{"port": 99999}]}}),
            "port",
        ),
    ] {
        let bundle = place.bundle(vec![object]);
        let effect = place.agent.engine.effect(None, &present(Policies::default()), &bundle).await;
        let finding = effect.findings().next().unwrap();
        assert_eq!(finding.code, "G403", "{part}: {}", finding.message);
        assert!(finding.message.contains(part), "{part}: {}", finding.message);
    }
}

pub async fn p14_a_quota_that_is_used_up_is_the_cause_of_missing_pods(place: Place) {
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
        "spec": {"hard": {"pods": "1"}}});
    place.create(quota, "test").await;
    let counted = async || {
        let quota = place.get(("v1", "ResourceQuota"), "small").await.unwrap();
        quota["status"]["hard"]["pods"] == "1"
    };
    place.eventually("in force", counted).await;
    place.wants(vec![workload("Deployment", "web", None)], Policies::default());
    let (health, _) = place.until_health("web", HealthStatus::Degraded, "FailedCreate").await;
    assert!(health.message.contains("exceeded quota: small"), "{}", health.message);
}
