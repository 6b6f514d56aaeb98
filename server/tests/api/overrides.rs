//! Operations on overrides: optimistic locking, and a publish of one override with the checks of every publish.

use axum::body::Body;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{TestResponse, TestServer, WORKLOADS};

const OVERRIDES: &str = "/api/v1/projects/default/workloads/web/overrides";

/// The cluster that the tests' overrides select.
const EU: &str = "eu-1";

fn deployment() -> Value {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: apps\nspec:\n  replicas: 2\n  \
        selector:\n    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      \
        containers:\n        - name: web\n          image: registry.example.com/web:1.0\n";
    json!({
        "name": "web",
        "spec": {
            "namespace": "apps",
            "source": { "type": "yaml", "files": [{ "name": "all.yaml", "text": text }] },
            "placement": { "predicates": [{ "labelSelector": "env=prod" }] }
        }
    })
}

/// An override of the replicas on [`EU`].
fn set_replicas(value: impl Into<Value>) -> Value {
    let object = json!({ "kind": "Deployment", "name": "web" });
    json!({
        "target": { "clusters": [EU] },
        "patches": [{ "object": object, "op": "set", "path": "/spec/replicas", "value": value.into() }]
    })
}

/// A server with two clusters that has published revision 1.
async fn start_with_published() -> TestServer {
    let server = TestServer::start().await;
    for name in [EU, "us-1"] {
        server.register_cluster(name, &[("env", "prod")]).await;
    }
    let created = server.post(WORKLOADS, &deployment()).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    let published = server.post(&format!("{WORKLOADS}/web:publish"), &json!({})).await;
    assert_eq!(published.status, StatusCode::ACCEPTED, "{}", published.text);
    server
}

async fn put(server: &TestServer, rest: &str, if_match: &str, body: &Value) -> TestResponse {
    server.send_json(Method::PUT, &format!("{OVERRIDES}/{rest}"), &[("if-match", if_match)], body).await
}

async fn delete(server: &TestServer, rest: &str, if_match: &str) -> TestResponse {
    let headers = [("if-match", if_match)];
    server.send(Method::DELETE, &format!("{OVERRIDES}/{rest}"), &headers, Body::empty()).await
}

/// The workload with its `ETag`.
async fn read(server: &TestServer) -> (Value, String) {
    let found = server.get(&format!("{WORKLOADS}/web")).await;
    (found.json(), found.header("etag").to_owned())
}

async fn count_revisions(server: &TestServer) -> Value {
    server.get(&format!("{WORKLOADS}/web/revisions")).await.json()["total"].clone()
}

#[tokio::test]
async fn saving_or_removing_an_override_needs_the_etag_that_was_read() {
    let server = TestServer::start().await;
    server.post(WORKLOADS, &deployment()).await;
    let unconditional =
        server.send_json(Method::PUT, &format!("{OVERRIDES}/eu"), &[], &set_replicas(3)).await;
    assert_eq!(unconditional.problem(), (428, "PreconditionRequired".to_owned()));
    let (_, etag) = read(&server).await;
    let saved = put(&server, "eu", &etag, &set_replicas(3)).await;
    assert_eq!((saved.status, saved.header("etag")), (StatusCode::OK, "\"2\""), "{}", saved.text);
    assert_eq!(server.delete(&format!("{OVERRIDES}/eu")).await.problem().0, 428);
    let removed = delete(&server, "eu", "\"2\"").await;
    assert_eq!((removed.status, removed.header("etag")), (StatusCode::OK, "\"3\""), "{}", removed.text);
    assert_eq!(removed.json()["draft"]["overrides"], json!([]));
    assert_eq!(delete(&server, "eu", "\"3\"").await.problem(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn an_override_is_not_saved_or_removed_with_a_stale_etag() {
    let server = start_with_published().await;
    let (_, stale) = read(&server).await;
    put(&server, "eu", &stale, &set_replicas(3)).await;
    let (before, current) = read(&server).await;
    assert_ne!(stale, current);
    for rest in ["eu", "other", "eu?now=true", "eu?now=true&dryRun=true"] {
        let mut responses = vec![put(&server, rest, &stale, &set_replicas(5)).await];
        match rest {
            "other" => {
                let missing = delete(&server, rest, &stale).await;
                assert_eq!(missing.problem(), (404, "NotFound".to_owned()), "there is nothing to remove");
            }
            rest => responses.push(delete(&server, rest, &stale).await),
        }
        for rejected in responses {
            assert_eq!(rejected.problem(), (412, "RevisionConflict".to_owned()), "{rest}");
            assert_eq!(format!("\"{}\"", rejected.json()["currentRevision"]), current, "{rest}");
        }
    }
    assert_eq!((read(&server).await, count_revisions(&server).await), ((before, current), json!(1)));
}

#[tokio::test]
async fn of_two_parallel_saves_with_the_same_etag_one_wins_and_the_other_is_rejected() {
    for query in ["", "?now=true"] {
        let server = start_with_published().await;
        let (_, etag) = read(&server).await;
        let (eu, us) = (format!("eu{query}"), format!("us{query}"));
        let (three, five) = (set_replicas(3), set_replicas(5));
        let (first, second) = tokio::join!(put(&server, &eu, &etag, &three), put(&server, &us, &etag, &five));
        let (winner, loser, name) =
            if first.status.is_success() { (first, second, "eu") } else { (second, first, "us") };
        assert!(winner.status.is_success(), "{}", winner.text);
        assert_eq!(loser.problem(), (412, "RevisionConflict".to_owned()));
        let overrides = read(&server).await.0["draft"]["overrides"].clone();
        assert_eq!(overrides.as_array().unwrap().len(), 1, "{overrides}");
        assert_eq!(overrides[0]["name"], name);
    }
}

#[tokio::test]
async fn of_two_parallel_removals_with_the_same_etag_one_finds_that_the_override_is_gone() {
    for query in ["", "?now=true"] {
        let server = start_with_published().await;
        let (_, etag) = read(&server).await;
        let saved = put(&server, &format!("eu{query}"), &etag, &set_replicas(3)).await;
        assert!(saved.status.is_success(), "{}", saved.text);
        let (_, etag) = read(&server).await;
        let rest = format!("eu{query}");
        let (first, second) = tokio::join!(delete(&server, &rest, &etag), delete(&server, &rest, &etag));
        let (winner, loser) = if first.status.is_success() { (first, second) } else { (second, first) };
        assert!(winner.status.is_success(), "{}", winner.text);
        assert_eq!(loser.problem(), (404, "NotFound".to_owned()), "{query:?}");
        assert_eq!(delete(&server, &rest, &etag).await.problem().0, 404, "{query:?}: also later");
        assert_eq!(read(&server).await.0["draft"]["overrides"], json!([]));
    }
}

#[tokio::test]
async fn an_override_that_a_guard_rail_rejects_is_neither_published_nor_saved() {
    let server = start_with_published().await;
    let before = read(&server).await;
    let remove_selector = json!({
        "target": { "clusters": [EU] },
        "patches": [{ "object": { "kind": "Deployment" }, "op": "remove", "path": "/spec/selector" }]
    });
    for (content, code) in [(set_replicas("many"), "G403"), (remove_selector, "G510")] {
        for query in ["now=true", "now=true&dryRun=true"] {
            let answer = put(&server, &format!("eu?{query}"), &before.1, &content).await;
            if query == "now=true" {
                assert_eq!(answer.problem(), (422, "Invalid".to_owned()), "{}", answer.text);
            } else {
                assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
            }
            let findings = answer.json()["findings"].clone();
            let found = findings.as_array().unwrap().iter().any(|finding| {
                finding["code"] == code
                    && finding["severity"] == "error"
                    && finding["clusters"] == json!([EU])
            });
            assert!(found, "{code}: {findings}");
        }
    }
    assert_eq!((read(&server).await, count_revisions(&server).await), (before, json!(1)));
}

#[tokio::test]
async fn a_draft_may_have_an_override_that_only_a_publish_rejects() {
    let server = start_with_published().await;
    let (_, etag) = read(&server).await;
    let saved = put(&server, "eu", &etag, &set_replicas("many")).await;
    assert_eq!(saved.status, StatusCode::OK, "{}", saved.text);
    let mut invalid = set_replicas(3);
    invalid["priority"] = json!(5_000);
    let rejected = put(&server, "eu", "*", &invalid).await;
    assert_eq!((rejected.problem().0, &rejected.json()["findings"][0]["code"]), (422, &json!("G508")));
}

#[tokio::test]
async fn an_override_is_published_and_removed_without_other_edits_of_the_draft() {
    let server = start_with_published().await;
    let mut edited = deployment()["spec"].clone();
    edited["namespace"] = json!("other");
    let headers = [("if-match", "*")];
    server.send_json(Method::PUT, &format!("{WORKLOADS}/web"), &headers, &json!({ "spec": edited })).await;
    let (_, etag) = read(&server).await;

    let published = put(&server, "eu?now=true", &etag, &set_replicas(3)).await;
    assert_eq!(published.status, StatusCode::ACCEPTED, "{}", published.text);
    let result = published.json();
    assert_eq!((&result["revision"], &result["clusters"]), (&json!(2), &json!([EU, "us-1"])));
    let (workload, etag) = read(&server).await;
    let (draft, revision) = (&workload["draft"], &workload["publishedRevision"]);
    assert_eq!((&draft["namespace"], &revision["spec"]["namespace"]), (&json!("other"), &json!("apps")));
    assert_eq!(draft["overrides"], revision["spec"]["overrides"]);
    assert_eq!((&draft["overrides"][0]["name"], &workload["draftChanged"]), (&json!("eu"), &json!(true)));

    let removed = delete(&server, "eu?now=true", &etag).await;
    assert_eq!((removed.status, &removed.json()["revision"]), (StatusCode::ACCEPTED, &json!(3)));
    let (workload, etag) = read(&server).await;
    for spec in [&workload["draft"], &workload["publishedRevision"]["spec"]] {
        assert_eq!(spec["overrides"], json!([]));
    }
    assert_eq!(delete(&server, "eu?now=true", &etag).await.problem(), (404, "NotFound".to_owned()));
    assert_eq!(count_revisions(&server).await, 3);
}

#[tokio::test]
async fn e_2_the_plan_of_an_override_is_reviewed_before_it_is_published_with_its_hash() {
    let server = start_with_published().await;
    let (_, etag) = read(&server).await;
    let planned = put(&server, "eu?now=true&dryRun=true", &etag, &set_replicas(3)).await;
    assert_eq!(planned.status, StatusCode::CREATED, "{}", planned.text);
    let plan = planned.json();
    assert_eq!(server.get(planned.header("location")).await.json()["hash"], plan["hash"]);
    assert_eq!((&plan["overrideName"], &plan["revision"]), (&json!("eu"), &json!(2)));
    let targets = plan["targets"].as_array().unwrap();
    assert_eq!(targets.iter().map(|target| &target["name"]).collect::<Vec<_>>(), [EU, "us-1"]);
    assert_ne!(targets[0]["bundle"], targets[1]["bundle"], "the override changes only {EU}");
    assert_eq!((read(&server).await.1, count_revisions(&server).await), (etag.clone(), json!(1)));

    let hash = plan["hash"].as_str().unwrap();
    let with_plan = format!("eu?now=true&planHash={hash}");
    let other = put(&server, &with_plan, &etag, &set_replicas(5)).await;
    assert_eq!(other.problem(), (412, "PlanStale".to_owned()), "another override than the planned one");
    let draft = server.post(&format!("{WORKLOADS}/web:publish"), &json!({ "planHash": hash })).await;
    assert_eq!(draft.problem(), (412, "PlanStale".to_owned()), "the draft is not what was planned");
    let published = put(&server, &with_plan, &etag, &set_replicas(3)).await;
    assert_eq!((published.status, &published.json()["revision"]), (StatusCode::ACCEPTED, &json!(2)));
}

#[tokio::test]
async fn an_override_of_a_workload_that_is_not_published_is_not_silently_saved_as_a_draft() {
    let server = TestServer::start().await;
    server.post(WORKLOADS, &deployment()).await;
    let (before, etag) = read(&server).await;
    let rejected = put(&server, "eu?now=true", &etag, &set_replicas(3)).await;
    assert_eq!(rejected.problem(), (409, "FailedPrecondition".to_owned()));
    let without_publish = put(&server, "eu?dryRun=true", &etag, &set_replicas(3)).await;
    assert_eq!(without_publish.problem().0, 400);
    assert_eq!(read(&server).await.0, before);
}

/// A map with this many levels.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("x"), |inner, _| json!({ "a": inner }))
}

#[tokio::test]
async fn g111_an_override_that_is_nested_too_deep_is_rejected_and_the_workload_stays_readable() {
    let server = start_with_published().await;
    let (before, etag) = read(&server).await;
    for levels in [65, 100, 118, 121, 122, 123, 124] {
        let deep = json!({
            "target": { "clusters": [EU] },
            "patches": [{ "object": { "kind": "Deployment" }, "op": "merge", "value": nested(levels) }]
        });
        for rest in ["eu", "eu?now=true"] {
            let rejected = put(&server, rest, &etag, &deep).await;
            assert_eq!(rejected.problem(), (422, "Invalid".to_owned()), "{levels}: {}", rejected.text);
            let finding = &rejected.json()["findings"][0];
            assert_eq!(
                (&finding["code"], &finding["path"]),
                (&json!("G111"), &json!("/overrides/0/patches/0"))
            );
            let message = finding["message"].as_str().unwrap();
            assert!(message.contains(&format!("{levels} deep; at most 64")), "{message}");
        }
        let mut spec = before["draft"].clone();
        let mut over = deep.clone();
        over["name"] = json!("eu");
        over["id"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV");
        spec["overrides"] = json!([over]);
        let edit = server
            .send_json(
                Method::PUT,
                &format!("{WORKLOADS}/web"),
                &[("if-match", &etag)],
                &json!({ "spec": spec.clone() }),
            )
            .await;
        let created = server.post(WORKLOADS, &json!({ "name": format!("w-{levels}"), "spec": spec })).await;
        for rejected in [edit, created] {
            // serde_json reads at most 127 levels of a body, of which the override has six.
            let status = rejected.problem().0;
            assert!(status == 422 || levels > 120 && status == 400, "{levels}: {}", rejected.text);
        }
        assert_eq!(read(&server).await, (before.clone(), etag.clone()));
    }
    let saved = put(&server, "eu", &etag, &set_replicas(3)).await;
    assert_eq!(saved.status, StatusCode::OK, "{}", saved.text);
}

#[tokio::test]
async fn g111_too_many_or_too_large_overrides_are_rejected_with_the_limit() {
    let server = start_with_published().await;
    let (before, etag) = read(&server).await;
    let patch = |value: Value| json!({ "object": { "kind": "Deployment" }, "op": "merge", "value": value });
    let many: Vec<Value> = (0..2_001).map(|n| patch(json!({ "a": n }))).collect();
    let keys: serde_json::Map<String, Value> = (0..10_000).map(|n| (format!("k{n}"), json!(n))).collect();
    let cases = [
        (many, "2001 patches in its overrides; at most 2000"),
        (vec![patch(Value::Object(keys))], "10001 values; at most 10000"),
        (
            (0..2_000).map(|n| patch(json!({ "a": [n, n, n, n, n] }))).collect(),
            "Override \"eu\" has patches with 14000 values; at most 10000",
        ),
        (vec![patch(json!({ "a": "x".repeat(10 << 20) }))], "bytes; at most 1048576"),
    ];
    for (patches, expected) in cases {
        let body = json!({ "target": { "clusters": [EU] }, "patches": patches });
        let rejected = put(&server, "eu", &etag, &body).await;
        assert_eq!(rejected.problem().0, 422, "{expected}");
        assert_eq!(rejected.json()["findings"].as_array().unwrap().len(), 1, "{expected}");
        assert!(rejected.json()["detail"].as_str().unwrap().contains(expected), "{}", rejected.text);
        assert_eq!(rejected.json()["findings"][0]["code"], "G111");
    }
    assert_eq!(read(&server).await, (before, etag));
}
