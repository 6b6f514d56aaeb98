//! Deletion: finalizers, owners, namespaces; and custom resource definitions.

use crate::support::{
    api_error, apply_deployment, condition_status, config_map, deployment, dynamic_api, parse_object,
    start_cluster, wait_until,
};
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions,
    PropagationPolicy,
};
use kube::discovery::Discovery;
use serde_json::{Value, json};

const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");

fn owned_config_map(name: &str, uid: &str) -> Value {
    let mut map = config_map(name, "1");
    map["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": true,
    }]);
    map
}

#[tokio::test]
async fn a_finalizer_delays_deletion_until_it_is_removed() {
    let (cluster, client) = start_cluster();
    let api = dynamic_api(&client, "v1", "ConfigMap", Some("default"));
    let mut map = config_map("held", "1");
    map["metadata"]["finalizers"] = json!(["flotilla.dev/hold"]);
    cluster.create(map, "test").unwrap();
    let answer = api.delete("held", &DeleteParams::default()).await.unwrap();
    assert!(answer.left().unwrap().metadata.deletion_timestamp.is_some());
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &PatchParams::default(), &patch).await.unwrap();
    assert!(api.get_opt("held").await.unwrap().is_none());
}

#[tokio::test]
async fn dependents_of_a_deleted_owner_are_garbage_collected() {
    let (cluster, client) = start_cluster();
    let api = dynamic_api(&client, "v1", "ConfigMap", Some("default"));
    let owner = cluster.create(config_map("owner", "1"), "test").unwrap();
    let uid = owner["metadata"]["uid"].as_str().unwrap();
    cluster.create(owned_config_map("child", uid), "test").unwrap();
    api.delete("owner", &DeleteParams::background()).await.unwrap();
    wait_until(&cluster, CONFIG_MAP, ("default", "child"), Value::is_null).await;
}

#[tokio::test]
async fn orphans_stay_and_foreground_waits_for_dependents() {
    let (cluster, client) = start_cluster();
    let api = dynamic_api(&client, "v1", "ConfigMap", Some("default"));
    let owner = cluster.create(config_map("owner", "1"), "test").unwrap();
    cluster.create(owned_config_map("child", owner["metadata"]["uid"].as_str().unwrap()), "test").unwrap();
    api.delete("owner", &DeleteParams::orphan()).await.unwrap();
    wait_until(&cluster, CONFIG_MAP, ("default", "owner"), Value::is_null).await;
    let child = cluster.get(CONFIG_MAP, ("default", "child")).unwrap();
    assert!(child["metadata"].get("ownerReferences").is_none());

    let owner = cluster.create(config_map("owner", "1"), "test").unwrap();
    let mut held = owned_config_map("held", owner["metadata"]["uid"].as_str().unwrap());
    held["metadata"]["finalizers"] = json!(["flotilla.dev/hold"]);
    cluster.create(held, "test").unwrap();
    api.delete("owner", &DeleteParams::foreground()).await.unwrap();
    wait_until(&cluster, CONFIG_MAP, ("default", "held"), |m| m["metadata"]["deletionTimestamp"].is_string())
        .await;
    assert!(cluster.get(CONFIG_MAP, ("default", "owner")).is_some(), "the owner waits for its dependent");
    cluster
        .edit(CONFIG_MAP, ("default", "held"), "test", |m| {
            m["metadata"]["finalizers"] = json!([]);
        })
        .unwrap();
    wait_until(&cluster, CONFIG_MAP, ("default", "owner"), Value::is_null).await;
}

#[tokio::test]
async fn a_deletion_can_have_a_uid_precondition() {
    let (cluster, client) = start_cluster();
    let api = dynamic_api(&client, "v1", "ConfigMap", Some("default"));
    cluster.create(config_map("a", "1"), "test").unwrap();
    let wrong = Preconditions { uid: Some("other".into()), resource_version: None };
    let status = api_error(api.delete("a", &DeleteParams::default().preconditions(wrong)).await);
    assert_eq!(status.code, 409);
    assert!(status.message.contains("Precondition failed: UID in precondition: other"), "{}", status.message);
}

#[tokio::test]
async fn deleting_a_deployment_deletes_its_pods() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 2, "nginx"), "flotilla", false).await.unwrap();
    wait_until(&cluster, ("apps/v1", "Deployment"), ("default", "web"), |d| {
        d["status"]["readyReplicas"] == 2
    })
    .await;
    let params =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Foreground), ..DeleteParams::default() };
    api.delete("web", &params).await.unwrap();
    wait_until(&cluster, ("apps/v1", "Deployment"), ("default", "web"), Value::is_null).await;
    assert!(cluster.list(("v1", "Pod"), Some("default")).is_empty());
}

#[tokio::test]
async fn deleting_a_namespace_deletes_its_contents() {
    let (cluster, client) = start_cluster();
    let namespaces = dynamic_api(&client, "v1", "Namespace", None);
    cluster
        .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}), "test")
        .unwrap();
    wait_until(&cluster, ("v1", "ServiceAccount"), ("shop", "default"), Value::is_object).await;
    let mut web = deployment("web", 1, "nginx");
    web["metadata"]["namespace"] = "shop".into();
    cluster.create(web, "test").unwrap();
    wait_until(&cluster, ("apps/v1", "Deployment"), ("shop", "web"), |d| d["status"]["readyReplicas"] == 1)
        .await;
    namespaces.delete("shop", &DeleteParams::default()).await.unwrap();
    let mut late = config_map("late", "1");
    late["metadata"]["namespace"] = "shop".into();
    let problem = cluster.create(late, "test").unwrap_err();
    assert!(matches!(problem.code, 403 | 404), "{problem}");
    wait_until(&cluster, ("v1", "Namespace"), ("shop", "shop"), Value::is_null).await;
    wait_until(&cluster, ("v1", "Namespace"), ("", "shop"), Value::is_null).await;
    assert!(cluster.list(("v1", "Pod"), Some("shop")).is_empty());
    let status = api_error(namespaces.delete("default", &DeleteParams::default()).await);
    assert_eq!(status.code, 403);
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Boat", "plural": "boats"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.crew", "statusReplicasPath": ".status.crew"}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["length"], "properties": {
                        "length": {"type": "integer"}, "crew": {"type": "integer", "default": 2},
                        "sails": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                            "items": {"type": "object", "properties": {"name": {"type": "string"}, "area": {"type": "integer"}}}},
                    }},
                    "status": {"type": "object", "properties": {"crew": {"type": "integer"}}},
                }}},
            }],
        },
    })
}

fn boat(spec: Value) -> DynamicObject {
    parse_object(
        json!({"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": spec}),
    )
}

#[tokio::test]
async fn a_definition_adds_a_kind_and_its_deletion_removes_the_objects() {
    let (cluster, client) = start_cluster();
    let crd = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    cluster.create(definition(), "test").unwrap();
    let found = wait_until(&cluster, crd, ("", "boats.example.com"), |c| {
        condition_status(c, "Established") == "True"
    })
    .await;
    assert_eq!(condition_status(&found, "NamesAccepted"), "True");
    let discovery = Discovery::new(client.clone()).run_aggregated().await.unwrap();
    assert!(discovery.get("example.com").is_some(), "the new group is in discovery");

    let api = dynamic_api(&client, "example.com/v1", "Boat", Some("default"));
    let created = api.create(&PostParams::default(), &boat(json!({"length": 7, "junk": 1}))).await.unwrap();
    assert_eq!(created.data["spec"], json!({"length": 7, "crew": 2}), "pruned and defaulted");
    let status = api_error(api.create(&PostParams::default(), &boat(json!({"length": "long"}))).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let status = api_error(api.create(&PostParams::default(), &boat(json!({}))).await);
    assert!(status.message.ends_with("spec.length: Required value"), "{}", status.message);

    cluster.delete(crd, ("", "boats.example.com")).unwrap();
    wait_until(&cluster, crd, ("", "boats.example.com"), Value::is_null).await;
    let status = api_error(api.list(&ListParams::default()).await);
    assert_eq!(status.code, 404);
}

#[tokio::test]
async fn custom_objects_merge_their_lists_by_key() {
    let (cluster, client) = start_cluster();
    cluster.create(definition(), "test").unwrap();
    let crd = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    wait_until(&cluster, crd, ("", "boats.example.com"), |c| condition_status(c, "Established") == "True")
        .await;
    let api = dynamic_api(&client, "example.com/v1", "Boat", Some("default"));
    let sail = |name: &str, area: i64| boat(json!({"length": 7, "sails": [{"name": name, "area": area}]}));
    api.patch("b", &PatchParams::apply("one"), &Patch::Apply(sail("main", 20))).await.unwrap();
    let both = api.patch("b", &PatchParams::apply("two"), &Patch::Apply(sail("jib", 9))).await.unwrap();
    assert_eq!(both.data["spec"]["sails"].as_array().unwrap().len(), 2);
    let status = api_error(api.patch("b", &PatchParams::apply("two"), &Patch::Apply(sail("main", 21))).await);
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"one\": .spec.sails[name=\"main\"].area"
    );
    let generation = both.metadata.generation;
    let patch = Patch::Merge(json!({"status": {"crew": 5}}));
    let patched = api.patch_status("b", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!((patched.data["status"]["crew"].as_i64(), patched.metadata.generation), (Some(5), generation));
    let scale = api.get_scale("b").await.unwrap();
    assert_eq!((scale.spec.unwrap().replicas, scale.status.unwrap().replicas), (Some(2), 5));
}

#[tokio::test]
async fn removed_versions_and_unknown_kinds_are_404() {
    let (_cluster, client) = start_cluster();
    let old = dynamic_api(&client, "policy/v1beta1", "PodDisruptionBudget", Some("default"));
    let status = api_error(old.list(&ListParams::default()).await);
    assert_eq!(
        (status.code, status.message.as_str()),
        (404, "the server could not find the requested resource")
    );
}

#[tokio::test]
async fn a_snapshot_restores_a_cluster() {
    let (cluster, client) = start_cluster();
    let api = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 2, "nginx"), "flotilla", false).await.unwrap();
    cluster.create(definition(), "test").unwrap();
    let what = ("apps/v1", "Deployment");
    wait_until(&cluster, what, ("default", "web"), |d| d["status"]["readyReplicas"] == 2).await;
    let snapshot = cluster.snapshot();
    let uid = cluster.get(what, ("default", "web")).unwrap()["metadata"]["uid"].clone();
    drop(cluster);
    let options =
        kubesim::SimOptions { pod_start: std::time::Duration::from_millis(20), ..Default::default() };
    let again = kubesim::SimCluster::restore(options, &snapshot);
    let web = again.get(what, ("default", "web")).unwrap();
    assert_eq!(web["metadata"]["uid"], uid);
    again.edit(what, ("default", "web"), "test", |d| d["spec"]["replicas"] = 3.into()).unwrap();
    wait_until(&again, what, ("default", "web"), |d| d["status"]["readyReplicas"] == 3).await;
    let client = kube::Client::new(again.service(), "default");
    let boats = dynamic_api(&client, "example.com/v1", "Boat", Some("default"));
    assert!(boats.list(&ListParams::default()).await.is_ok(), "the definition is served again");
}

#[tokio::test]
async fn an_observer_is_called_for_every_write_in_commit_order() {
    let options = kubesim::SimOptions { run_controllers: false, ..kubesim::SimOptions::default() };
    let cluster = kubesim::SimCluster::new(options);
    let observed = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let written = observed.clone();
    cluster.observe_changes(move |change| {
        let value = change.object["data"]["value"].as_str().unwrap_or_default().to_owned();
        let version: u64 = change.object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        written.lock().unwrap().push((value, version, change.is_deleted));
    });
    let (kind, name) = (("v1", "ConfigMap"), ("default", "a"));
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "default"}, "data": {"value": "1"}});
    cluster.create(object, "test").unwrap();
    cluster.edit(kind, name, "test", |object| object["data"]["value"] = "2".into()).unwrap();
    cluster.delete(kind, name).unwrap();
    let observed = observed.lock().unwrap();
    let values: Vec<(&str, bool)> = observed.iter().map(|(value, _, deleted)| (&**value, *deleted)).collect();
    assert_eq!(values, [("1", false), ("2", false), ("2", true)]);
    assert!(observed.is_sorted_by_key(|(_, version, _)| *version), "{observed:?}");
}
