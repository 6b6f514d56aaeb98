//! API services, whose certificate authority an injector fills. Scenarios have a control plane of their own: a service that does not
//! answer makes the discovery of its group fail, and then no namespace can be deleted.

use domain::workload::Policies;
use serde_json::{Value, json};

use crate::test_env::*;

const API_SERVICE: KindName = ("apiregistration.k8s.io/v1", "APIService");
/// Claims no authority.
const EMPTY: &str = "v1.empty.example.com";
/// Has a placeholder beside the annotation of an injector.
const PLACEHOLDER: &str = "v1.placeholder.example.com";
/// Has an authority of its own.
const OWN: &str = "v1.own.example.com";
const INJECTED: &str = "aW5qZWN0ZWQK";
const OWN_BUNDLE: &str = "b3duCg==";

fn api_service(name: &str, bundle: &str, annotations: Value, revision: &str) -> Value {
    let (version, group) = name.split_once('.').unwrap();
    json!({"apiVersion": API_SERVICE.0, "kind": API_SERVICE.1,
        "metadata": {"name": name, "annotations": annotations, "labels": {"revision": revision}},
        "spec": {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 10,
            "service": {"namespace": "default", "name": "absent", "port": 443}, "caBundle": bundle}})
}

fn objects(revision: &str) -> Vec<Value> {
    let injector = json!({"cert-manager.io/inject-ca-from": "web/certificate"});
    vec![
        api_service(EMPTY, "", json!({}), revision),
        api_service(PLACEHOLDER, "Cg==", injector, revision),
        api_service(OWN, OWN_BUNDLE, json!({}), revision),
    ]
}

async fn bundle(env: &TestEnv, name: &str) -> Value {
    env.get(API_SERVICE, name).await.unwrap()["spec"]["caBundle"].clone()
}

async fn until_revision(env: &TestEnv, revision: &str) {
    for name in [EMPTY, PLACEHOLDER, OWN] {
        let is_applied = async || {
            let live = env.get(API_SERVICE, name).await;
            live.is_some_and(|live| live["metadata"]["labels"]["revision"] == revision)
        };
        env.wait_until("applied", is_applied).await;
    }
    env.until_applied().await;
}

pub async fn p13_an_injected_authority_of_an_api_service_stays_and_its_own_one_is_restored(env: TestEnv) {
    env.set_present(objects("1"), Policies::default());
    until_revision(&env, "1").await;
    for name in [EMPTY, PLACEHOLDER, OWN] {
        let patch = json!({"spec": {"caBundle": INJECTED}});
        env.merge_patch(API_SERVICE, name, patch, "cainjector").await;
    }
    env.wait_until("restored", async || bundle(&env, OWN).await == OWN_BUNDLE).await;
    // A later drift of each is healed, which proves that the injected values were observed.
    for name in [EMPTY, PLACEHOLDER] {
        let patch = json!({"metadata": {"labels": {"revision": "edited"}}});
        env.merge_patch(API_SERVICE, name, patch, "kubectl-edit").await;
    }
    until_revision(&env, "1").await;
    env.wait_until("reported", async || env.agent.drift().len() >= 3).await;
    for note in env.agent.drift() {
        let expected = if note.object.name == OWN { "/spec/caBundle" } else { "/metadata/labels/revision" };
        assert_eq!(note.fields, [expected], "{note:#?}");
    }
    env.set_present(objects("2"), Policies::default());
    until_revision(&env, "2").await;
    assert_eq!([bundle(&env, EMPTY).await, bundle(&env, PLACEHOLDER).await], [INJECTED, INJECTED]);
    assert_eq!(bundle(&env, OWN).await, OWN_BUNDLE);
}
