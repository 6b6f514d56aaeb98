//! `/api/v1/search`

use serde_json::{Value, json};

use crate::test_server::TestServer;

fn names(found: &Value) -> Vec<&str> {
    found["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_search_finds_names_of_all_kinds_and_the_actions_on_the_best_match() {
    let server = TestServer::start().await;
    server.register_cluster("web-eu-1", &[]).await;
    server.create_workload("web").await;
    let found = server.get("/api/v1/search?q=web").await.json();
    assert_eq!(names(&found), ["web", "web-eu-1"]);
    assert_eq!(found["items"][0]["kind"], "workload");
    assert_eq!((&found["best"]["kind"], &found["best"]["name"]), (&json!("workload"), &json!("web")));
    let actions = found["best"]["actions"].as_array().unwrap();
    let sync = actions.iter().find(|one| one["action"] == "sync").unwrap();
    assert_eq!(sync["command"], "flotilla sync web");
    assert_eq!(sync["unavailable"], "web was never published.");
    let clusters = server.get("/api/v1/search?q=web&kinds=cluster,group").await.json();
    assert_eq!(names(&clusters), ["web-eu-1"]);
    assert_eq!(names(&server.get("/api/v1/search?q=nothing").await.json()), Vec::<&str>::new());
}

#[tokio::test]
async fn a_search_with_an_unknown_kind_or_a_limit_out_of_range_is_rejected() {
    let server = TestServer::start().await;
    let unknown = server.get("/api/v1/search?q=web&kinds=pod").await;
    assert_eq!(unknown.problem().0, 400);
    assert!(unknown.text.contains("failure, workload, cluster, group, chart"), "{}", unknown.text);
    for limit in ["0", "51"] {
        assert_eq!(server.get(&format!("/api/v1/search?limit={limit}")).await.problem().0, 400);
    }
}
