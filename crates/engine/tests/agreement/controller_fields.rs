//! Fields that controllers fill: an injected certificate, the rules of an aggregated role, the volume of a claim, its size, the
//! revision of a Deployment, the address and the node port of a Service. Objects without a namespace, and their group and class, are
//! named after the scenario.

use domain::plan::PlannedAction;
use domain::workload::Policies;
use serde_json::{Value, json};

use crate::test_env::*;

const WEBHOOK: KindName = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
const ROLE: KindName = ("rbac.authorization.k8s.io/v1", "ClusterRole");
const REVISION: &str = "deployment.kubernetes.io/revision";
const SERVICE: KindName = ("v1", "Service");
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

/// A later drift of the label of each object is healed, which proves that its other fields were observed, and is all that is reported.
async fn assert_only_a_label_drifts(env: &TestEnv, objects: &[(KindName, &str)]) {
    for &(kind, name) in objects {
        let patch = json!({"metadata": {"labels": {"tier": "back"}}});
        env.merge_patch(kind, name, patch, "kubectl-edit").await;
        let is_healed = async || env.get(kind, name).await.unwrap()["metadata"]["labels"]["tier"] == "front";
        env.wait_until("healed", is_healed).await;
    }
    env.wait_until("reported", async || env.agent.drift().len() >= objects.len()).await;
    let drift = env.agent.drift();
    assert!(drift.iter().all(|note| note.fields == ["/metadata/labels/tier"]), "{drift:#?}");
}

pub async fn p13_fields_that_controllers_fill_are_neither_drift_nor_taken_away_by_a_publish(env: TestEnv) {
    create_volumes(&env).await;
    env.set_present(objects("1"), Policies::default());
    env.until_applied().await;
    fill(&env).await;
    assert_only_a_label_drifts(&env, &FILLED).await;
    assert!(is_filled(&env).await);
    env.set_present(objects("2"), Policies::default());
    env.until_applied().await;
    assert!(is_filled(&env).await, "a publish takes none of them away");
    // With another template the controller counts on from its own number.
    let mut next = objects("2");
    let web = next.iter_mut().find(|object| object["kind"] == "Deployment").unwrap();
    web["spec"]["template"]["metadata"]["annotations"]["setting"] = "2".into();
    env.set_present(next, Policies::default());
    env.until_applied().await;
    env.wait_until("counted on", async || {
        env.get(DEPLOYMENT, "web").await.unwrap()["metadata"]["annotations"][REVISION] == "2"
    })
    .await;
}

/// A Service that leaves its address and node port to the server and has a status, and a Deployment with values of which the
/// server stores none.
fn assigned_objects(colour: &str) -> Vec<Value> {
    let mut web = workload("Deployment", "web", None);
    let pod = &mut web["spec"]["template"]["spec"];
    pod["nodeSelector"] = json!({});
    pod["tolerations"] = json!([]);
    pod["volumes"] = Value::Null;
    pod["hostNetwork"] = false.into();
    pod["priorityClassName"] = "".into();
    let mut front = json!({"apiVersion": SERVICE.0, "kind": SERVICE.1, "metadata": {"name": "front"},
        "spec": {"type": "NodePort", "clusterIP": "", "selector": {"app": "web"},
            "ports": [{"port": 80, "nodePort": 0}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}});
    for object in [&mut web, &mut front] {
        object["metadata"]["labels"] = json!({"tier": "front", "colour": colour});
    }
    vec![web, front]
}

pub async fn p13_what_the_server_assigns_or_does_not_store_is_no_difference(env: TestEnv) {
    let assigned = async || {
        let front = env.get(SERVICE, "front").await.unwrap();
        assert_eq!(front.pointer("/status/loadBalancer/ingress"), None, "{front}");
        (front["spec"]["clusterIP"].clone(), front["spec"]["ports"][0]["nodePort"].clone())
    };
    env.set_present(assigned_objects("red"), Policies::default());
    env.until_operational().await;
    let (address, port) = assigned().await;
    assert!(address.as_str().is_some_and(|address| !address.is_empty()), "{address}");
    assert!(port.as_u64() >= Some(30_000), "{port}");
    let plan = env.dry_run(assigned_objects("red"), Policies::default()).await;
    assert!(plan.is_no_op(), "{plan:#?}");
    assert_only_a_label_drifts(&env, &[(SERVICE, "front"), (DEPLOYMENT, "web")]).await;
    assert_eq!(assigned().await, (address.clone(), port.clone()), "a healed label takes neither away");

    let plan = env.dry_run(assigned_objects("blue"), Policies::default()).await;
    for change in &plan.objects {
        let PlannedAction::Change { fields, .. } = &change.action else { panic!("{plan:#?}") };
        let paths: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
        assert_eq!(paths, ["/metadata/labels/colour"], "{plan:#?}");
    }
    assert_eq!(plan.objects.len(), 2);
    env.set_present(assigned_objects("blue"), Policies::default());
    env.until_operational().await;
    assert_eq!(env.get(SERVICE, "front").await.unwrap()["metadata"]["labels"]["colour"], "blue");
    assert_eq!(assigned().await, (address, port), "a publish takes neither away");
}

/// Creates a policy of admission that writes a value of the ConfigMap `settings`, and waits until it does.
async fn write_by_admission(env: &TestEnv) {
    let version = "admissionregistration.k8s.io/v1";
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"]});
    let patch = "[JSONPatch{op: \"add\", path: \"/data/key\", value: \"theirs\"}]";
    let policy = json!({"apiVersion": version, "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": env.namespace}, "spec": {"failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "settings", "expression": "object.metadata.name == 'settings'"}],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}]}});
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": env.namespace}});
    let binding = json!({"apiVersion": version, "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": env.namespace}, "spec": {"policyName": env.namespace,
            "matchResources": {"namespaceSelector": selector}}});
    env.create(policy, "test").await;
    env.create(binding, "test").await;
    let dry_run = kube::api::PostParams { dry_run: true, ..Default::default() };
    let probe: kube::api::DynamicObject = serde_json::from_value(config_map("settings", "1")).unwrap();
    let is_in_effect = async || {
        let created = env.api(CONFIG_MAP).create(&dry_run, &probe).await;
        created.is_ok_and(|object| object.data["data"]["key"] == "theirs")
    };
    env.wait_until("in effect", is_in_effect).await;
}

pub async fn p13_a_value_that_admission_writes_on_every_apply_is_no_drift(env: TestEnv) {
    // The simulated cluster has no admission that changes objects.
    if env.control_plane().is_none() {
        return;
    }
    write_by_admission(&env).await;
    let objects = |value: &str| {
        let mut settings = config_map("settings", value);
        settings["metadata"]["labels"] = json!({"tier": "front"});
        vec![settings]
    };
    let value = async || env.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"].clone();
    env.set_present(objects("1"), Policies::default());
    env.until_operational().await;
    assert_eq!(value().await, "theirs");
    let plan = env.dry_run(objects("1"), Policies::default()).await;
    assert!(plan.is_no_op(), "{plan:#?}");
    assert_only_a_label_drifts(&env, &[(CONFIG_MAP, "settings")]).await;
    env.set_present(objects("2"), Policies::default());
    env.until_operational().await;
    assert_eq!((value().await, env.agent.drift().len()), ("theirs".into(), 1));
}
