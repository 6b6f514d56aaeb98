//! The schema in the repository is what this version of Kubernetes says of itself, as agents read it.

use domain::Timestamp;
use domain::schema::{KUBERNETES_JSON, MAX_BYTES};
use testkit::{ControlPlane, Options, available};

/// Takes the schema from the server.
async fn taken() -> String {
    // Its own: another test defines a kind on the shared one.
    let plane = &ControlPlane::start(Options::default()).await;
    let options = engine::Options::new(|| Timestamp::from_millis(0));
    engine::schema(plane.client(), &options).await.unwrap().text
}

#[tokio::test]
async fn g403_the_schema_in_the_repository_is_what_the_server_says_of_itself() {
    if !available("g403_the_schema_in_the_repository_is_what_the_server_says_of_itself") {
        return;
    }
    let text = taken().await;
    if let Some(out) = std::env::var_os("FLOTILLA_SCHEMA_OUT") {
        std::fs::write(out, text).unwrap();
        return;
    }
    assert!(text.len() < MAX_BYTES / 4, "room to grow");
    let ours = String::from_utf8_lossy(KUBERNETES_JSON);
    let differs = text.lines().zip(ours.lines()).find(|(theirs, ours)| theirs != ours);
    assert!(text == ours, "run `cargo xtask schema`: this server says something else, first {differs:#?}");
}
