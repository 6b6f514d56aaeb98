//! `/api/v1/projects/default`

use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::test_server::TestServer;

const PROJECT: &str = "/api/v1/projects/default";

#[tokio::test]
async fn the_values_that_a_project_locks_are_replaced_only_with_the_revision_that_was_read() {
    let server = TestServer::start().await;
    let (eu, us) = (json!({ "lockedValues": "region: eu\n" }), json!({ "lockedValues": "region: us\n" }));
    let unconditional = server.send_json(Method::PUT, PROJECT, &[], &eu).await;
    assert_eq!(unconditional.problem(), (428, "PreconditionRequired".to_owned()));
    let read = server.get(PROJECT).await;
    let seen = [("if-match", read.header("etag"))];
    let saved = server.send_json(Method::PUT, PROJECT, &seen, &eu).await;
    assert_eq!(saved.status, StatusCode::OK, "{}", saved.text);
    let late = server.send_json(Method::PUT, PROJECT, &seen, &us).await;
    assert_eq!(late.problem(), (412, "RevisionConflict".to_owned()), "{}", late.text);
    let any = server.send_json(Method::PUT, PROJECT, &[("if-match", "*")], &us).await;
    assert_eq!((any.status, &any.json()["lockedValues"]), (StatusCode::OK, &json!("region: us\n")));
}
