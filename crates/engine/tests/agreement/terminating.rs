//! A namespace whose deletion is blocked, and a definition that is deleted under its objects.

use domain::release::StageName;
use domain::workload::Policies;
use serde_json::{Value, json};

use crate::apply::definition;
use crate::test_env::*;

fn held_config_map(namespace: &str) -> Value {
    let mut held = config_map("held", "1");
    held["metadata"]["namespace"] = namespace.into();
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    held
}

async fn release_hold(env: &TestEnv, namespace: &str) {
    use k8s_openapi::api::core::v1::ConfigMap;
    let api: kube::Api<ConfigMap> = kube::Api::namespaced(env.client(), namespace);
    let patch = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &kube::api::PatchParams::default(), &patch).await.unwrap();
}

pub async fn s3_12_a_terminating_namespace_names_the_finalizer_and_kind_that_block_it(env: TestEnv) {
    // One namespace is an object of the release, the other is created by the policy.
    for (name, stage, reason) in [
        ("blocked-own", StageName::Applied, "ObjectTerminating"),
        ("blocked-created", StageName::Preflight, "NamespaceTerminating"),
    ] {
        let mut inside = config_map("inside", "1");
        inside["metadata"]["namespace"] = name.into();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let objects = if stage == StageName::Applied { vec![namespace, inside] } else { vec![inside] };
        env.set_present(objects, Policies::default());
        env.until_operational().await;
        env.create_in_namespace(held_config_map(name), "test").await;
        env.delete(NAMESPACE, name).await;
        let is_named = |report: &domain::report::ReleaseReport| {
            let state = stage_state(report, stage).and_then(|state| state.reason());
            state.is_some_and(|found| {
                found.reason.as_str() == reason
                    && found.message.contains("example.com/hold in 1 resource instances")
                    && found.message.contains("configmaps")
                    && !found.message.contains("Nothing to do")
            })
        };
        env.wait_for_report(&format!("{name}: {reason} with the finalizer"), is_named).await;
        release_hold(&env, name).await;
        env.until_operational().await;
    }
}

pub async fn a_deleted_definition_is_restored_and_its_objects_wait_for_it(env: TestEnv) {
    let object = json!({"apiVersion": "deleted.example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}});
    env.set_present(vec![definition("deleted.example.com", "Lamp"), object], Policies::default());
    env.until_applied().await;
    let kind = ("deleted.example.com/v1", "Lamp");
    let uid = env.get(kind, "a").await.unwrap()["metadata"]["uid"].clone();
    env.delete(("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "lamps.deleted.example.com").await;
    let is_restored = async || {
        let found = env.api(kind).get_opt("a").await.ok().flatten();
        found.is_some_and(|found| found.metadata.uid.as_deref() != uid.as_str())
    };
    env.wait_until("restored", is_restored).await;
    env.until_applied().await;
    let texts = env.agent.problems();
    for part in ["404", "Correct the object", "Install the custom resource definition"] {
        assert!(!texts.iter().any(|text| text.contains(part)), "{texts:#?}");
    }
}
