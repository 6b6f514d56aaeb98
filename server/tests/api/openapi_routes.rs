//! The OpenAPI document has every route of the API, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use axum::body::Body;
use axum::http::Method;
use serde_json::Value;

use crate::openapi_document::ServedDocument;
use crate::test_server::TestServer;

/// The operation that only the demo has.
const DEMO_OPERATION: &str = "injectFault";
/// The routes of the API that are no operations: the document itself, and what does not exist.
const OTHER_ROUTES: [&str; 2] = ["\"/api/v1/openapi.json\"", "\"/api/v1/{*rest}\""];

async fn read_document(server: &TestServer) -> ServedDocument {
    ServedDocument::new(server.get("/api/v1/openapi.json").await.json())
}

/// The methods of every path of the document.
fn list_methods(document: &ServedDocument) -> BTreeMap<String, BTreeSet<String>> {
    let mut methods: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for operation in document.list_operations() {
        methods.entry(operation.path.to_owned()).or_default().insert(operation.method.to_string());
    }
    methods
}

/// The path with names for its parameters.
fn fill_path(path: &str) -> String {
    let parts = path.split('{').map(|part| match part.split_once('}') {
        Some(("project" | "org", rest)) => format!("default{rest}"),
        Some(("verb", rest)) => format!("pause{rest}"),
        Some((_, rest)) => format!("1{rest}"),
        None => part.to_owned(),
    });
    parts.collect()
}

#[tokio::test]
async fn s1_24_the_router_serves_exactly_the_methods_of_every_path_of_the_openapi_document() {
    let server = TestServer::start().await;
    let paths = list_methods(&read_document(&server).await);
    assert!(paths.len() > 80, "{}", paths.len());
    for (path, methods) in paths {
        // No path has this method: the answer lists those that it has, whatever else is wrong with the request.
        let headers = [("idempotency-key", "not a key")];
        let answer = server.send(Method::TRACE, &fill_path(&path), &headers, Body::empty()).await;
        assert_eq!(answer.problem(), (405, "MethodNotAllowed".to_owned()), "{path}");
        let mut served: BTreeSet<String> =
            answer.header("allow").split(',').map(|name| name.trim().to_owned()).collect();
        if methods.contains("GET") {
            served.remove("HEAD");
        }
        assert_eq!(served, methods, "{path}");
    }
}

#[tokio::test]
async fn s1_24_every_operation_is_registered_and_no_route_is_registered_beside_the_openapi_document() {
    let server = TestServer::start().await;
    let document = read_document(&server).await;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut handlers = BTreeSet::from([DEMO_OPERATION.to_owned()]);
    handlers.extend(document.list_operations().iter().map(|operation| operation.id.to_owned()));
    let mut written = BTreeSet::new();
    collect_handlers(&sources.join("api"), &mut written);
    assert_eq!(written, handlers, "handlers with #[utoipa::path], and operations of the document");

    let table = std::fs::read_to_string(sources.join("api.rs")).unwrap();
    let routes: Vec<&str> =
        table.split(".route(").skip(1).map(|rest| rest.split(',').next().unwrap()).collect();
    let others: BTreeSet<&str> = routes.iter().copied().collect();
    assert_eq!((routes.len(), others), (OTHER_ROUTES.len(), OTHER_ROUTES.into()), "server/src/api.rs");
    let router = std::fs::read_to_string(sources.join("router.rs")).unwrap();
    assert!(!router.contains("\"/api/v1"), "server/src/router.rs registers no path of the API itself");
}

/// Adds the operation ids of the handlers in a folder of sources.
fn collect_handlers(folder: &Path, ids: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_handlers(&path, ids);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for handler in text.split("#[utoipa::path(").skip(1) {
            let name = handler.split("pub async fn ").nth(1).and_then(|rest| rest.split('(').next());
            ids.insert(to_camel_case(name.unwrap_or_else(|| panic!("{}", path.display()))));
        }
    }
}

fn to_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap().to_owned();
    words.fold(first, |camel, word| format!("{camel}{}{}", word[..1].to_uppercase(), &word[1..]))
}

#[tokio::test]
async fn s1_24_every_response_of_the_openapi_document_is_explained_and_every_failure_is_a_problem() {
    let server = TestServer::start().await;
    let document = read_document(&server).await;
    for operation in document.list_operations() {
        let responses = operation.value["responses"].as_object().unwrap();
        for status in ["400", "500", "503", "default"] {
            assert!(responses.contains_key(status), "{} does not name {status}", operation.id);
        }
        for (status, response) in responses {
            let response = document.resolve(response);
            let what = format!("{} {status}: {response}", operation.id);
            assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()), "{what}");
            for (name, header) in response["headers"].as_object().into_iter().flatten() {
                assert!(header["description"].is_string(), "{name} of {what}");
            }
            if !status.starts_with('2') {
                let body = &response["content"][wire::problem::MEDIA_TYPE]["schema"]["$ref"];
                assert_eq!(body, "#/components/schemas/Problem", "{what}");
            }
        }
    }
}

#[tokio::test]
async fn s1_24_the_limits_of_lists_in_the_openapi_document_are_those_that_are_applied() {
    let server = TestServer::start().await;
    let document = read_document(&server).await;
    let mut lists = 0;
    for operation in document.list_operations() {
        let parameters = operation.value["parameters"].as_array().into_iter().flatten();
        let mut limits = parameters.filter(|parameter| parameter["name"] == "limit");
        let Some(limit) = limits.next() else { continue };
        let number = |name: &str| limit["schema"][name].as_f64().unwrap_or_default() as i64;
        let (least, most) = (number("minimum"), number("maximum"));
        assert!(least == 1 && most >= 50, "{}: {limit}", operation.id);
        for (value, is_accepted) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
            let answer = server.get(&format!("{}?limit={value}", fill_path(operation.path))).await;
            let is_bad = answer.status == 400;
            assert_eq!(!is_bad, is_accepted, "{} with {value}: {}", operation.id, answer.text);
        }
        lists += 1;
    }
    assert!(lists > 8, "{lists}");
}

#[tokio::test]
async fn s1_24_no_schema_of_the_openapi_document_contradicts_itself() {
    let server = TestServer::start().await;
    let json = server.get("/api/v1/openapi.json").await.json();
    let document = ServedDocument::new(json.clone());
    let schemas = json["components"]["schemas"].as_object().unwrap();
    assert!(schemas.len() > 200, "{}", schemas.len());
    for (name, schema) in schemas {
        check_schema(&document, schema, name);
    }
}

/// A default fits its schema, and no part of a combined schema excludes the fields of the others.
fn check_schema(document: &ServedDocument, schema: &Value, at: &str) {
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let part = document.resolve(part);
        assert_ne!(part["additionalProperties"], false, "{at}: a part of allOf excludes the other parts");
    }
    if let Some(default) = schema.get("default") {
        assert_eq!(document.check(schema, default, at), Ok(()), "the default of {at}");
    }
    let children: Vec<(String, &Value)> = match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "default")
            .map(|(key, child)| (key.clone(), child))
            .collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        _ => Vec::new(),
    };
    for (key, child) in children {
        check_schema(document, child, &format!("{at}/{key}"));
    }
}

/// What waits in another way reserves its memory for as long as it waits (`server/src/request_places.rs`).
#[tokio::test]
async fn p19_reads_wait_by_two_parameters_only() {
    let server = TestServer::start().await;
    let document = read_document(&server).await;
    let mut waiting = Vec::new();
    for operation in document.list_operations().iter().filter(|operation| operation.method == Method::GET) {
        for parameter in operation.value["parameters"].as_array().into_iter().flatten() {
            let name = document.resolve(parameter)["name"].as_str().unwrap();
            if ["wait", "prefer"].contains(&&*name.to_lowercase()) {
                waiting.push(format!("{} {name}", operation.path));
            }
        }
    }
    waiting.sort();
    let expected =
        ["/api/v1/plans/{plan} wait", "/api/v1/projects/{project}/workloads/{workload}/status Prefer"];
    assert_eq!(waiting, expected);
}
