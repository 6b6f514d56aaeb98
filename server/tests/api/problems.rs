//! Every error of the API is a problem (RFC 9457), including the framework's own.

use axum::body::Body;
use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::test_server::{TestServer, WORKLOADS, new_workload};

#[tokio::test]
async fn a_problem_has_this_json() {
    let server = TestServer::start().await;
    let answer = server.get(&format!("{WORKLOADS}/web")).await;
    insta::assert_json_snapshot!(answer.json(), @r#"
    {
      "type": "urn:flotilla:problem:NotFound",
      "title": "Not Found",
      "status": 404,
      "detail": "There is no workload \"web\".",
      "code": "NotFound",
      "findings": []
    }
    "#);
}

#[tokio::test]
async fn an_unparsable_body_is_a_bad_request_with_the_position() {
    let server = TestServer::start().await;
    let send = async |body: &str| {
        let headers = [("content-type", "application/json")];
        server.send(Method::POST, WORKLOADS, &headers, Body::from(body.to_owned())).await
    };
    for body in
        ["", "{", "[]", "{\"name\": 7}", "{\"name\": \"web\"}", "\u{0}", "{\"name\":\"a\",\"name\":\"b\"}"]
    {
        let answer = send(body).await;
        assert_eq!(answer.problem(), (400, "BadRequest".to_owned()), "{body:?}");
    }
    let detail = send("{\"name\": 7}").await.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("line 1 column"), "{detail}");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(send(&deep).await.problem().0, 400);
}

#[tokio::test]
async fn a_body_with_another_media_type_is_rejected() {
    let server = TestServer::start().await;
    let text = [("content-type", "text/plain")];
    for headers in [&text[..], &[]] {
        let body = Body::from(new_workload("web").to_string());
        let answer = server.send(Method::POST, WORKLOADS, headers, body).await;
        assert_eq!(answer.problem(), (415, "UnsupportedMediaType".to_owned()));
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_are_problems_too() {
    let server = TestServer::start().await;
    for path in ["/api/v1/nothing", "/api/v1/projects/default/workloads/web/-/publish", "/api/v1"] {
        assert_eq!(server.get(path).await.problem(), (404, "NotFound".to_owned()), "{path}");
    }
    let wrong = server.send(Method::PUT, WORKLOADS, &[], Body::empty()).await;
    assert_eq!(wrong.problem(), (405, "MethodNotAllowed".to_owned()));
    assert_eq!(wrong.header("allow"), "GET,HEAD,POST");
    assert_eq!(
        server.post("/api/v1/projects/default/workloads/web:explode", &json!({})).await.problem().0,
        405
    );
}

#[tokio::test]
async fn p19_bodies_are_bounded_and_sources_may_be_larger_than_the_rest() {
    let server = TestServer::start().await;
    let padded = |kilobytes: usize| {
        let mut new = new_workload("web");
        new["spec"]["source"]["files"][0]["text"] = json!(format!("# {}\n", "x".repeat(kilobytes * 1024)));
        new
    };
    assert_eq!(server.post(WORKLOADS, &padded(100)).await.status, StatusCode::CREATED);
    assert_eq!(server.post(WORKLOADS, &padded(13 * 1024)).await.problem(), (413, "TooLarge".to_owned()));
    let message = json!({ "message": "x".repeat(100 * 1024) });
    let publish = server.post(&format!("{WORKLOADS}/web:publish"), &message).await;
    assert_eq!(publish.problem(), (413, "TooLarge".to_owned()));
}

#[tokio::test]
async fn a_path_that_is_not_utf8_is_rejected() {
    let server = TestServer::start().await;
    assert_eq!(server.get(&format!("{WORKLOADS}/%ff%fe")).await.problem().0, 400);
}

#[tokio::test]
async fn every_response_has_a_request_id_and_security_headers() {
    let server = TestServer::start().await;
    let answer = server.get(WORKLOADS).await;
    assert!(!answer.header("x-request-id").is_empty());
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"));
    assert_eq!(answer.header("referrer-policy"), "same-origin");
}
