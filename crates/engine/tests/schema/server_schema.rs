//! The schema in the repository equals the one that agents read from this version of Kubernetes.

use domain::Timestamp;
use domain::schema::{KUBERNETES_JSON, MAX_BYTES};
use testkit::{ControlPlane, ControlPlaneOptions, is_available};

/// Reads the schema of the server.
async fn read_server_schema() -> String {
    // Not the shared one, because another test defines a kind on it.
    let plane = &ControlPlane::start(ControlPlaneOptions::default()).await;
    let options = engine::Options::new(|| Timestamp::from_millis(0));
    engine::read_schema(plane.client(), &options).await.unwrap().text
}

#[tokio::test]
async fn g403_the_schema_in_the_repository_equals_the_schema_of_the_server() {
    if !is_available("g403_the_schema_in_the_repository_equals_the_schema_of_the_server") {
        return;
    }
    let text = read_server_schema().await;
    if let Some(out) = std::env::var_os("FLOTILLA_SCHEMA_OUT") {
        std::fs::write(out, text).unwrap();
        return;
    }
    assert!(text.len() < MAX_BYTES / 4, "room to grow");
    let stored = String::from_utf8_lossy(KUBERNETES_JSON);
    let difference = text.lines().zip(stored.lines()).find(|(server, stored)| server != stored);
    assert!(
        text == stored,
        "run `cargo xtask schema`: the schema of the server differs, first in {difference:#?}"
    );
}
