//! Server-side apply and the other writes, through a kube client.

use crate::support::{api_error, apply_deployment, config_map, deployment, parse_object, start_cluster};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

#[tokio::test]
async fn applying_creates_with_the_servers_defaults() {
    let (_cluster, client) = start_cluster();
    let api: Api<Deployment> = Api::default_namespaced(client);
    let created = apply_deployment(&api, &deployment("web", 2, "nginx"), "flotilla", false).await.unwrap();
    let spec = created.spec.unwrap();
    assert_eq!(spec.revision_history_limit, Some(10));
    assert_eq!(spec.progress_deadline_seconds, Some(600));
    let pod = spec.template.spec.unwrap();
    assert_eq!(pod.dns_policy.as_deref(), Some("ClusterFirst"));
    assert_eq!(pod.containers[0].image_pull_policy.as_deref(), Some("Always"));
    assert_eq!(pod.containers[0].ports.as_ref().unwrap()[0].protocol.as_deref(), Some("TCP"));
    assert_eq!(created.metadata.generation, Some(1));
}

#[tokio::test]
async fn a_no_op_apply_changes_neither_version_nor_generation() {
    let (cluster, client) = start_cluster();
    cluster.faults().set_unschedulable_pods(vec!["web".into()]);
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let params = PatchParams::apply("flotilla");
    let first = api.patch("a", &params, &Patch::Apply(config_map("a", "1"))).await.unwrap();
    let writes = cluster.stats().client_writes;
    let second = api.patch("a", &params, &Patch::Apply(config_map("a", "1"))).await.unwrap();
    assert_eq!(first, second);
    assert_eq!(cluster.stats().client_writes, writes);
}

#[tokio::test]
async fn another_managers_change_is_a_conflict_and_force_overrides_it() {
    let (cluster, client) = start_cluster();
    let api: Api<Deployment> = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 2, "nginx:1"), "flotilla", false).await.unwrap();
    cluster
        .edit(("apps/v1", "Deployment"), ("default", "web"), "kubectl-edit", |d| {
            d["spec"]["replicas"] = 5.into()
        })
        .unwrap();
    let status = api_error(apply_deployment(&api, &deployment("web", 2, "nginx:1"), "flotilla", false).await);
    assert_eq!(status.code, 409);
    assert_eq!(status.reason, "Conflict");
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"kubectl-edit\" using apps/v1: .spec.replicas"
    );
    let cause = &status.details.unwrap().causes[0];
    assert_eq!((cause.reason.as_str(), cause.field.as_str()), ("FieldManagerConflict", ".spec.replicas"));
    let forced = apply_deployment(&api, &deployment("web", 2, "nginx:1"), "flotilla", true).await.unwrap();
    assert_eq!(forced.spec.unwrap().replicas, Some(2));
    assert_eq!(forced.metadata.generation, Some(3));
}

#[tokio::test]
async fn a_dry_run_returns_the_object_and_stores_nothing() {
    let (_cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let params = PatchParams::apply("flotilla").dry_run();
    let returned = api.patch("a", &params, &Patch::Apply(config_map("a", "1"))).await.unwrap();
    assert_eq!(returned.data.unwrap()["key"], "1");
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn apply_rejects_an_unknown_field() {
    let (_cluster, client) = start_cluster();
    let api: Api<Deployment> = Api::default_namespaced(client);
    let mut bad = deployment("web", 1, "nginx");
    bad["spec"]["replica"] = 3.into();
    let status = api_error(apply_deployment(&api, &bad, "flotilla", false).await);
    assert_eq!(status.code, 500);
    assert_eq!(
        status.message,
        "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): \
         .spec.replica: field not declared in schema"
    );
}

#[tokio::test]
async fn an_invalid_object_is_rejected_with_its_causes() {
    let (_cluster, client) = start_cluster();
    let api: Api<Deployment> = Api::default_namespaced(client);
    let mut bad = deployment("web", 1, "nginx");
    bad["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    let status = api_error(api.create(&PostParams::default(), &parse_object(bad)).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    assert_eq!(status.details.unwrap().causes[0].field, "spec.template.metadata.labels");
    let mut bad = deployment("web", 1, "nginx");
    bad["spec"]["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("image");
    let status = api_error(api.create(&PostParams::default(), &parse_object(bad)).await);
    assert_eq!(
        status.message,
        "Deployment.apps \"web\" is invalid: spec.template.spec.containers[0].image: Required value"
    );
}

#[tokio::test]
async fn a_selector_is_immutable() {
    let (_cluster, client) = start_cluster();
    let api: Api<Deployment> = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 1, "nginx"), "flotilla", false).await.unwrap();
    let mut other = deployment("web", 1, "nginx");
    other["spec"]["selector"]["matchLabels"] = json!({"app": "web", "tier": "x"});
    other["spec"]["template"]["metadata"]["labels"] = json!({"app": "web", "tier": "x"});
    let status = api_error(apply_deployment(&api, &other, "flotilla", true).await);
    assert_eq!(status.code, 422);
    assert!(status.message.ends_with("field is immutable"), "{}", status.message);
}

#[tokio::test]
async fn a_put_with_an_old_version_is_a_conflict() {
    let (_cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let first: ConfigMap =
        api.create(&PostParams::default(), &parse_object(config_map("a", "1"))).await.unwrap();
    let mut second = first.clone();
    second.data.as_mut().unwrap().insert("key".into(), "2".into());
    api.replace("a", &PostParams::default(), &second).await.unwrap();
    let status = api_error(api.replace("a", &PostParams::default(), &second).await);
    assert_eq!(status.code, 409);
    assert!(status.message.contains("the object has been modified"), "{}", status.message);
}

#[tokio::test]
async fn a_missing_namespace_is_not_found() {
    let (_cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "nowhere");
    let status = api_error(
        api.create(&PostParams::default(), &parse_object(json!({"metadata": {"name": "a"}}))).await,
    );
    assert_eq!((status.code, status.message.as_str()), (404, "namespaces \"nowhere\" not found"));
}

#[tokio::test]
async fn strategic_merge_finds_a_container_by_its_name() {
    let (_cluster, client) = start_cluster();
    let api: Api<Deployment> = Api::default_namespaced(client);
    apply_deployment(&api, &deployment("web", 1, "nginx:1"), "flotilla", false).await.unwrap();
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "env": [{"name": "A", "value": "1"}]}]}}}});
    let patched = api.patch("web", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    let container = &patched.spec.unwrap().template.spec.unwrap().containers[0];
    assert_eq!(container.image.as_deref(), Some("nginx:1"));
    assert_eq!(container.env.as_ref().unwrap()[0].name, "A");
}

#[tokio::test]
async fn a_service_keeps_its_address_when_applied_again() {
    let (_cluster, client) = start_cluster();
    let api: Api<Service> = Api::default_namespaced(client);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    let params = PatchParams::apply("flotilla");
    let first = api.patch("web", &params, &Patch::Apply(&service)).await.unwrap();
    let ip = first.spec.as_ref().unwrap().cluster_ip.clone().unwrap();
    assert!(ip.starts_with("10.96."), "{ip}");
    let second = api.patch("web", &params, &Patch::Apply(&service)).await.unwrap();
    assert_eq!(second.spec.unwrap().cluster_ip.as_deref(), Some(&*ip));
}

#[tokio::test]
async fn quantities_are_returned_in_canonical_form_and_applying_again_writes_nothing() {
    let (cluster, client) = start_cluster();
    let api: Api<Deployment> = Api::default_namespaced(client);
    let mut object = deployment("web", 0, "nginx:1");
    object["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"limits": {"cpu": "2000m", "memory": "1024Mi"}});
    let created = apply_deployment(&api, &object, "flotilla", false).await.unwrap();
    let limits =
        created.spec.unwrap().template.spec.unwrap().containers[0].resources.clone().unwrap().limits.unwrap();
    assert_eq!((limits["cpu"].0.as_str(), limits["memory"].0.as_str()), ("2", "1Gi"));
    let writes = cluster.stats().client_writes;
    apply_deployment(&api, &object, "flotilla", false).await.unwrap();
    assert_eq!(cluster.stats().client_writes, writes);
}

#[tokio::test]
async fn all_pages_of_a_list_have_the_same_version() {
    let (_cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    for number in 0..5 {
        let map: ConfigMap =
            parse_object(json!({"metadata": {"name": format!("m{number}"), "labels": {"n": "x"}}}));
        api.create(&PostParams::default(), &map).await.unwrap();
    }
    let params = ListParams::default().labels("n=x").limit(2);
    let first = api.list(&params).await.unwrap();
    assert_eq!(first.items.len(), 2);
    api.delete("m4", &DeleteParams::default()).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = api.list(&ListParams::default().labels("n=x").continue_token(&token)).await.unwrap();
    assert_eq!(rest.items.len(), 3, "the page shows the collection at the version of the first page");
}

#[tokio::test]
async fn an_object_that_is_too_large_is_rejected() {
    let (_cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let huge = config_map("huge", &"x".repeat(1_700_000));
    let status = api_error(api.patch("huge", &PatchParams::apply("flotilla"), &Patch::Apply(&huge)).await);
    assert_eq!(status.code, 413);
}

#[tokio::test]
async fn lists_select_by_labels_and_fields() {
    let (_cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    for (name, team) in [("a", "x"), ("b", "y"), ("c", "z")] {
        let map: ConfigMap = parse_object(json!({"metadata": {"name": name, "labels": {"team": team}}}));
        api.create(&PostParams::default(), &map).await.unwrap();
    }
    let names = async |params: ListParams| {
        let list = api.list(&params).await.unwrap();
        list.items.into_iter().map(|o| o.metadata.name.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names(ListParams::default().labels("team in (x, y)")).await, ["a", "b"]);
    assert_eq!(names(ListParams::default().labels("team,team!=x")).await, ["b", "c"]);
    assert_eq!(names(ListParams::default().fields("metadata.name=b")).await, ["b"]);
    let status = api_error(api.list(&ListParams::default().fields("data.key=1")).await);
    assert_eq!(status.message, "field label not supported: data.key");
}

#[tokio::test]
async fn autoscaling_v1_and_v2_return_the_same_object() {
    let (cluster, client) = start_cluster();
    let old =
        crate::support::dynamic_api(&client, "autoscaling/v1", "HorizontalPodAutoscaler", Some("default"));
    let scaler = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 4, "targetCPUUtilizationPercentage": 80,
        },
    });
    let created = old.patch("web", &PatchParams::apply("flotilla"), &Patch::Apply(&scaler)).await.unwrap();
    assert_eq!(created.data["spec"]["targetCPUUtilizationPercentage"], 80);
    let stored = cluster.get(("autoscaling/v2", "HorizontalPodAutoscaler"), ("default", "web")).unwrap();
    assert_eq!(stored["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
}
