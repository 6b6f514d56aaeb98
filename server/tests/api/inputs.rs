//! What a request contains is checked where it enters, the same on SQLite and on PostgreSQL.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::postgres::TestDatabase;
use crate::sessions::{cookie, form, sign_in};
use crate::test_server::{TestResponse, TestServer, WORKLOADS, new_workload};

/// A server on each engine; the second is missing if the tests run without PostgreSQL.
pub async fn servers(test: &str) -> Vec<TestServer> {
    let mut servers = vec![TestServer::start().await];
    if let Some(database) = TestDatabase::create(test).await {
        servers.push(TestServer::start_on(&database.direct_url()).await);
    }
    servers
}

/// An operation of the OpenAPI document.
struct ProbedOperation {
    method: Method,
    /// The path with values for its parameters.
    path: String,
    path_parameters: Vec<String>,
    query_parameters: Vec<String>,
    has_json_body: bool,
}

async fn list_operations(server: &TestServer) -> Vec<ProbedOperation> {
    let document = server.get("/api/v1/openapi.json").await.json();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let names = |place: &str| -> Vec<String> {
                let all = operation["parameters"].as_array().into_iter().flatten();
                let found = all.filter(|parameter| parameter["in"] == place);
                found.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
            };
            let path_parameters = names("path");
            operations.push(ProbedOperation {
                method: method.to_uppercase().parse().unwrap(),
                path: fill(path, &path_parameters, ""),
                path_parameters: path_parameters
                    .iter()
                    .map(|name| fill(path, &path_parameters, name))
                    .collect(),
                query_parameters: names("query"),
                // The body of a webhook is verified and not read.
                has_json_body: operation.pointer("/requestBody/content/application~1json").is_some()
                    && !path.contains("/git-webhooks/"),
            });
        }
    }
    operations
}

/// The path with a value for each parameter: one with the character U+0000 for the parameter `null`.
fn fill(path: &str, parameters: &[String], null: &str) -> String {
    parameters.iter().fold(path.to_owned(), |path, name| {
        let value = match &**name {
            name if name == null => "a%00b",
            "project" | "org" => "default",
            "revision" => "1",
            "verb" => "pause",
            _ => "web",
        };
        path.replace(&format!("{{{name}}}"), value)
    })
}

async fn send(server: &TestServer, operation: &ProbedOperation, target: &str, body: &str) -> TestResponse {
    let headers = [("content-type", "application/json"), ("if-match", "*")];
    server.send(operation.method.clone(), target, &headers, Body::from(body.to_owned())).await
}

fn assert_names_null(response: &TestResponse, part: &str, what: &str) {
    assert_eq!(response.problem(), (400, "BadRequest".to_owned()), "{what}: {}", response.text);
    let detail = response.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("U+0000") && detail.contains(part), "{what}: {detail}");
}

#[tokio::test]
async fn the_character_u_0000_is_a_bad_request_in_every_part_of_every_operation() {
    for server in servers("null_character").await {
        let operations = list_operations(&server).await;
        assert!(operations.len() > 100, "{}", operations.len());
        let (mut paths, mut queries, mut bodies) = (0, 0, 0);
        for operation in &operations {
            let what = format!("{} {}", operation.method, operation.path);
            for path in &operation.path_parameters {
                assert_names_null(&send(&server, operation, path, "{}").await, "The path", &what);
                paths += 1;
            }
            for name in &operation.query_parameters {
                let target = format!("{}?{name}=a%00b", operation.path);
                assert_names_null(
                    &send(&server, operation, &target, "{}").await,
                    &format!("{name:?}"),
                    &what,
                );
                queries += 1;
            }
            if operation.has_json_body {
                for (body, part) in [
                    (r#"{"name": "a\u0000b"}"#, "/name: the text"),
                    (r#"{"labels": {"a": ["\u0000"]}}"#, "/labels/a/0: the text"),
                    (r#"{"labels": {"a\u0000": "b"}}"#, "/labels: the name of a field"),
                ] {
                    assert_names_null(&send(&server, operation, &operation.path, body).await, part, &what);
                }
                bodies += 1;
            }
        }
        assert!(paths > 100 && queries > 40 && bodies > 25, "{paths} {queries} {bodies}");
    }
}

#[tokio::test]
async fn the_character_u_0000_is_a_bad_request_in_every_form_and_page_of_the_console_also_without_sign_in() {
    for server in servers("null_in_forms").await {
        let cookie = cookie(&sign_in(&server).await);
        for (path, method) in leptos::server_fn::axum::server_fn_paths() {
            let is_public = server::console::PUBLIC_SERVER_FNS.contains(&path);
            let headers: &[(&str, &str)] = if is_public { &[] } else { &[("cookie", &cookie)] };
            let request = match method {
                Method::GET => headers
                    .iter()
                    .fold(Request::get(format!("{path}?name=a%00")), |request, (name, value)| {
                        request.header(*name, *value)
                    })
                    .body(Body::empty())
                    .unwrap(),
                _ => form(path, "next=&name=a%00b&password=x", headers),
            };
            let response = server.send_raw(request).await;
            assert_names_null(&response, "\"name\"", path);
        }
        for path in ["/sign-in?next=%00", "/workloads/a%00", "/%00", "/install/x%00"] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            assert_names_null(&server.send_raw(request).await, "contains", path);
        }
    }
}

#[tokio::test]
async fn half_of_a_surrogate_pair_and_numbers_beyond_64_bits_are_bad_requests() {
    for server in servers("odd_values").await {
        for body in [
            r#"{"name": "\ud800"}"#,
            r#"{"name": "\udc00\ud800"}"#,
            r#"{"name": "t", "days": 9223372036854775808}"#,
            r#"{"name": "t", "days": -1e400}"#,
        ] {
            let headers = [("content-type", "application/json")];
            let response = server.send(Method::POST, "/api/v1/tokens", &headers, Body::from(body)).await;
            assert_eq!(response.problem(), (400, "BadRequest".to_owned()), "{body}");
        }
        let beyond = server.get("/api/v1/events?before=9223372036854775808").await;
        assert_eq!(beyond.problem(), (400, "BadRequest".to_owned()));
    }
}

#[tokio::test]
async fn g111_a_draft_with_a_name_that_no_index_of_postgresql_can_have_is_refused_by_both_engines() {
    // Not compressible, as the engine compresses what is.
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + (state >> 24) as u8 % 26)
    };
    let long: String = (0..6_000).map(|_| letter()).collect();
    for server in servers("long_names").await {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut new = new_workload("web");
            change(&mut new["spec"]);
            new
        };
        let refused = [
            with(&|spec| spec["placement"]["predicates"][0]["groups"] = json!([long])),
            with(&|spec| {
                spec["source"] = json!({"type": "chart", "chart": format!("local/{long}"), "version": ""})
            }),
            with(&|spec| spec["source"] = json!({"type": "chart", "chart": "local/web", "version": long})),
            with(&|spec| {
                spec["source"] = json!({"type": "git", "repository": format!("https://git.test/{long}")})
            }),
            with(&|spec| {
                spec["source"] = json!({"type": "git", "repository": "https://git.test/a", "ref": long})
            }),
        ];
        for new in refused {
            let response = server.post(WORKLOADS, &new).await;
            let shown = new["spec"].to_string().chars().take(120).collect::<String>();
            assert_eq!(response.problem().0, 422, "{shown}: {}", response.text);
            assert_eq!(response.json()["findings"][0]["code"], "G111", "{shown}: {}", response.text);
        }
        server.create_workload("web").await;
    }
}

#[tokio::test]
async fn an_unknown_query_parameter_is_a_bad_request_of_every_operation_which_names_the_known_ones() {
    let server = TestServer::start().await;
    for operation in list_operations(&server).await {
        let what = format!("{} {}", operation.method, operation.path);
        let target = format!("{}?unknownParameter=1", operation.path);
        let response = send(&server, &operation, &target, "{}").await;
        assert_eq!(response.problem(), (400, "BadRequest".to_owned()), "{what}: {}", response.text);
        let detail = response.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("There is no query parameter \"unknownParameter\"."), "{what}: {detail}");
        for known in &operation.query_parameters {
            assert!(detail.contains(known.as_str()), "{what}: {detail}");
        }
    }
    for (target, near) in [
        ("/api/v1/clusters?limti=1", "Did you mean \"limit\"?"),
        ("/api/v1/clusters?labelselector=env%3Dprod", "Did you mean \"labelSelector\"?"),
        ("/api/v1/projects/default/workloads?label_selector=a", "Did you mean \"labelSelector\"?"),
        ("/api/v1/orgs/default/clustergroups?limit=1", "This operation has no query parameters."),
        ("/api/v1/openapi.json?pretty", "This operation has no query parameters."),
    ] {
        let response = server.get(target).await;
        assert_eq!(response.problem().0, 400, "{target}");
        assert!(response.json()["detail"].as_str().unwrap().contains(near), "{target}: {}", response.text);
    }
    // Nothing is stored by a request that says wrongly that it is a dry run.
    let wrong = server.post(&format!("{WORKLOADS}?dryrun=true"), &new_workload("web")).await;
    assert_eq!(wrong.problem().0, 400);
    assert_eq!(server.get(&format!("{WORKLOADS}/web")).await.problem().0, 404);
}

/// Routes outside of the API that have no query parameters. Probes and scrapes may add some.
const WITHOUT_QUERY: [&str; 5] = ["/livez", "/healthz", "/readyz", "/version", "/metrics"];

#[tokio::test]
async fn an_unknown_query_parameter_is_a_bad_request_of_routes_outside_of_the_api_too() {
    let server = TestServer::start().await;
    let pages: Vec<String> =
        server::console::list_pages().iter().map(|page| page.path().to_owned()).collect();
    let is_file = |path: &str| path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let mut probed = Vec::new();
    for (_, path) in &server.app.routes {
        // An identity provider may lead back with parameters that a client has to ignore (RFC 6749, 4.1.2).
        let is_led_by_browser = path.starts_with(server::identity_provider::PATH_PREFIX);
        let is_other =
            path.starts_with("/api/") || pages.contains(path) || is_file(path) || is_led_by_browser;
        if is_other || WITHOUT_QUERY.contains(&path.as_str()) {
            continue;
        }
        let path = path.replace("{cluster}", "eu-1");
        let response = server.get(&format!("{path}?unknownParameter=1")).await;
        assert_eq!(response.problem(), (400, "BadRequest".to_owned()), "{path}: {}", response.text);
        let detail = response.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("unknownParameter"), "{path}: {detail}");
        probed.push(path);
    }
    assert_eq!(probed, ["/install/eu-1"]);
    // A misspelt right would give the agent others than those that were meant.
    let misspelt = server.get("/install/eu-1?namespace=shop").await;
    assert!(misspelt.problem().0 == 400 && misspelt.text.contains("namespaces"), "{}", misspelt.text);
}
