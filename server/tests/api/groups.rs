//! `/api/v1/cluster-groups…`

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::house::House;

const GROUPS: &str = "/api/v1/cluster-groups";

fn path(rest: &str) -> String {
    format!("{GROUPS}/{rest}")
}

fn edge_of(members: &[&str]) -> Value {
    json!({ "members": members })
}

#[tokio::test]
async fn s1_2_a_group_is_made_read_replaced_and_forgotten() {
    let house = House::new().await;
    let edge = json!({ "name": "edge", "members": ["eu-1"] });
    let made = house.post(GROUPS, &edge).await;
    let kept = json!({ "name": "edge", "members": ["eu-1"], "revision": 1 });
    assert_eq!((made.status, made.json()), (StatusCode::CREATED, kept.clone()), "{}", made.text);
    assert_eq!(house.post(GROUPS, &edge).await.problem(), (409, "Exists".to_owned()));
    assert_eq!(house.get(GROUPS).await.json(), json!([kept]));

    let put = json!({ "members": ["eu-1", "eu-2"], "selector": "tier=edge" });
    let replaced = house.json(Method::PUT, &path("edge"), &[], &put).await;
    assert_eq!(replaced.status, StatusCode::OK, "{}", replaced.text);
    let read = house.get(&path("edge")).await;
    assert_eq!(read.header("etag"), "\"2\"");
    let members = json!(["eu-1", "eu-2"]);
    assert_eq!(
        read.json(),
        json!({ "name": "edge", "members": members, "selector": "tier=edge", "revision": 2 })
    );

    let late = house.json(Method::PUT, &path("edge"), &[("if-match", "\"1\"")], &edge_of(&[])).await;
    assert_eq!(late.problem(), (412, "Changed".to_owned()), "{}", late.text);
    let seen = house.json(Method::PUT, &path("edge"), &[("if-match", "\"2\"")], &edge_of(&["eu-1"])).await;
    assert_eq!((seen.status, seen.header("etag")), (StatusCode::OK, "\"3\""));
    let nobody = house.json(Method::PUT, &path("core"), &[("if-match", "\"1\"")], &edge_of(&[])).await;
    assert_eq!(nobody.problem().0, 404, "what one has seen is not made anew");

    assert_eq!(house.delete(&path("edge")).await.status, StatusCode::NO_CONTENT);
    assert_eq!(house.delete(&path("edge")).await.problem(), (404, "NotFound".to_owned()));
    assert_eq!(house.get(&path("edge")).await.problem(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn what_can_be_no_group_is_refused_with_the_field() {
    let house = House::new().await;
    let wrong = json!({ "name": "No Name", "members": ["A B"], "selector": "" });
    let answer = house.post(GROUPS, &wrong).await;
    assert_eq!(answer.problem(), (422, "Invalid".to_owned()));
    let paths: Vec<Value> =
        answer.json()["findings"].as_array().unwrap().iter().map(|finding| finding["path"].clone()).collect();
    assert_eq!(paths, ["/name", "/members", "/selector"]);
    assert_eq!(house.get(GROUPS).await.json(), json!([]));
}

#[tokio::test]
async fn a_group_that_a_workload_asks_for_is_not_forgotten() {
    let house = House::new().await;
    house.cluster("eu-1", &[]).await;
    house.workload("web").await;
    house.json(Method::PUT, &path("edge"), &[], &json!({ "members": ["eu-1"] })).await;
    let over = json!({ "target": { "groups": ["edge"] }, "patches": [] });
    let web = "/api/v1/projects/default/workloads/web/overrides/eu";
    assert_eq!(house.json(Method::PUT, web, &[], &over).await.status, StatusCode::OK);
    let refused = house.delete(&path("edge")).await;
    assert_eq!(refused.problem().0, 409, "{}", refused.text);
    assert!(refused.text.contains("web asks for the group edge"), "{}", refused.text);
    assert_eq!(house.delete(web).await.status, StatusCode::OK);
    // A wave of a rollout asks for it too.
    let web = "/api/v1/projects/default/workloads/web";
    let put = async |waves: serde_json::Value| {
        let now = house.get(web).await;
        let mut spec = now.json()["draft"].clone();
        spec["rollout"] = json!({ "waves": waves });
        let seen = [("if-match", now.header("etag"))];
        let saved = house.json(Method::PUT, web, &seen, &json!({ "spec": spec })).await;
        assert_eq!(saved.status, StatusCode::OK, "{}", saved.text);
    };
    put(json!([{ "name": "edge", "target": { "groups": ["edge"] } }])).await;
    assert_eq!(house.delete(&path("edge")).await.problem().0, 409);
    put(json!([])).await;
    assert_eq!(house.delete(&path("edge")).await.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_placement_asks_for_a_group_for_facts_and_for_a_spread() {
    let house = House::new().await;
    for (name, region) in [("eu-1", "eu"), ("eu-2", "eu"), ("us-1", "us")] {
        house.cluster(name, &[("region", region)]).await;
    }
    house.json(Method::PUT, &path("eu"), &[], &json!({ "selector": "region=eu" })).await;
    let preview = json!({ "placement": {
        "predicates": [{ "groups": ["eu"] }, { "fieldSelector": "region=us" }],
        "spread": [{ "key": "region" }],
        "score": [{ "name": "label", "selector": "region=us", "weight": 2 }],
        "numberOfClusters": 2,
    } });
    let decision = house.post("/api/v1/projects/default/placements:preview", &preview).await.json();
    let chosen: Vec<&Value> = decision["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|verdict| verdict["chosen"] == true)
        .map(|verdict| &verdict["name"])
        .collect();
    assert_eq!(chosen, ["eu-1", "us-1"], "{decision}");
    let wrong = json!({ "placement": { "predicates": [{ "fieldSelector": "cloud=aws" }] } });
    let answer = house.post("/api/v1/projects/default/placements:preview", &wrong).await;
    assert_eq!(answer.problem().0, 400, "{}", answer.text);
    assert!(answer.text.contains("is not a fact"), "{}", answer.text);
}
