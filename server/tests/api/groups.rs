//! `/api/v1/cluster-groups…`

use axum::body::Body;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::TestServer;

const GROUPS: &str = "/api/v1/cluster-groups";

fn path(rest: &str) -> String {
    format!("{GROUPS}/{rest}")
}

fn group_with_members(members: &[&str]) -> Value {
    json!({ "members": members })
}

#[tokio::test]
async fn s1_1_a_group_is_created_read_replaced_and_deleted() {
    let server = TestServer::start().await;
    let edge = json!({ "name": "edge", "members": ["eu-1"] });
    let created = server.post(GROUPS, &edge).await;
    let stored = json!({ "name": "edge", "members": ["eu-1"], "revision": 1 });
    assert_eq!((created.status, created.json()), (StatusCode::CREATED, stored.clone()), "{}", created.text);
    assert_eq!(server.post(GROUPS, &edge).await.problem(), (409, "AlreadyExists".to_owned()));
    assert_eq!(server.get(GROUPS).await.json(), json!([stored]));

    let put = json!({ "members": ["eu-1", "eu-2"], "selector": "tier=edge" });
    let replaced = server.send_json(Method::PUT, &path("edge"), &[], &put).await;
    assert_eq!(replaced.status, StatusCode::OK, "{}", replaced.text);
    let read = server.get(&path("edge")).await;
    assert_eq!(read.header("etag"), "\"2\"");
    let members = json!(["eu-1", "eu-2"]);
    assert_eq!(
        read.json(),
        json!({ "name": "edge", "members": members, "selector": "tier=edge", "revision": 2, "missing": members, "matching": 0 })
    );

    let late = server
        .send_json(Method::PUT, &path("edge"), &[("if-match", "\"1\"")], &group_with_members(&[]))
        .await;
    assert_eq!(late.problem(), (412, "RevisionConflict".to_owned()), "{}", late.text);
    let seen = server
        .send_json(Method::PUT, &path("edge"), &[("if-match", "\"2\"")], &group_with_members(&["eu-1"]))
        .await;
    assert_eq!((seen.status, seen.header("etag")), (StatusCode::OK, "\"3\""));
    let nobody = server
        .send_json(Method::PUT, &path("core"), &[("if-match", "\"1\"")], &group_with_members(&[]))
        .await;
    assert_eq!(nobody.problem().0, 404, "If-Match never creates a group");

    assert_eq!(server.delete(&path("edge")).await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.delete(&path("edge")).await.problem(), (404, "NotFound".to_owned()));
    assert_eq!(server.get(&path("edge")).await.problem(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn an_invalid_group_is_rejected_with_the_fields() {
    let server = TestServer::start().await;
    let wrong = json!({ "name": "No Name", "members": ["A B"], "selector": "" });
    let answer = server.post(GROUPS, &wrong).await;
    assert_eq!(answer.problem(), (422, "Invalid".to_owned()));
    let paths: Vec<Value> =
        answer.json()["findings"].as_array().unwrap().iter().map(|finding| finding["path"].clone()).collect();
    assert_eq!(paths, ["/name", "/members", "/selector"]);
    assert_eq!(server.get(GROUPS).await.json(), json!([]));
}

#[tokio::test]
async fn a_group_that_a_workload_refers_to_is_not_deleted() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    server.create_workload("web").await;
    server.send_json(Method::PUT, &path("edge"), &[], &json!({ "members": ["eu-1"] })).await;
    let over = json!({ "target": { "groups": ["edge"] }, "patches": [] });
    let web = "/api/v1/projects/default/workloads/web/overrides/eu";
    let any = [("if-match", "*")];
    assert_eq!(server.send_json(Method::PUT, web, &any, &over).await.status, StatusCode::OK);
    assert_eq!(server.get(&path("edge")).await.json()["usedBy"], json!(["web"]));
    let refused = server.delete(&path("edge")).await;
    assert_eq!(refused.problem().0, 409, "{}", refused.text);
    assert!(refused.text.contains("web uses the group edge"), "{}", refused.text);
    assert_eq!(server.send(Method::DELETE, web, &any, Body::empty()).await.status, StatusCode::OK);
    // A wave of a rollout refers to it too.
    let web = "/api/v1/projects/default/workloads/web";
    let put = async |waves: serde_json::Value| {
        let now = server.get(web).await;
        let mut spec = now.json()["draft"].clone();
        spec["rollout"] = json!({ "waves": waves });
        let seen = [("if-match", now.header("etag"))];
        let saved = server.send_json(Method::PUT, web, &seen, &json!({ "spec": spec })).await;
        assert_eq!(saved.status, StatusCode::OK, "{}", saved.text);
    };
    put(json!([{ "name": "edge", "target": { "groups": ["edge"] } }])).await;
    assert_eq!(server.delete(&path("edge")).await.problem().0, 409);
    put(json!([])).await;
    assert_eq!(server.delete(&path("edge")).await.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_placement_selects_by_group_facts_and_spread() {
    let server = TestServer::start().await;
    for (name, region) in [("eu-1", "eu"), ("eu-2", "eu"), ("us-1", "us")] {
        server.register_cluster(name, &[("region", region)]).await;
    }
    server.send_json(Method::PUT, &path("eu"), &[], &json!({ "selector": "region=eu" })).await;
    let preview = json!({ "placement": {
        "predicates": [{ "groups": ["eu"] }, { "fieldSelector": "region=us" }],
        "spread": [{ "key": "region" }],
        "score": [{ "name": "label", "selector": "region=us", "weight": 2 }],
        "numberOfClusters": 2,
    } });
    let decision = server.post("/api/v1/projects/default/placements:preview", &preview).await.json();
    let selected: Vec<&Value> = decision["evaluations"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|evaluation| evaluation["selected"] == true)
        .map(|evaluation| &evaluation["name"])
        .collect();
    assert_eq!(selected, ["eu-1", "us-1"], "{decision}");
    let wrong = json!({ "placement": { "predicates": [{ "fieldSelector": "cloud=aws" }] } });
    let answer = server.post("/api/v1/projects/default/placements:preview", &wrong).await;
    assert_eq!(answer.problem().0, 400, "{}", answer.text);
    assert!(answer.text.contains("is not a fact"), "{}", answer.text);
}

async fn put_group(server: &TestServer, name: &str, body: Value) -> crate::test_server::TestResponse {
    server.send_json(Method::PUT, &path(name), &[], &body).await
}

#[tokio::test]
async fn g502_a_put_without_exclusive_leaves_a_group_what_it_is() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    server.register_cluster("eu-2", &[]).await;
    let edge = put_group(&server, "edge", json!({ "members": ["eu-1"], "exclusive": true })).await;
    assert_eq!(edge.status, StatusCode::OK, "{}", edge.text);
    put_group(&server, "prod", json!({ "members": ["eu-2"] })).await;
    // It stays exclusive, so that it can't have a cluster of another group.
    let both = json!({ "members": ["eu-1", "eu-2"] });
    let refused = put_group(&server, "edge", both.clone()).await;
    assert_eq!(refused.problem(), (422, "Invalid".to_owned()), "{}", refused.text);
    let preview = server.post("/api/v1/cluster-groups/edge:preview", &both).await;
    assert_eq!(preview.json()["findings"], refused.json()["findings"], "{}", preview.text);
    let same = put_group(&server, "edge", json!({ "members": ["eu-1"] })).await;
    assert_eq!(same.json()["exclusive"], json!(true), "{}", same.text);
    let open = put_group(&server, "edge", json!({ "members": ["eu-1"], "exclusive": false })).await;
    assert_eq!(open.json()["exclusive"], Value::Null, "{}", open.text);
    assert_eq!(put_group(&server, "edge", both).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_member_that_is_named_twice_is_stored_once() {
    let server = TestServer::start().await;
    let saved = put_group(&server, "edge", group_with_members(&["eu-2", "eu-1", "eu-2"])).await;
    assert_eq!(saved.json()["members"], json!(["eu-2", "eu-1"]), "{}", saved.text);
}

async fn list_conflicts(server: &TestServer, name: &str) -> Vec<String> {
    let read = server.get(&path(name)).await;
    let read = read.json();
    let findings = read["findings"].as_array().cloned().unwrap_or_default();
    findings.iter().map(|finding| format!("{} {}", finding["code"], finding["message"])).collect()
}

#[tokio::test]
async fn g502_an_exclusive_group_shares_no_cluster_that_a_selector_matches() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod"), ("tier", "edge")]).await;
    server.register_cluster("us-1", &[("env", "prod")]).await;
    let edge = put_group(&server, "edge", json!({ "selector": "tier=edge", "exclusive": true })).await;
    assert_eq!(edge.status, StatusCode::OK, "{}", edge.text);
    // Whether the other group is exclusive or not, and names the cluster or matches it.
    for (body, field) in [
        (json!({ "selector": "env=prod", "exclusive": true }), "/selector"),
        (json!({ "selector": "env=prod" }), "/selector"),
        (json!({ "members": ["us-1", "eu-1"] }), "/members"),
    ] {
        let refused = put_group(&server, "prod", body.clone()).await;
        assert_eq!(refused.problem(), (422, "Invalid".to_owned()), "{}", refused.text);
        let findings = refused.json()["findings"].clone();
        let preview = server.post("/api/v1/cluster-groups/prod:preview", &body).await;
        assert_eq!(preview.json()["findings"], findings, "{}", preview.text);
        let expected = "member cluster is already part of a cluster group: edge has eu-1.";
        assert_eq!(findings.as_array().unwrap().len(), 1, "{findings}");
        assert_eq!(
            (&findings[0]["code"], &findings[0]["message"], &findings[0]["path"]),
            (&json!("G502"), &json!(expected), &json!(field))
        );
    }
    assert_eq!(server.get(&path("prod")).await.problem().0, 404, "nothing is stored");
    let members = put_group(&server, "prod", json!({ "selector": "env=prod,!tier" })).await;
    assert_eq!(members.status, StatusCode::OK, "{}", members.text);
}

#[tokio::test]
async fn g502_labels_that_put_a_cluster_into_two_exclusive_groups_are_refused() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    put_group(&server, "prod", json!({ "selector": "env=prod" })).await;
    put_group(&server, "edge", json!({ "selector": "tier=edge", "exclusive": true })).await;
    let cluster = "/api/v1/clusters/eu-1";
    let to_edge = json!({ "labels": { "tier": "edge" } });
    let refused = server.send_json(Method::PATCH, cluster, &[], &to_edge).await;
    assert_eq!(refused.problem(), (422, "Invalid".to_owned()), "{}", refused.text);
    let finding = &refused.json()["findings"][0];
    assert_eq!((&finding["code"], &finding["path"]), (&json!("G502"), &json!("/labels")));
    assert!(finding["message"].as_str().unwrap().contains("the groups edge and prod"), "{finding}");
    assert_eq!(server.get(cluster).await.json()["labels"], json!({ "env": "prod" }));
    // It may move from one to the other.
    let moved = json!({ "labels": { "tier": "edge", "env": null } });
    let changed = server.send_json(Method::PATCH, cluster, &[], &moved).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
}

#[tokio::test]
async fn g502_a_cluster_that_joins_into_two_exclusive_groups_is_a_finding_of_both() {
    let server = TestServer::start().await;
    put_group(&server, "prod", json!({ "selector": "env=prod" })).await;
    put_group(&server, "edge", json!({ "selector": "tier=edge", "exclusive": true })).await;
    assert!(list_conflicts(&server, "edge").await.is_empty());
    server.register_cluster("eu-1", &[("env", "prod"), ("tier", "edge")]).await;
    for (group, other) in [("edge", "prod"), ("prod", "edge")] {
        let found = list_conflicts(&server, group).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("G502"), "{found:?}");
        assert!(found[0].contains(&format!("Cluster eu-1 is also in group {other}")), "{found:?}");
    }
    let facade = server.get("/api/v1/orgs/default/clustergroups/edge").await.json();
    assert_eq!(facade["findings"][0]["code"], "G502", "{facade}");
    // What adds nothing to it is possible, such as a change of other labels and of other settings.
    let locked = json!({ "selector": "tier=edge", "exclusive": true, "lockedValues": "region: eu" });
    let saved = put_group(&server, "edge", locked).await;
    assert_eq!(saved.status, StatusCode::OK, "{}", saved.text);
    let zone = json!({ "labels": { "zone": "a" } });
    let labelled = server.send_json(Method::PATCH, "/api/v1/clusters/eu-1", &[], &zone).await;
    assert_eq!(labelled.status, StatusCode::OK, "{}", labelled.text);
    // It ends with the change that its hint names.
    let narrower = put_group(&server, "prod", json!({ "selector": "env=prod,tier!=edge" })).await;
    assert_eq!(narrower.status, StatusCode::OK, "{}", narrower.text);
    assert!(list_conflicts(&server, "edge").await.is_empty());
}
