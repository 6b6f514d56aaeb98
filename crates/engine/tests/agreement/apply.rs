//! Server-side apply, ownership of fields, order, definitions and namespaces.

use domain::release::StageName;
use domain::workload::{ConflictPolicy, Policies};
use serde_json::{Value, json};

use crate::place::*;
use crate::watching::Agent;

pub async fn s3_6_a_second_pass_writes_nothing(mut place: Place) {
    let objects = vec![config_map("settings", "1"), workload("Deployment", "web", None)];
    place.wants(objects.clone(), Policies::default());
    place.until_operational().await;
    let spec = |object: Value| (object["metadata"]["generation"].clone(), object["metadata"]["uid"].clone());
    let before = place.get(CONFIG_MAP, "settings").await.unwrap();
    let deployment = spec(place.get(DEPLOYMENT, "web").await.unwrap());
    place.later(std::time::Duration::ZERO, objects).await;
    place.until_operational().await;
    assert_eq!(place.get(CONFIG_MAP, "settings").await.unwrap(), before);
    assert_eq!(spec(place.get(DEPLOYMENT, "web").await.unwrap()), deployment);
    let managers = before["metadata"]["managedFields"].as_array().unwrap();
    let ours: Vec<&Value> =
        managers.iter().filter(|entry| entry["manager"] == engine::FIELD_MANAGER).collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(ours[0]["operation"], "Apply");
    assert_eq!(ours[0]["fieldsV1"]["f:data"], json!({"f:key": {}}));
}

pub async fn s3_8_the_record_holds_the_uid_of_every_object(place: Place) {
    place.wants(vec![config_map("a", "1"), config_map("b", "1")], Policies::default());
    let report = place.until_operational().await;
    let digest = report.applied.unwrap();
    let recorded =
        async || place.record().await.is_some_and(|record| record["spec"]["applied"] == digest.as_str());
    place.eventually("recorded", recorded).await;
    let record = place.record().await.unwrap();
    assert_eq!(record["metadata"]["finalizers"], json!(["flotilla.dev/applied-cleanup"]));
    for name in ["a", "b"] {
        let live = place.get(CONFIG_MAP, name).await.unwrap();
        let entries = record["spec"]["resources"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["name"] == name).unwrap();
        assert_eq!(entry["uid"], live["metadata"]["uid"]);
    }
}

async fn conflicts(place: &Place) {
    place.wants(vec![config_map("settings", "ours")], Policies::default());
    let (report, message) = place.until_trouble(StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("someone-else") && message.contains("key"), "{message}");
    assert_eq!(report.resources[0].problem.as_ref().unwrap().code, "ApplyConflict");
    assert_eq!(place.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "theirs");
}

pub async fn p13_fields_written_by_another_conflict_with_his_name(place: Place) {
    place.create(config_map("settings", "theirs"), "someone-else").await;
    conflicts(&place).await;
}

pub async fn p13_fields_applied_by_another_conflict_with_his_name(place: Place) {
    place.apply_as(config_map("settings", "theirs"), "someone-else").await;
    conflicts(&place).await;
}

pub async fn the_policy_take_over_takes_fields_of_another(place: Place) {
    place.apply_as(config_map("settings", "theirs"), "someone-else").await;
    let policies = Policies { conflict: ConflictPolicy::TakeOver, ..Policies::default() };
    place.wants(vec![config_map("settings", "ours")], policies);
    place.until_applied().await;
    assert_eq!(place.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "ours");
}

/// A definition of a kind of its own for each scenario.
pub fn definition(group: &str, kind: &str) -> Value {
    let lower = kind.to_lowercase();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{lower}s.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": format!("{lower}s"), "singular": lower, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}})
}

pub async fn an_object_follows_its_definition(place: Place) {
    let object = json!({"apiVersion": "follows.example.com/v1", "kind": "Lamp",
        "metadata": {"name": "a"}, "spec": {"size": 3}});
    place.wants(vec![definition("follows.example.com", "Lamp"), object], Policies::default());
    place.until_applied().await;
    let live = place.get(("follows.example.com/v1", "Lamp"), "a").await.unwrap();
    assert_eq!(live["spec"]["size"], 3);
}

pub async fn r_8_a_missing_namespace_is_made(place: Place) {
    let elsewhere = "made-by-the-engine";
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = elsewhere.into();
    place.wants(vec![object], Policies::default());
    place.until_applied().await;
    assert!(place.get(NAMESPACE, elsewhere).await.is_some());
    place.wants_nothing(domain::workload::DeletionPolicy::Foreground);
    place.until_gone().await;
    let kept = place.get(NAMESPACE, elsewhere).await.unwrap();
    assert!(kept["metadata"].get("deletionTimestamp").is_none());
}

pub async fn r_8_without_the_policy_a_missing_namespace_is_waited_for(place: Place) {
    let elsewhere = "made-by-somebody";
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = elsewhere.into();
    place.wants(vec![object], Policies { create_namespace: false, ..Policies::default() });
    place.until_trouble(StageName::Preflight, "NamespaceMissing").await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": elsewhere}});
    place.create(namespace, "kubectl").await;
    place.until_applied().await;
}

pub async fn an_unknown_kind_is_waited_for(place: Place) {
    let object = json!({"apiVersion": "waits.example.com/v1", "kind": "Lamp",
        "metadata": {"name": "a"}, "spec": {"size": 3}});
    place.wants(vec![object], Policies::default());
    place.until_trouble(StageName::Preflight, "ApiMissing").await;
    place.create(definition("waits.example.com", "Lamp"), "kubectl").await;
    place.until_applied().await;
    let other = Agent::start(place.client(), &place.hub, std::time::Duration::ZERO).await;
    let facts = other.engine.facts().await.unwrap();
    assert_eq!(facts.serves("waits.example.com", "v1", "Lamp"), Some(true));
    assert_eq!(facts.serves("waits.example.com", "v2", "Lamp"), Some(false));
}
