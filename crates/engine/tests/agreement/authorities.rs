//! Certificate authorities of webhooks and definitions, which an injector fills. Those of API services are in `api_services`.

use domain::workload::Policies;
use serde_json::{Value, json};

use crate::test_env::*;

const VALIDATING: KindName = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
const MUTATING: KindName = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration");
const DEFINITION: KindName = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
const GROUP: &str = "authorities.example.com";

/// A certificate, because the API server parses that of a definition. Its length is a multiple of 3, so it can be repeated.
const INJECTED: &str = concat!(
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJiakNDQVJXZ0F3SUJBZ0lVZGxRVFpiZGwrOHlxdWVnbVpac1RPSnQx",
    "QnhBd0NnWUlLb1pJemowRUF3SXcKRERFS01BZ0dBMVVFQXd3QllUQWdGdzB5TmpFeE1qWXdNVEkwTVRWYUdBOHlNVEkyTVRF",
    "d01qQXhNalF4TlZvdwpEREVLTUFnR0ExVUVBd3dCWVRCWk1CTUdCeXFHU000OUFnRUdDQ3FHU000OUF3RUhBMElBQklIcDJF",
    "QXg1TWtqClJGSWg4Uk1LQUE5MGpOVyswVEtZeXNoY2RjQThLbTZ6RnBWd0xiK29KUWIvMTZicDhuejRaY0JwWEExdElPd0IK",
    "YVdPYTM4V001aGlqVXpCUk1CMEdBMVVkRGdRV0JCUVhNUFJqbDhwM0hCVll3Z0VCWkNub0dBSXdHakFmQmdOVgpIU01FR0RB",
    "V2dCUVhNUFJqbDhwM0hCVll3Z0VCWkNub0dBSXdHakFQQmdOVkhSTUJBZjhFQlRBREFRSC9NQW9HCkNDcUdTTTQ5QkFNQ0Ew",
    "Y0FNRVFDSUFQaXhrVlpxMlFzb2tJaU4wa0J6QUZDT2ZTUE1rTHYrQTgvZXBST1Z6VXoKQWlCK1UwcUdzTjdod2dkTEJGUlY2",
    "OXlpalM0YnR5bWRLcnM3b28zbS9OOFQrUT09Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K",
);

/// What the manifest has: no authority, a placeholder beside the annotation of an injector, or an authority of its own.
const EMPTY: &str = "lamps";
const PLACEHOLDER: &str = "bulbs";
const OWN: &str = "fuses";
const CASES: [&str; 3] = [EMPTY, PLACEHOLDER, OWN];

fn own_authority() -> String {
    INJECTED.repeat(2)
}

/// The name of the object of a case.
fn object_name(case: &str) -> String {
    format!("{case}.{GROUP}")
}

fn pointer((_, kind): KindName) -> &'static str {
    match kind {
        "CustomResourceDefinition" => "/spec/conversion/webhook/clientConfig/caBundle",
        _ => "/webhooks/0/clientConfig/caBundle",
    }
}

fn object((version, kind): KindName, case: &str) -> Value {
    let (authority, annotations) = match case {
        EMPTY => (String::new(), json!({})),
        PLACEHOLDER => ("Cg==".to_owned(), json!({"cert-manager.io/inject-ca-from": "web/certificate"})),
        _ => (own_authority(), json!({})),
    };
    let client = json!({"url": "https://127.0.0.1:1/", "caBundle": authority});
    let mut object = json!({"apiVersion": version, "kind": kind,
        "metadata": {"name": object_name(case), "annotations": annotations, "labels": {"tier": "front"}}});
    if kind == "CustomResourceDefinition" {
        object["spec"] = json!({"group": GROUP, "scope": "Namespaced",
            "names": {"kind": case.to_uppercase(), "plural": case},
            "conversion": {"strategy": "Webhook",
                "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]});
    } else {
        object["webhooks"] = json!([{"name": format!("checks.{}", object_name(case)), "clientConfig": client,
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
            "rules": [{"apiGroups": [format!("served.{GROUP}")], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": [case]}]}]);
    }
    object
}

fn objects(kind: KindName, setting: &str) -> Vec<Value> {
    let mut objects: Vec<Value> = CASES.iter().map(|case| object(kind, case)).collect();
    objects.push(config_map("settings", setting));
    objects
}

async fn authority(env: &TestEnv, kind: KindName, case: &str) -> Option<Value> {
    env.get(kind, &object_name(case)).await?.pointer(pointer(kind)).cloned()
}

async fn inject(env: &TestEnv, kind: KindName, case: &str) {
    let mut live = env.get(kind, &object_name(case)).await.unwrap();
    let patch = if kind == DEFINITION {
        json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": INJECTED}}}}})
    } else {
        live["webhooks"][0]["clientConfig"]["caBundle"] = INJECTED.into();
        json!({"webhooks": live["webhooks"]})
    };
    env.merge_patch(kind, &object_name(case), patch, "cainjector").await;
}

async fn assert_authorities_are_left(env: &TestEnv, kind: KindName) {
    env.set_present(objects(kind, "1"), Policies::default());
    env.until_applied().await;
    assert_eq!(authority(env, kind, PLACEHOLDER).await, None, "the placeholder is not applied");
    for case in CASES {
        inject(env, kind, case).await;
    }
    let own = || Some(Value::from(own_authority()));
    env.wait_until("restored", async || authority(env, kind, OWN).await == own()).await;
    // A later drift of each is healed, which proves that the injected values were observed.
    for case in [EMPTY, PLACEHOLDER] {
        let patch = json!({"metadata": {"labels": {"tier": "back"}}});
        env.merge_patch(kind, &object_name(case), patch, "kubectl-edit").await;
        let is_healed = async || {
            env.get(kind, &object_name(case)).await.unwrap()["metadata"]["labels"]["tier"] == "front"
        };
        env.wait_until("healed", is_healed).await;
    }
    env.wait_until("reported", async || env.agent.drift().len() >= CASES.len()).await;
    for note in env.agent.drift().into_iter().filter(|note| note.object.name != object_name(OWN)) {
        assert_eq!(note.fields, ["/metadata/labels/tier"], "{note:#?}");
    }
    env.set_present(objects(kind, "2"), Policies::default());
    env.until_applied().await;
    let expected = [Some(INJECTED.into()), Some(INJECTED.into()), own()];
    for (case, expected) in CASES.into_iter().zip(expected) {
        assert_eq!(authority(env, kind, case).await, expected, "{case} after a publish");
    }
}

pub async fn p13_an_injected_authority_of_a_validating_webhook_stays_and_its_own_one_is_restored(
    env: TestEnv,
) {
    assert_authorities_are_left(&env, VALIDATING).await;
}

pub async fn p13_an_injected_authority_of_a_mutating_webhook_stays_and_its_own_one_is_restored(env: TestEnv) {
    assert_authorities_are_left(&env, MUTATING).await;
}

pub async fn p13_an_injected_authority_of_a_definition_stays_and_its_own_one_is_restored(env: TestEnv) {
    assert_authorities_are_left(&env, DEFINITION).await;
}
