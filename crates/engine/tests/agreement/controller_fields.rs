//! Fields that controllers fill: an injected certificate, the rules of an aggregated role, the volume of a claim, its size, the
//! revision of a Deployment. Objects without a namespace, and their group and class, are named after the scenario.

use domain::workload::Policies;
use serde_json::{Value, json};

use crate::test_env::*;

const WEBHOOK: KindName = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
const ROLE: KindName = ("rbac.authorization.k8s.io/v1", "ClusterRole");
const REVISION: &str = "deployment.kubernetes.io/revision";
const INJECTED: &str = "aW5qZWN0ZWQK";

/// The filled objects. All have a field that no controller fills.
const FILLED: [(KindName, &str); 5] = [
    (WEBHOOK, "filled.example.com"),
    (ROLE, "filled-whole"),
    (CLAIM, "bound"),
    (CLAIM, "enlarged"),
    (DEPLOYMENT, "web"),
];

fn webhook() -> Value {
    json!({"apiVersion": WEBHOOK.0, "kind": WEBHOOK.1, "metadata": {"name": "filled.example.com",
        "annotations": {"cert-manager.io/inject-ca-from": "web/certificate"}}, "webhooks": [{
        "name": "checks.filled.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": "Cg=="},
        "rules": [{"apiGroups": ["filled.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": ["lamps"]}]}]})
}

fn rules() -> Value {
    json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])
}

fn aggregated_role() -> Value {
    json!({"apiVersion": ROLE.0, "kind": ROLE.1, "metadata": {"name": "filled-whole"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"aggregate": "filled"}}]}, "rules": []})
}

fn part_of_role() -> Value {
    json!({"apiVersion": ROLE.0, "kind": ROLE.1,
        "metadata": {"name": "filled-part", "labels": {"aggregate": "filled"}}, "rules": rules()})
}

fn claim(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"storageClassName": "filled", "accessModes": ["ReadWriteOnce"], "volumeName": "",
            "resources": {"requests": {"storage": "1Gi"}}}})
}

fn objects(setting: &str) -> Vec<Value> {
    let mut web = workload("Deployment", "web", None);
    web["metadata"]["annotations"] = json!({REVISION: "9"});
    let mut filled = vec![webhook(), aggregated_role(), claim("bound"), claim("enlarged"), web];
    for object in &mut filled {
        object["metadata"]["labels"] = json!({"tier": "front"});
    }
    [filled, vec![part_of_role(), config_map("settings", setting)]].concat()
}

/// A class whose claims may be enlarged, and volumes, which nothing provisions on a real control plane.
async fn create_volumes(env: &TestEnv) {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "filled"},
        "provisioner": "disk.example.com", "allowVolumeExpansion": true});
    env.create(class, "test").await;
    if env.control_plane().is_none() {
        return;
    }
    for claim in ["bound", "enlarged"] {
        let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": format!("filled-{claim}")},
            "spec": {"storageClassName": "filled", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                "claimRef": {"namespace": env.namespace, "name": claim}, "hostPath": {"path": "/nowhere"}}});
        env.create(volume, "test").await;
    }
}

/// Fills the fields as their controllers do, unless these run.
async fn fill(env: &TestEnv) {
    for name in ["bound", "enlarged"] {
        let is_bound = async || env.get(CLAIM, name).await.unwrap()["status"]["phase"] == "Bound";
        env.wait_until("bound", is_bound).await;
    }
    let size = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    env.merge_patch(CLAIM, "enlarged", size, "kubectl-edit").await;
    let mut webhooks = env.get(WEBHOOK, "filled.example.com").await.unwrap()["webhooks"].clone();
    webhooks[0]["clientConfig"]["caBundle"] = INJECTED.into();
    env.merge_patch(WEBHOOK, "filled.example.com", json!({"webhooks": webhooks}), "cainjector").await;
    let controller = "clusterrole-aggregation-controller";
    env.merge_patch(ROLE, "filled-whole", json!({"rules": rules()}), controller).await;
    env.wait_until("filled", async || is_filled(env).await).await;
}

async fn is_filled(env: &TestEnv) -> bool {
    let webhook = env.get(WEBHOOK, "filled.example.com").await.unwrap();
    let role = env.get(ROLE, "filled-whole").await.unwrap();
    let web = env.get(DEPLOYMENT, "web").await.unwrap();
    let bound = env.get(CLAIM, "bound").await.unwrap();
    let enlarged = env.get(CLAIM, "enlarged").await.unwrap();
    webhook["webhooks"][0]["clientConfig"]["caBundle"] == INJECTED
        && role["rules"] == rules()
        && web["metadata"]["annotations"][REVISION] == "1"
        && bound["spec"]["volumeName"].as_str().is_some_and(|name| !name.is_empty())
        && enlarged["spec"]["resources"]["requests"]["storage"] == "2Gi"
}

pub async fn p13_fields_that_controllers_fill_are_neither_drift_nor_taken_away_by_a_publish(env: TestEnv) {
    create_volumes(&env).await;
    env.set_present(objects("1"), Policies::default());
    env.until_applied().await;
    fill(&env).await;
    // A later drift of each is healed, which proves that the values were observed.
    for (kind, name) in FILLED {
        let patch = json!({"metadata": {"labels": {"tier": "back"}}});
        env.merge_patch(kind, name, patch, "kubectl-edit").await;
        let is_healed = async || env.get(kind, name).await.unwrap()["metadata"]["labels"]["tier"] == "front";
        env.wait_until("healed", is_healed).await;
    }
    env.wait_until("reported", async || env.agent.drift().len() >= FILLED.len()).await;
    let drift = env.agent.drift();
    assert!(drift.iter().all(|note| note.fields == ["/metadata/labels/tier"]), "{drift:#?}");
    assert!(is_filled(&env).await);
    env.set_present(objects("2"), Policies::default());
    env.until_applied().await;
    assert!(is_filled(&env).await, "a publish takes none of them away");
}
