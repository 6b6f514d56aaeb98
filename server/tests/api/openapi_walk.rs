//! A walk over the OpenAPI document: every operation with inputs that fit its schemas and with inputs that do not. Whatever is sent, the
//! answer is one that the document describes, and none is a server error.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use axum::body::Body;
use axum::http::{Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::generated_input::InputGenerator;
use crate::inputs::servers;
use crate::openapi_document::{DocumentedOperation, ReceivedResponse, ServedDocument};
use crate::test_server::{TestResponse, TestServer, WORKLOADS};

/// How often every operation is called on each engine.
const ROUNDS: usize = 10;
/// The seed of the first engine; the next one has the next seed.
const SEED: u64 = 20_261_126;
/// So many violations are listed.
const MAX_LISTED: usize = 25;
/// What the walk may delete; what else exists stays, so that the other operations find it.
const DISPOSABLE_WORKLOAD: &str = "api";
const DISPOSABLE_CLUSTER: &str = "eu-9";
const DISPOSABLE_GROUP: &str = "asia";
/// How often a parameter of the query is sent that is not required.
const OPTIONAL_PARAMETERS: f64 = 0.35;

/// What exists before the walk: clusters, groups, and a workload with an override and two revisions.
async fn create_content(server: &TestServer) {
    for cluster in ["eu-1", "eu-2", DISPOSABLE_CLUSTER] {
        server.register_cluster(cluster, &[("env", "prod")]).await;
    }
    for group in ["europe", DISPOSABLE_GROUP] {
        let group = json!({"name": group, "members": ["eu-1", "eu-2"]});
        let created = server.post("/api/v1/cluster-groups", &group).await;
        assert_eq!(created.status, 201, "{}", created.text);
    }
    server.create_workload("web").await;
    server.create_workload(DISPOSABLE_WORKLOAD).await;
    for value in ["x", "y"] {
        let patch =
            json!({"op": "set", "path": "/data/key", "value": value, "object": {"kind": "ConfigMap"}});
        let put = json!({"target": {"clusters": ["eu-1"]}, "patches": [patch]});
        let path = format!("{WORKLOADS}/web/overrides/o1");
        let saved = server.send_json(Method::PUT, &path, &[("if-match", "*")], &put).await;
        assert_eq!(saved.status, 200, "{}", saved.text);
        let published = server.post(&format!("{WORKLOADS}/web:publish"), &json!({"message": value})).await;
        assert_eq!(published.status, 202, "{}", published.text);
    }
}

/// A request as it is sent, for messages.
struct GeneratedRequest {
    method: Method,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl std::fmt::Display for GeneratedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let target: String = self.target.chars().take(300).collect();
        let body: String = String::from_utf8_lossy(&self.body).chars().take(500).collect();
        write!(f, "{} {target} {:?} {body}", self.method, self.headers)
    }
}

/// The path, with a value for each parameter.
fn fill_path(operation: &DocumentedOperation<'_>, input: &mut InputGenerator<'_>) -> String {
    let mut path = operation.path.to_owned();
    for parameter in input.parameters(operation, "path") {
        let name = parameter["name"].as_str().unwrap();
        let value = match find_disposable(operation, name) {
            Some(disposable) => disposable.to_owned(),
            None => input.path_value(name, &parameter["schema"]),
        };
        let value = utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string();
        path = path.replace(&format!("{{{name}}}"), &value);
    }
    path
}

/// What an operation that removes something removes.
fn find_disposable(operation: &DocumentedOperation<'_>, parameter: &str) -> Option<&'static str> {
    let removes = operation.method == Method::DELETE
        || ["unpublishWorkload", "revokeCluster", "updateClusterGroup"].contains(&operation.id);
    match parameter {
        "workload" if removes => Some(DISPOSABLE_WORKLOAD),
        "cluster" if removes => Some(DISPOSABLE_CLUSTER),
        "group" | "clustergroup" if removes => Some(DISPOSABLE_GROUP),
        _ => None,
    }
}

fn generate_query(operation: &DocumentedOperation<'_>, input: &mut InputGenerator<'_>) -> String {
    let mut query = String::new();
    for parameter in input.parameters(operation, "query") {
        let is_required = parameter["required"] == true;
        if !is_required && !input.is_chosen(OPTIONAL_PARAMETERS) {
            continue;
        }
        let name = parameter["name"].as_str().unwrap();
        let value = match (name, input.query_value(name, &parameter["schema"])) {
            // No agent answers: the wait would be the whole test.
            ("wait", _) => "0".to_owned(),
            (_, Value::Null) => continue,
            (_, Value::String(text)) => text,
            (_, other) => other.to_string(),
        };
        let value = utf8_percent_encode(&value, NON_ALPHANUMERIC);
        let separator = if query.is_empty() { '?' } else { '&' };
        write!(query, "{separator}{name}={value}").unwrap();
    }
    query
}

fn generate_headers(
    operation: &DocumentedOperation<'_>,
    input: &mut InputGenerator<'_>,
) -> Vec<(String, String)> {
    let mut headers = vec![("prefer".to_owned(), "wait=0".to_owned())];
    for parameter in input.parameters(operation, "header") {
        let name = parameter["name"].as_str().unwrap().to_lowercase();
        let values: &[&str] = match &*name {
            "if-match" => &["*", "*", "*", "\"1\"", "\"99\"", "1", "W/\"1\"", ""],
            "idempotency-key" => &["k-1", "k-2", "", "with space"],
            "last-event-id" => &["0", "1", "99999", "x"],
            "x-hub-signature-256" => &["sha256=00", "x"],
            "x-gitlab-token" => &["x"],
            "prefer" => continue,
            other => panic!("the walk has no value for the header {other}"),
        };
        // A key of another request is rejected, so most requests have none.
        let chance = if name == "idempotency-key" { 0.1 } else { 0.7 };
        if input.is_chosen(chance) {
            headers.push((name, (*input.choose(values)).to_owned()));
        }
    }
    headers
}

/// The body and its type; without either for an operation that has none.
fn generate_body(
    operation: &DocumentedOperation<'_>,
    input: &mut InputGenerator<'_>,
) -> Option<(String, Vec<u8>)> {
    let content = operation.value["requestBody"]["content"].as_object()?;
    let (media_type, body) = content.iter().next().unwrap();
    if media_type != "application/json" {
        return Some((media_type.clone(), input.bytes()));
    }
    let media_type = if input.is_chosen(0.05) { "text/plain" } else { media_type.as_str() };
    if input.is_chosen(0.05) {
        return Some((media_type.to_owned(), input.broken_json()));
    }
    let fitting = input.value(&body["schema"]);
    let value = if input.is_chosen(0.35) { input.mutate(fitting) } else { fitting };
    Some((media_type.to_owned(), value.to_string().into_bytes()))
}

fn generate_request(operation: &DocumentedOperation<'_>, input: &mut InputGenerator<'_>) -> GeneratedRequest {
    let path = fill_path(operation, input);
    let target = format!("{path}{}", generate_query(operation, input));
    let mut headers = generate_headers(operation, input);
    let body = match generate_body(operation, input) {
        Some((media_type, body)) => {
            headers.push(("content-type".to_owned(), media_type));
            body
        }
        None => Vec::new(),
    };
    GeneratedRequest { method: operation.method.clone(), target, headers, body }
}

async fn send(server: &TestServer, generated: &GeneratedRequest) -> TestResponse {
    let headers: Vec<(&str, &str)> =
        generated.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body = Body::from(generated.body.clone());
    let request: Request<Body> = server.request(generated.method.clone(), &generated.target, &headers, body);
    let response = server.app.router.clone().oneshot(request).await.unwrap();
    let media_type = response.headers().get("content-type");
    if media_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream")) {
        let headers = response.headers().clone();
        return TestResponse { status: response.status(), headers, text: String::new() };
    }
    TestResponse::read(response).await
}

/// What the answer contradicts: the document, or that no input is a server error.
fn find_violation(
    document: &ServedDocument,
    operation: &DocumentedOperation<'_>,
    response: &TestResponse,
) -> Result<(), String> {
    let status = response.status.as_u16();
    if response.status.is_server_error() {
        return Err(format!("a server error: {status} {}", response.text));
    }
    let received = ReceivedResponse { status, headers: &response.headers, text: &response.text };
    document.find_violation(operation, &received)
}

#[tokio::test]
async fn s1_24_whatever_is_sent_to_an_operation_gets_an_answer_that_the_openapi_document_describes() {
    for (engine, server) in servers("openapi_walk").await.into_iter().enumerate() {
        create_content(&server).await;
        let document = ServedDocument::new(server.get("/api/v1/openapi.json").await.json());
        let operations = document.list_operations();
        let seed = SEED + engine as u64;
        let mut input = InputGenerator::new(&document, seed);
        let (mut violations, mut successful, mut requests) = (Vec::new(), BTreeSet::new(), 0);
        for _ in 0..ROUNDS {
            for operation in &operations {
                let generated = generate_request(operation, &mut input);
                let response = send(&server, &generated).await;
                requests += 1;
                if response.status.is_success() {
                    successful.insert(operation.id);
                    if response.status == 201 {
                        input.add_id(&response.json()["id"]);
                    }
                }
                if let Err(violation) = find_violation(&document, operation, &response) {
                    violations.push(format!("{}: {violation}\n    {generated}", operation.id));
                }
            }
        }
        let count = violations.len();
        violations.truncate(MAX_LISTED);
        assert!(count == 0, "{count} violations with the seed {seed}:\n{}", violations.join("\n"));
        assert!(requests > 1_000, "{requests}");
        // A walk that is rejected everywhere proves nothing about the answers of success.
        assert!(successful.len() > 40, "{} operations: {successful:?}", successful.len());
    }
}
