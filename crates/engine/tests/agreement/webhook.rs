//! An unavailable webhook with `failurePolicy: Fail`. Only against a real API server: the simulated one calls none.

use domain::release::StageName;
use domain::workload::Policies;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::test_env::*;

/// A webhook for every ConfigMap of the namespace, at a closed port.
fn unavailable_webhook(namespace: &str) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace}, "webhooks": [{
            "name": "gate.example.com", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 2,
            "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/gate"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                "resources": ["configmaps"]}]}]})
}

#[tokio::test]
async fn p14_an_unavailable_webhook_blocks_only_its_objects_until_it_is_deleted() {
    let name = "p14_an_unavailable_webhook_blocks_only_its_objects";
    if !testkit::is_available(name) {
        return;
    }
    let env = TestEnv::real(name, false).await;
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(env.client());
    let webhook = serde_json::from_value(unavailable_webhook(&env.namespace)).unwrap();
    webhooks.create(&PostParams::default(), &webhook).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(env.client(), &env.namespace);
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let probe = serde_json::from_value(json!({"metadata": {"name": "probe"}})).unwrap();
    env.wait_until("in effect", async || maps.create(&dry_run, &probe).await.is_err()).await;

    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}});
    env.set_present(vec![config_map("blocked", "1"), secret], Policies::default());
    let (report, message) = env.until_stage_reason(StageName::Applied, "AdmissionUnavailable").await;
    assert!(message.contains("ConfigMap") && message.contains("blocked"), "{message}");
    assert!(message.contains("\"gate.example.com\"") && message.contains("connection refused"), "{message}");
    let applied =
        |name: &str| report.resources.iter().find(|resource| resource.object.name == name).unwrap().applied;
    assert_eq!((applied("blocked"), applied("key")), (false, true));

    webhooks.delete(&env.namespace, &DeleteParams::default()).await.unwrap();
    env.until_operational().await;
    assert_eq!(env.get(CONFIG_MAP, "blocked").await.unwrap()["data"]["key"], "1");
}
