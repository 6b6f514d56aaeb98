//! A webhook that must be asked and does not answer. Only against a real API server: the simulated one asks nobody.

use domain::release::StageName;
use domain::workload::Policies;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::place::*;

/// Asks about every ConfigMap of the namespace, on a port where nobody listens.
fn deaf(namespace: &str) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace}, "webhooks": [{
            "name": "gate.example.com", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 2,
            "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/gate"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                "resources": ["configmaps"]}]}]})
}

#[tokio::test]
async fn p14_a_webhook_that_is_down_is_named_for_its_object_alone_and_work_goes_on_when_it_is_gone() {
    let name = "p14_a_webhook_that_is_down_is_named_for_its_object_alone";
    if !testkit::available(name) {
        return;
    }
    let place = Place::real(name, false).await;
    let hooks: Api<ValidatingWebhookConfiguration> = Api::all(place.client());
    let hook = serde_json::from_value(deaf(&place.namespace)).unwrap();
    hooks.create(&PostParams::default(), &hook).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(place.client(), &place.namespace);
    let trial = PostParams { dry_run: true, ..PostParams::default() };
    let probe = serde_json::from_value(json!({"metadata": {"name": "probe"}})).unwrap();
    place.eventually("in force", async || maps.create(&trial, &probe).await.is_err()).await;

    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}});
    place.wants(vec![config_map("held", "1"), secret], Policies::default());
    let (report, message) = place.until_trouble(StageName::Applied, "AdmissionUnavailable").await;
    assert!(message.contains("ConfigMap") && message.contains("held"), "{message}");
    assert!(message.contains("\"gate.example.com\"") && message.contains("connection refused"), "{message}");
    let applied = |name: &str| report.resources.iter().find(|one| one.object.name == name).unwrap().applied;
    assert_eq!((applied("held"), applied("key")), (false, true));

    hooks.delete(&place.namespace, &DeleteParams::default()).await.unwrap();
    place.until_operational().await;
    assert_eq!(place.get(CONFIG_MAP, "held").await.unwrap()["data"]["key"], "1");
}
