//! Inputs that expand without a bound are findings, and the server lives on.

use axum::body::Body;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{TestServer, WORKLOADS, new_workload};

/// A text whose value doubles with each of 40 filters: ten terabytes.
fn doubling() -> String {
    format!("${{{{ cluster.name{} }}}}", " | map(\"{}{}\")".repeat(40))
}

fn hostile_workload() -> Value {
    let mut new = new_workload("web");
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web, namespace: apps}}\ndata:\n  key: '{}'\n",
        doubling()
    );
    new["spec"]["source"]["files"][0]["text"] = json!(text);
    new
}

fn has_budget_finding(response: &Value) -> bool {
    response["findings"].as_array().is_some_and(|findings| {
        findings.iter().any(|finding| {
            finding["code"] == "G115"
                && finding["severity"] == "error"
                && finding["message"].as_str().unwrap().contains("would produce more than 2 MiB")
        })
    })
}

#[tokio::test]
async fn g115_an_expression_that_doubles_its_value_is_a_finding_on_every_way_in() {
    let server = TestServer::start().await;
    let new = hostile_workload();
    let validated = server.post(&format!("{WORKLOADS}:validate"), &new).await;
    assert!(has_budget_finding(&validated.json()), "{}", validated.text);
    // A draft with findings is stored, and can be looked at.
    let created = server.post(WORKLOADS, &new).await;
    assert_eq!(created.status, 201, "{}", created.text);
    assert_eq!(server.get(&format!("{WORKLOADS}/web")).await.status, 200);
    for (verb, status) in [("plan", 201), ("publish", 422)] {
        let response = server.post(&format!("{WORKLOADS}/web:{verb}"), &json!({ "message": "" })).await;
        assert_eq!(response.status, status, "{verb}: {}", response.text);
        assert!(has_budget_finding(&response.json()), "{verb}: {}", response.text);
    }
    // The same in an override.
    let mut patched = new_workload("patched");
    patched["spec"]["overrides"] = json!([{"id": "01J00000000000000000000000", "name": "double", "patches": [{
        "object": {"kind": "ConfigMap", "name": "patched"},
        "op": "set", "path": "/data/key", "value": doubling()}]}]);
    let validated = server.post(&format!("{WORKLOADS}:validate"), &patched).await;
    assert!(has_budget_finding(&validated.json()), "{}", validated.text);
    let health = server.send(Method::GET, "/healthz", &[], Body::empty()).await;
    assert_eq!(health.status, 200, "the server lives on");
}

#[tokio::test]
async fn g502_a_selector_with_too_many_terms_is_rejected_in_placements_groups_and_lists() {
    let server = TestServer::start().await;
    let selector = (0..2_000).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
    let message = "at most 500 are allowed";
    let mut new = new_workload("web");
    new["spec"]["placement"] = json!({ "predicates": [{ "labelSelector": selector }] });
    let validated = server.post(&format!("{WORKLOADS}:validate"), &new).await;
    assert!(validated.text.contains(message), "{}", validated.text);
    let created = server.post(WORKLOADS, &new).await;
    assert!(created.status.is_client_error() && created.text.contains(message), "{}", created.text);
    let group = json!({ "name": "wide", "selector": selector });
    let created = server.post("/api/v1/cluster-groups", &group).await;
    assert!(created.status.is_client_error() && created.text.contains(message), "{}", created.text);
    for list in ["/api/v1/clusters", WORKLOADS] {
        let response = server.get(&format!("{list}?labelSelector={selector}")).await;
        assert_eq!(response.status, 422, "{list}: {}", response.text);
        assert!(response.text.contains(message), "{list}: {}", response.text);
        let allowed = (0..500).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        let response = server.get(&format!("{list}?labelSelector={allowed}")).await;
        assert_eq!(
            (response.status, response.json()["items"].clone()),
            (StatusCode::OK, json!([])),
            "{}",
            response.text
        );
    }
}

#[tokio::test]
async fn p20_selectors_with_too_many_values_together_are_neither_evaluated_nor_stored() {
    let server = TestServer::start().await;
    let values = (0..600).map(|n| format!("v{n}")).collect::<Vec<_>>().join(",");
    let selector = format!("key notin ({values})");
    let mut placed = new_workload("placed");
    placed["spec"]["placement"] =
        json!({ "predicates": [{ "labelSelector": selector }, { "labelSelector": selector }] });
    let mut overridden = new_workload("overridden");
    let overrides = (0..9).map(|n| {
        json!({"id": format!("01J0000000000000000000000{n}"), "name": format!("o{n}"),
            "target": {"selector": selector}, "patches": []})
    });
    overridden["spec"]["overrides"] = overrides.collect();
    let cases = [
        (&placed, "G502", "The selectors and groups of the placement have 1200 values together"),
        (&overridden, "G111", "The workload has 5400 values in the selectors and groups of its overrides"),
    ];
    for (new, code, message) in cases {
        for path in [format!("{WORKLOADS}:validate"), WORKLOADS.to_owned()] {
            let refused = server.post(&path, new).await;
            assert!(
                refused.text.contains(code) && refused.text.contains(message),
                "{path}: {}",
                refused.text
            );
        }
        let name = new["name"].as_str().unwrap();
        assert_eq!(server.get(&format!("{WORKLOADS}/{name}")).await.status, 404, "{name}");
    }
}
