//! Preflight: kinds, definitions, namespaces.

use std::time::Duration;

use domain::quantity::Quantity;
use domain::release::{StageName, StageState};
use domain::report::ReleaseReport;
use domain::workload::Policies;
use engine::Desired;
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

#[tokio::test]
async fn p15_a_definition_and_its_objects_come_in_one_bundle() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![widget(), definition()]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    assert!(cluster.get(("example.com/v1", "Widget"), ("default", "a")).is_some());
    agent.stop().await;
}

/// The fixture of the browser tests: a definition with a schema and an object of its kind.
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

#[tokio::test]
async fn an_object_follows_its_definition_without_waiting_for_a_retry() {
    let cluster = cluster();
    let client = kube::Client::new(cluster.service(), "default");
    let patient = engine::Options {
        retry_first: Duration::from_secs(600),
        retry_max: Duration::from_secs(600),
        ..options()
    };
    let agent = Agent::start(engine::Engine::connect(client, patient).await.unwrap());
    let wanted = desired(1, 1, &bundle(lighthouse()), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    let report = agent.until_applied(&wanted.want).await;
    assert!(cluster.get(("coast.flotilla.dev/v1", "Lighthouse"), ("default", "old-head")).is_some());
    // Only its controller is waited for now: a status may come within 30 s (`health.md` C.2).
    assert_eq!(report.health.reason, "StatusNotReportedYet");
    agent.stop().await;
}

#[tokio::test]
async fn an_unknown_kind_waits_and_goes_on_when_it_appears() {
    let cluster = cluster();
    let client = kube::Client::new(cluster.service(), "default");
    let patient = engine::Options { retry_first: std::time::Duration::from_secs(600), ..options() };
    let agent = Agent::start(engine::Engine::connect(client, patient).await.unwrap());
    let wanted = desired(1, 1, &bundle(vec![config_map("settings", "1"), widget()]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    let (report, message) = agent.until_trouble(release(1), StageName::Preflight, "ApiMissing").await;
    assert!(message.contains("Widget default/a"), "{message}");
    assert_eq!(report.applied, None);
    assert!(
        cluster.get(CONFIG_MAP, ("default", "settings")).is_none(),
        "nothing is touched before all is known"
    );
    let mut facts = agent.engine.facts_changed();
    facts.borrow_and_update();
    cluster.create(definition(), "kubectl-create").unwrap();
    agent.until_applied(&wanted.want).await;
    assert!(facts.has_changed().unwrap());
    let served = agent.engine.facts().await.unwrap().serves("example.com", "v1", "Widget");
    assert_eq!(served, Some(true));
    agent.stop().await;
}

#[tokio::test]
async fn r_8_a_missing_namespace_is_made_if_the_policy_says_so_and_stays_when_the_release_goes() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = "shop".into();
    let wanted = desired(1, 1, &bundle(vec![object]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    let made = cluster.get(NAMESPACE, ("", "shop")).unwrap();
    assert_eq!(made["metadata"]["labels"].get(engine::RELEASE_LABEL), None);
    agent.engine.set_desired(vec![absent(1, 2, domain::workload::DeletionPolicy::Foreground)]);
    agent.until(release(1), "gone", |report| report.gone).await;
    assert!(cluster.get(NAMESPACE, ("", "shop")).unwrap()["metadata"].get("deletionTimestamp").is_none());
    agent.stop().await;
}

#[tokio::test]
async fn r_8_without_the_policy_a_missing_namespace_is_waited_for() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = "shop".into();
    let policies = Policies { create_namespace: false, ..Policies::default() };
    let wanted = desired(1, 1, &bundle(vec![object]), policies);
    agent.engine.set_desired(vec![wanted.clone()]);
    let (_, message) = agent.until_trouble(release(1), StageName::Preflight, "NamespaceMissing").await;
    assert!(message.contains("\"shop\""), "{message}");
    cluster
        .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}), "kubectl")
        .unwrap();
    agent.until_applied(&wanted.want).await;
    agent.stop().await;
}

#[tokio::test]
async fn facts_name_version_nodes_kinds_and_classes() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let facts = agent.engine.facts().await.unwrap();
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
    assert_eq!((pool.cpu, pool.largest_cpu), (Quantity::whole(48), Quantity::whole(16)));
    assert!(facts.namespace("default").is_some());
    agent.stop().await;
}

#[tokio::test]
async fn facts_are_told_again_when_a_namespace_gets_a_quota_and_a_level() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    assert!(agent.engine.facts().await.unwrap().namespace("shop").is_none());
    let mut changed = agent.engine.facts_changed();
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
        tokio::time::timeout(PATIENCE, changed.changed()).await.expect("it is told").unwrap();
        let facts = agent.engine.facts().await.unwrap();
        let known = facts.namespace("shop").filter(|shop| !shop.quotas.is_empty());
        if let Some(shop) = known {
            break shop.clone();
        }
    };
    assert_eq!(shop.pod_security, "restricted");
    let left: Vec<_> = shop.quotas[0].left().collect();
    assert_eq!(left, [("requests.cpu", Quantity::parse("1.5").unwrap())]);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_fetch_is_told_once_it_takes_longer_than_a_moment() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    let fetching = StageState::Running { message: "Fetching the bundle.".into() };
    agent.engine.set_desired(vec![Desired { bundle: None, pulled: fetching.clone(), ..wanted.clone() }]);
    // Time stands still while anybody has something to do.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(agent.reports(release(1)), []);
    let told = |report: &ReleaseReport| state(report, StageName::Pulled) == Some(&fetching);
    agent.until(release(1), "told that it is being fetched", told).await;
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    agent.stop().await;
}
