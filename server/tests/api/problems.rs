//! Every error of the API is a problem (RFC 9457), including the framework's own.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::sessions::{cookie, form, sign_in};
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
    let detail = async |body: &str| send(body).await.json()["detail"].as_str().unwrap().to_owned();
    let wrong_type = detail("{\"name\": 7}").await;
    assert_eq!(wrong_type, "The body is not valid: /name: invalid type: integer `7`, expected a string.");
    let twice = detail("{\"name\":\"a\",\"name\":\"b\"}").await;
    assert!(twice.contains("the field \"name\" is set twice at line 1 column"), "{twice}");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(send(&deep).await.problem().0, 400);
}

#[tokio::test]
async fn an_unknown_field_is_rejected_with_its_path_and_the_nearest_name_and_stores_nothing() {
    let server = TestServer::start().await;
    server.post(WORKLOADS, &new_workload("web")).await;
    let put = |spec: serde_json::Value| json!({ "spec": spec });
    let spec = |placement: serde_json::Value| {
        let mut spec = new_workload("web")["spec"].clone();
        spec["placement"] = placement;
        spec
    };
    let before = server.get(&format!("{WORKLOADS}/web")).await.json();
    let misspelt = [
        (
            spec(json!({"predicates": [{"labelselector": "env=prod"}]})),
            "/spec/placement/predicates/0: unknown field \"labelselector\", did you mean \"labelSelector\"?",
        ),
        (
            spec(json!({"predicates": [{"clusters": ["eu-1"]}]})),
            "/spec/placement/predicates/0: unknown field \"clusters\"",
        ),
        (spec(json!({"predicates": [{"name": "eu-1"}]})), "did you mean \"names\"?"),
        (
            json!({"namespace": "web", "policies": {"deletoin": "orphan"}}),
            "/spec/policies: unknown field \"deletoin\", did you mean \"deletion\"?",
        ),
        (
            json!({"namespace": "web", "overrides": [{"id": "01J00000000000000000000000", "name": "eu", "patches": [
            {"object": {"kin": "Deployment"}, "op": "remove", "path": "/spec/replicas"}]}]}),
            "/spec/overrides/0/patches/0/object: unknown field \"kin\", did you mean \"kind\"?",
        ),
    ];
    for (spec, message) in misspelt {
        let answer = server
            .send_json(Method::PUT, &format!("{WORKLOADS}/web"), &[("if-match", "*")], &put(spec))
            .await;
        assert_eq!(answer.problem(), (400, "BadRequest".to_owned()), "{message}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(message), "{detail}");
    }
    assert_eq!(server.get(&format!("{WORKLOADS}/web")).await.json(), before);
    let group = server.post("/api/v1/cluster-groups", &json!({"name": "eu", "selektor": "region=eu"})).await;
    assert!(
        group.json()["detail"].as_str().unwrap().contains("did you mean \"selector\"?"),
        "{}",
        group.text
    );
}

#[tokio::test]
async fn g502_a_predicate_without_conditions_is_reported_as_every_cluster() {
    let server = TestServer::start().await;
    let mut request = new_workload("web");
    request["spec"]["placement"] = json!({"predicates": [{}]});
    let answer = server.post(&format!("{WORKLOADS}:validate"), &request).await.json();
    let findings = answer["findings"].as_array().unwrap().clone();
    let note = findings.iter().find(|finding| finding["code"] == "G502").unwrap();
    assert_eq!((&note["severity"], &note["path"]), (&json!("note"), &json!("/placement/predicates/0")));
    assert!(
        note["message"].as_str().unwrap().contains("every cluster, with the next publish also those"),
        "{note}"
    );
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
async fn p19_forms_of_sign_in_are_bounded_whether_or_not_their_length_is_declared() {
    let server = TestServer::start().await;
    let text = format!("name=ada&password={}&next=", "x".repeat(100 * 1024));
    let declared = server.send_raw(form("/api/fn/sign_in", &text, &[])).await;
    assert_eq!(declared.status, StatusCode::PAYLOAD_TOO_LARGE, "{}", declared.text);
    let mut streamed = form("/api/fn/sign_in", "", &[]);
    let chunks =
        text.into_bytes().chunks(8 * 1024).map(<[u8]>::to_vec).map(Ok::<_, Infallible>).collect::<Vec<_>>();
    *streamed.body_mut() = Body::from_stream(futures::stream::iter(chunks));
    let streamed = server.send_raw(streamed).await;
    assert_eq!(streamed.problem(), (413, "TooLarge".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_forms_of_the_console_are_bounded_in_fields_before_they_are_parsed() {
    let server = TestServer::start().await;
    let cookie = cookie(&sign_in(&server).await);
    let create = async |name: &str, more: &str| {
        let fields = "form%5Bnamespace%5D=shop&form%5Bbegin%5D=files";
        let body = format!("form%5Bname%5D={name}&{fields}{more}");
        server.send_raw(form("/api/fn/workload_create", &body, &[("cookie", &cookie)])).await
    };
    let refused = create("web", &"&x=".repeat(50_000)).await;
    assert_eq!(refused.problem(), (400, "BadRequest".to_owned()));
    // Three of its fields have a name with one level.
    assert!(refused.text.contains("50006 fields and levels"), "{}", refused.text);
    let nested = create("web", &"&x[a][a][a][a]=".repeat(10_000)).await;
    assert_eq!(nested.problem(), (400, "BadRequest".to_owned()));
    // A large form within the bounds is executed.
    let created = create("web", &format!("&form%5Bchart%5D={}", "y".repeat(100 * 1024))).await;
    assert_eq!(created.status, StatusCode::OK, "{}", created.text);
}

#[tokio::test]
async fn p19_a_server_function_parses_nothing_but_forms() {
    let server = TestServer::start().await;
    let cookie = cookie(&sign_in(&server).await);
    for media_type in ["text/plain", "application/json", ""] {
        let mut request = form("/api/fn/chart_values_check", &"0[a]&".repeat(50_000), &[("cookie", &cookie)]);
        request.headers_mut().insert("content-type", media_type.parse().unwrap());
        let refused = server.send_raw(request).await;
        assert_eq!(refused.problem(), (415, "UnsupportedMediaType".to_owned()), "{media_type}");
    }
}

#[tokio::test]
async fn a_body_that_stops_is_a_timeout_wherever_it_is_read() {
    let server = TestServer::start().await;
    let stopped = || {
        let parts = [Ok("{".as_bytes()), Err(std::io::Error::other("the client stopped"))];
        Body::from_stream(futures::stream::iter(parts))
    };
    let json = ("content-type", "application/json");
    let charts = "/api/v1/projects/default/charts";
    for (path, headers) in [
        (WORKLOADS, vec![json]),
        (WORKLOADS, vec![json, ("idempotency-key", "stopped")]),
        (charts, vec![("content-type", "application/gzip")]),
    ] {
        let answer = server.send(Method::POST, path, &headers, stopped()).await;
        assert_eq!(answer.problem(), (408, "Timeout".to_owned()), "{path} {headers:?}");
    }
    let mut of_form = form("/api/fn/sign_in", "", &[]);
    *of_form.body_mut() = stopped();
    assert_eq!(server.send_raw(of_form).await.problem(), (408, "Timeout".to_owned()));
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
