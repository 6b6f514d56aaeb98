//! The schema in the repository is what this version of Kubernetes says of itself.

use domain::schema::{KUBERNETES_JSON, MAX_BYTES, Schema};
use serde_json::Value;
use testkit::{ControlPlane, Options, available};

use crate::ask;

/// Takes the schema from the server.
async fn taken() -> Schema {
    // Its own: another test defines a kind on the shared one.
    let plane = &ControlPlane::start(Options::default()).await;
    let get =
        async |path: &str| ask(plane, http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap();
    let index = get("/openapi/v3").await;
    let mut documents: Vec<Value> = Vec::new();
    for (path, entry) in index["paths"].as_object().unwrap() {
        let of_a_version = path == "api/v1" || path.matches('/').count() == 2 && path.starts_with("apis/");
        if of_a_version {
            documents.push(get(entry["serverRelativeURL"].as_str().unwrap()).await);
        }
    }
    let minor = plane.version().trim_start_matches('v').split('.').nth(1).unwrap().parse().unwrap();
    Schema::from_openapi(minor, &documents)
}

#[tokio::test]
async fn g403_the_schema_in_the_repository_is_what_the_server_says_of_itself() {
    if !available("g403_the_schema_in_the_repository_is_what_the_server_says_of_itself") {
        return;
    }
    let text = taken().await.write();
    if let Some(out) = std::env::var_os("FLOTILLA_SCHEMA_OUT") {
        std::fs::write(out, text).unwrap();
        return;
    }
    assert!(text.len() < MAX_BYTES / 4, "room to grow");
    let ours = String::from_utf8_lossy(KUBERNETES_JSON);
    let differs = text.lines().zip(ours.lines()).find(|(theirs, ours)| theirs != ours);
    assert!(text == ours, "run `cargo xtask schema`: this server says something else, first {differs:#?}");
}
