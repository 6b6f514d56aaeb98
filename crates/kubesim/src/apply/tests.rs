//! Server-side apply: ownership, conflicts, removal.

use serde_json::{Value, json};

use super::*;
use crate::schema::TypeSchema;

fn schema() -> std::sync::Arc<TypeSchema> {
    TypeSchema::builtin()
}

fn writer(manager: &str) -> FieldManager<'_> {
    FieldManager { manager, subresource: "", api_version: "apps/v1", now: "2026-01-01T00:00:00Z" }
}

fn config(replicas: Option<i64>, image: &str) -> Value {
    let mut value = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}},
    });
    if let Some(replicas) = replicas {
        value["spec"]["replicas"] = replicas.into();
    }
    value
}

fn apply_as(live: &Value, config: &Value, manager: &str) -> ApiResult<Value> {
    let schema = schema();
    let ty = schema.type_ref(schema.lookup("apps.Deployment").unwrap());
    apply_config(live, config, ty, writer(manager), false)
}

fn update_as(live: &Value, edit: impl FnOnce(&mut Value), manager: &str) -> Value {
    let schema = schema();
    let ty = schema.type_ref(schema.lookup("apps.Deployment").unwrap());
    let mut new = live.clone();
    edit(&mut new);
    record_ownership(live, &mut new, ty, writer(manager));
    new
}

#[test]
fn an_applier_owns_exactly_what_it_sends() {
    let live = apply_as(&json!({}), &config(Some(2), "a"), "flotilla").unwrap();
    let entry = &live["metadata"]["managedFields"][0];
    assert_eq!(entry["operation"], "Apply");
    assert_eq!(
        entry["fieldsV1"],
        json!({
            "f:metadata": {"f:labels": {"f:app": {}}},
            "f:spec": {
                "f:replicas": {},
                "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}, "f:name": {}}}}},
            },
        })
    );
}

#[test]
fn changing_another_managers_field_is_a_conflict_with_the_servers_message() {
    let live = apply_as(&json!({}), &config(Some(2), "a"), "flotilla").unwrap();
    let live = update_as(&live, |v| v["spec"]["replicas"] = 5.into(), "kubectl-edit");
    let refusal = apply_as(&live, &config(Some(2), "a"), "flotilla").unwrap_err();
    assert_eq!(refusal.code, 409);
    assert_eq!(
        refusal.message,
        "Apply failed with 1 conflict: conflict with \"kubectl-edit\" using apps/v1: .spec.replicas"
    );
    let cause = &refusal.details.as_ref().unwrap()["causes"][0];
    assert_eq!(cause["message"], "conflict with \"kubectl-edit\" using apps/v1");
    assert_eq!(cause["field"], ".spec.replicas");
}

#[test]
fn several_conflicts_are_listed_by_manager() {
    let live = apply_as(&json!({}), &config(Some(2), "a"), "flotilla").unwrap();
    let refusal = apply_as(&live, &config(Some(3), "b"), "other").unwrap_err();
    assert_eq!(
        refusal.message,
        "Apply failed with 2 conflicts: conflicts with \"flotilla\":\n- .spec.replicas\n\
         - .spec.template.spec.containers[name=\"web\"].image"
    );
}

#[test]
fn a_field_that_is_no_longer_applied_is_removed() {
    let live = apply_as(&json!({}), &config(Some(2), "a"), "flotilla").unwrap();
    let live = apply_as(&live, &config(None, "a"), "flotilla").unwrap();
    assert!(live["spec"].get("replicas").is_none());
}

#[test]
fn a_field_that_another_manager_also_owns_is_retained() {
    let live = apply_as(&json!({}), &config(Some(2), "a"), "flotilla").unwrap();
    let live = apply_as(&live, &config(Some(2), "a"), "other").unwrap();
    let live = apply_as(&live, &config(None, "a"), "flotilla").unwrap();
    assert_eq!(live["spec"]["replicas"], 2);
}

#[test]
fn applying_the_same_twice_changes_nothing() {
    let live = apply_as(&json!({}), &config(Some(2), "a"), "flotilla").unwrap();
    assert_eq!(apply_as(&live, &config(Some(2), "a"), "flotilla").unwrap(), live);
}

#[test]
fn a_removed_container_loses_its_defaults_and_the_others_keep_their_order() {
    let mut two = config(None, "a");
    two["spec"]["template"]["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"name": "side", "image": "s"}));
    let live = apply_as(&json!({}), &two, "flotilla").unwrap();
    let live = {
        let mut live = live;
        live["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Always".into();
        live
    };
    let live = apply_as(&live, &config(None, "a"), "flotilla").unwrap();
    assert_eq!(live["spec"]["template"]["spec"]["containers"], json!([{"name": "web", "image": "a"}]));
}

#[test]
fn an_update_owns_the_fields_it_changed() {
    let live = update_as(&json!({}), |v| *v = config(Some(1), "a"), "kubectl-create");
    let live = update_as(&live, |v| v["spec"]["replicas"] = 4.into(), "kubectl-edit");
    let entries = live["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries[1]["manager"], "kubectl-edit");
    assert_eq!(entries[1]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    assert!(entries[0]["fieldsV1"]["f:spec"].get("f:replicas").is_none());
    assert_eq!(entries[0]["fieldsV1"]["f:metadata"], json!({"f:labels": {".": {}, "f:app": {}}}));
}
