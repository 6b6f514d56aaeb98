//! Preflight: kinds, definitions, namespaces.

use std::time::Duration;

use domain::quantity::Quantity;
use domain::release::{StageName, StageState};
use domain::report::ReleaseReport;
use domain::workload::Policies;
use engine::ReleaseInput;
use serde_json::{Value, json};

use crate::harness::*;

fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "properties": {"spec": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}}}]}})
}

fn widget() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"size": 3}})
}

#[tokio::test(start_paused = true)]
async fn p15_a_bundle_may_contain_a_definition_and_its_objects() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![widget(), definition()]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    assert!(cluster.get(("example.com/v1", "Widget"), ("default", "a")).is_some());
    agent.stop().await;
}

/// The `crd` fixture of the browser tests: a definition with a schema, and an object of its kind.
fn lighthouse() -> Vec<Value> {
    let schema = json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["heightMetres"], "properties": {
            "heightMetres": {"type": "integer", "minimum": 1},
            "character": {"type": "string", "maxLength": 32},
            "coast": {"type": "string", "enum": ["north", "east", "south", "west"]}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lighthouses.coast.flotilla.dev"},
        "spec": {"group": "coast.flotilla.dev", "scope": "Namespaced",
            "names": {"kind": "Lighthouse", "plural": "lighthouses", "singular": "lighthouse", "shortNames": ["lh"]},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "additionalPrinterColumns":
                    [{"name": "Height", "type": "integer", "jsonPath": ".spec.heightMetres"}],
                "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}]}});
    let object = json!({"apiVersion": "coast.flotilla.dev/v1", "kind": "Lighthouse",
        "metadata": {"name": "old-head", "namespace": "default"},
        "spec": {"heightMetres": 41, "character": "Fl(3) W 20s", "coast": "west"}});
    vec![definition, object]
}

#[tokio::test(start_paused = true)]
async fn an_object_is_applied_once_its_definition_is_established_without_waiting_for_a_retry() {
    let cluster = simulated_cluster();
    let client = kube::Client::new(cluster.service(), "default");
    let options = engine::Options {
        retry_first: Duration::from_secs(600),
        retry_max: Duration::from_secs(600),
        ..options()
    };
    let agent = TestAgent::start(engine::Engine::connect(client, options).await.unwrap());
    let input = present_input(1, 1, &bundle(lighthouse()), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    let report = agent.until_applied(&input.desired).await;
    assert!(cluster.get(("coast.flotilla.dev/v1", "Lighthouse"), ("default", "old-head")).is_some());
    // Only the first status of its controller is missing; its grace period is 30 s.
    assert_eq!(report.health.reason, "StatusNotReportedYet");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_kind_is_awaited_and_applied_once_served() {
    let cluster = simulated_cluster();
    let client = kube::Client::new(cluster.service(), "default");
    let options = engine::Options { retry_first: std::time::Duration::from_secs(600), ..options() };
    let agent = TestAgent::start(engine::Engine::connect(client, options).await.unwrap());
    let input =
        present_input(1, 1, &bundle(vec![config_map("settings", "1"), widget()]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    let (report, message) = agent.until_stage_reason(release_id(1), StageName::Preflight, "ApiMissing").await;
    assert!(message.contains("Widget default/a"), "{message}");
    assert_eq!(report.applied, None);
    assert!(
        cluster.get(CONFIG_MAP, ("default", "settings")).is_none(),
        "nothing is written before the preflight succeeds"
    );
    let mut facts = agent.engine.subscribe_facts_changed();
    facts.borrow_and_update();
    cluster.create(definition(), "kubectl-create").unwrap();
    agent.until_applied(&input.desired).await;
    assert!(facts.has_changed().unwrap());
    let served = agent.engine.read_facts().await.unwrap().serves("example.com", "v1", "Widget");
    assert_eq!(served, Some(true));
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r_8_a_missing_namespace_is_created_by_policy_and_outlives_the_release() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = "shop".into();
    let input = present_input(1, 1, &bundle(vec![object]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    let created = cluster.get(NAMESPACE, ("", "shop")).unwrap();
    assert_eq!(created["metadata"]["labels"].get(engine::RELEASE_LABEL), None);
    agent.engine.set_desired(vec![absent_input(1, 2, domain::workload::DeletionPolicy::Foreground)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert!(cluster.get(NAMESPACE, ("", "shop")).unwrap()["metadata"].get("deletionTimestamp").is_none());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r_8_without_the_policy_a_missing_namespace_is_awaited() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = "shop".into();
    let policies = Policies { create_namespace: false, ..Policies::default() };
    let input = present_input(1, 1, &bundle(vec![object]), policies);
    agent.engine.set_desired(vec![input.clone()]);
    let (_, message) =
        agent.until_stage_reason(release_id(1), StageName::Preflight, "NamespaceMissing").await;
    assert!(message.contains("\"shop\""), "{message}");
    cluster
        .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}), "kubectl")
        .unwrap();
    agent.until_applied(&input.desired).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn facts_contain_version_nodes_kinds_and_classes() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let facts = agent.engine.read_facts().await.unwrap();
    assert_eq!(facts.kubernetes_version, "v1.33.4");
    assert_eq!(facts.nodes, Some(3));
    assert_eq!(facts.serves("apps", "v1", "Deployment"), Some(true));
    assert_eq!(facts.serves("example.com", "v1", "Widget"), Some(false));
    assert_eq!(
        (&*facts.default_storage_class, &facts.storage_classes[..]),
        ("standard", &["standard".to_owned()][..])
    );
    let [pool] = &facts.node_pools[..] else { panic!("{:?}", facts.node_pools) };
    assert_eq!((&*pool.architecture, pool.nodes, pool.ready), ("amd64", 3, 3));
    assert_eq!((pool.cpu, pool.largest_cpu), (Quantity::from_units(48), Quantity::from_units(16)));
    assert!(facts.namespace("default").is_some());
    // The simulated cluster allows everything, and says so.
    assert!(facts.permissions_known && facts.apis.iter().all(|api| !api.denied), "{:?}", facts.apis);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn facts_change_when_a_namespace_gets_a_quota_and_a_pod_security_level() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    assert!(agent.engine.read_facts().await.unwrap().namespace("shop").is_none());
    let mut changed = agent.engine.subscribe_facts_changed();
    changed.borrow_and_update();
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}});
    cluster.create(namespace, "kubectl").unwrap();
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small", "namespace": "shop"},
        "spec": {"hard": {"requests.cpu": "1500m"}},
    });
    cluster.create(quota, "kubectl").unwrap();

    let shop = loop {
        tokio::time::timeout(TIMEOUT, changed.changed()).await.expect("the facts change").unwrap();
        let facts = agent.engine.read_facts().await.unwrap();
        let with_quota = facts.namespace("shop").filter(|shop| !shop.quotas.is_empty());
        if let Some(shop) = with_quota {
            break shop.clone();
        }
    };
    assert_eq!(shop.pod_security, "restricted");
    let left: Vec<_> = shop.quotas[0].remaining().collect();
    assert_eq!(left, [("requests.cpu", Quantity::parse("1.5").unwrap())]);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pull_is_reported_only_after_the_progress_delay() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    let fetching = StageState::Running { message: "Fetching the bundle.".into() };
    agent.engine.set_desired(vec![ReleaseInput {
        bundle: None,
        pull_stage: fetching.clone(),
        ..input.clone()
    }]);
    // Paused time advances only when all tasks are idle.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(agent.reports(release_id(1)), []);
    let is_pulling = |report: &ReleaseReport| stage_state(report, StageName::Pulled) == Some(&fetching);
    agent.wait_for_report(release_id(1), "reported as pulling", is_pulling).await;
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p13_nothing_is_applied_or_healed_while_the_autoscalers_of_the_cluster_are_unknown() {
    let cluster = cluster_without_controllers();
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "theirs", "namespace": "default"},
        "spec": {"minReplicas": 1, "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    cluster.create(scaler, "kubectl-create").unwrap();
    let content = bundle(vec![deployment("web", 2, "nginx:1")]);
    let input = present_input(1, 1, &content, Policies::default());
    let first = start_agent(&cluster).await;
    first.engine.set_desired(vec![input.clone()]);
    first.until_applied(&input.desired).await;
    first.stop().await;
    let scale = |object: &mut Value| object["spec"]["replicas"] = 7.into();
    cluster.edit(DEPLOYMENT, ("default", "web"), "horizontal-pod-autoscaler", scale).unwrap();
    let replicas = || cluster.get(DEPLOYMENT, ("default", "web")).unwrap()["spec"]["replicas"].clone();

    // The list answers neither with autoscalers nor with a refusal.
    cluster.faults().set_failing_paths(vec!["/horizontalpodautoscalers".to_owned()]);
    let agent = start_agent(&cluster).await;
    agent.engine.set_desired(vec![input.clone()]);
    let (_, message) = agent.until_stage_reason(release_id(1), StageName::Preflight, "ServerFailed").await;
    assert!(message.contains("Reading the autoscalers of the cluster"), "{message}");
    assert_eq!(replicas(), 7, "it is not reverted");
    let plan = agent
        .engine
        .dry_run("shop1", Some(release_id(1)), &present_phase(Policies::default()), &content)
        .await;
    let unverified = &plan.objects[0].unverified;
    assert!(unverified.contains("Whether an autoscaler sets its replicas is unknown"), "{plan:#?}");

    cluster.faults().clear();
    agent.until_applied(&input.desired).await;
    assert_eq!(replicas(), 7);
    assert!(agent.drift().is_empty());
    agent.stop().await;
}
