//! Memory for large bodies: reserved while a body arrives ([`crate::arriving_body`]), and for its use when it is complete; released with
//! the response.
//!
//! Each body has a limit of its own, and many at the same time would have none: a client may have hundreds of connections. A body of the
//! usual size is reserved in a budget of its own, so that usual requests and messages never wait for large ones; one of a few KiB needs no
//! reservation. Only authenticated clients get one, in a share of each user and agent ([`source::client_shares`]).

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hub::{Actor, AuthenticatedAgent};
use source::client_shares::{
    ARRIVING_BODIES_OF_USERS, ARRIVING_MESSAGES_OF_AGENTS, BODIES_OF_USERS, MESSAGES_OF_AGENTS,
    USUAL_BODIES_OF_USERS, USUAL_MESSAGES_OF_AGENTS,
};
use source::retained_memory::run_with_memory;

use crate::access::refuse_busy;
use crate::arriving_body::{BodyNeed, BodyNotReceived, BodyShares, Estimate, SMALL_BODY_BYTES, receive};
use crate::console::is_form;
use crate::input::is_json;
use crate::problem::ApiError;
use crate::router::MAX_BODY_BYTES;
use crate::site::Site;
use crate::value_memory::{estimate_form_text, estimate_json, estimate_message};

/// What a body in JSON or a form usually needs while it is parsed, as a multiple of its size: its values are larger than their text. What
/// many short values need beyond it is reserved by [`crate::value_memory`].
pub const PARSED_FACTOR: u64 = 16;

/// The shares of users.
static OF_USERS: BodyShares = BodyShares {
    arriving: &ARRIVING_BODIES_OF_USERS,
    complete: &BODIES_OF_USERS,
    usual: Some(&USUAL_BODIES_OF_USERS),
    of_agents: false,
};
/// The shares of agents.
static OF_AGENTS: BodyShares = BodyShares {
    arriving: &ARRIVING_MESSAGES_OF_AGENTS,
    complete: &MESSAGES_OF_AGENTS,
    usual: Some(&USUAL_MESSAGES_OF_AGENTS),
    of_agents: true,
};

/// Middleware: refuses a `GET` or `HEAD` with a body, before anything is reserved for it. Such a body means nothing, and one that arrives
/// slowly would retain what is reserved for the response.
pub async fn refuse_body_of_read(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_read && body_bytes(&request, 1) > 0 {
        let detail = format!(
            "The request has a body, and {} has none. Nothing was read. Send it without a body; for a change, use the method that the API documents.",
            request.method()
        );
        return ApiError::bad_request(detail).into_response();
    }
    next.run(request).await
}

/// Middleware: receives the body of a signed-in user or a program, with memory for it unless it is small. It comes before the memory for the
/// response ([`crate::response_memory`]), which a body that arrives slowly, a small one too, would retain. Those of public routes:
/// [`crate::public_body_memory`].
pub async fn reserve_request_body(State(site): State<Site>, request: Request, next: Next) -> Response {
    let actor = request.extensions().get::<Actor>().map(|actor| actor.name.clone());
    let need = find_need(&request, MAX_BODY_BYTES, 0);
    let (Some(user), Some(need)) = (actor, need) else {
        return next.run(request).await;
    };
    let (parts, body) = request.into_parts();
    match receive(&OF_USERS, user, body, need).await {
        Ok((bytes, reserved)) => {
            run_with_memory(reserved, next.run(Request::from_parts(parts, Body::from(bytes)))).await
        }
        Err(BodyNotReceived::Busy(exhausted)) => {
            refuse_busy(&site, parts.uri.path(), &parts.headers, exhausted)
        }
        Err(BodyNotReceived::Refused(error)) => error.into_response(),
    }
}

/// Middleware: receives a message of an agent, with memory for it unless it is small. The agent has presented its certificate.
pub async fn reserve_agent_message(max_bytes: usize, request: Request, next: Next) -> Response {
    let agent = request.extensions().get::<AuthenticatedAgent>().map(|agent| agent.cluster.to_string());
    let (Some(cluster), Some(need)) = (agent, find_message_need(&request, max_bytes)) else {
        return next.run(request).await;
    };
    let (parts, body) = request.into_parts();
    match receive(&OF_AGENTS, cluster, body, need).await {
        Ok((bytes, reserved)) => {
            run_with_memory(reserved, next.run(Request::from_parts(parts, Body::from(bytes)))).await
        }
        Err(BodyNotReceived::Busy(exhausted)) => ApiError::from(hub::Error::from(exhausted)).into_response(),
        Err(BodyNotReceived::Refused(error)) => error.into_response(),
    }
}

/// What the body may need in memory; `None` for one that has at most this many bytes.
fn find_need<B>(request: &axum::http::Request<B>, max_bytes: usize, free_bytes: usize) -> Option<BodyNeed> {
    let bytes = body_bytes(request, max_bytes as u64);
    let (factor, estimate) = parsed_need(request);
    (bytes > free_bytes as u64).then_some(BodyNeed { max_bytes, factor, estimate })
}

/// What a message of an agent needs; `None` for a small one. All of its values count, and too many are refused: it is parsed in no other
/// memory.
fn find_message_need<B>(request: &axum::http::Request<B>, max_bytes: usize) -> Option<BodyNeed> {
    let need = find_need(request, max_bytes, SMALL_BODY_BYTES)?;
    let is_parsed = media_type(request).is_some_and(is_json);
    Some(if is_parsed { BodyNeed { estimate: estimate_message, ..need } } else { need })
}

/// The most bytes that the body may have. Without a stated size that is the limit, unless there is no body. The listeners serve HTTP/1 only,
/// where a body has one of both headers.
pub fn body_bytes<B>(request: &axum::http::Request<B>, max_bytes: u64) -> u64 {
    let stated = request.headers().get(CONTENT_LENGTH).map(HeaderValue::to_str);
    match stated {
        Some(Ok(text)) => text.parse().map_or(max_bytes, |bytes: u64| bytes.min(max_bytes)),
        Some(Err(_)) => max_bytes,
        None if request.headers().contains_key(TRANSFER_ENCODING) => max_bytes,
        None => 0,
    }
}

/// What the body needs in memory, as a multiple of its size and by its values. Other content than JSON and forms stays as it is.
fn parsed_need<B>(request: &axum::http::Request<B>) -> (u64, Estimate) {
    match media_type(request) {
        Some(media_type) if is_json(media_type) => (PARSED_FACTOR, |body| Ok(estimate_json(body))),
        Some(media_type) if is_form(media_type) => (PARSED_FACTOR, |body| Ok(estimate_form_text(body))),
        _ => (1, |_| Ok(0)),
    }
}

fn media_type<B>(request: &axum::http::Request<B>) -> Option<&str> {
    request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Bytes;
    use axum::http::StatusCode;
    use axum::middleware::from_fn;
    use axum::routing::any;
    use futures::stream::{once, pending};
    use source::client_shares::RESPONSES_TO_USERS;
    use tokio::sync::oneshot;
    use tower::ServiceExt as _;

    use super::*;
    use crate::test_router::{TestRouter, WORKLOADS};

    #[tokio::test]
    async fn p20_a_body_that_does_not_arrive_retains_nothing_of_the_memory_for_responses() {
        let server = TestRouter::start("slow-sender").await;
        let send = |bytes: usize, body: Body| {
            let request = server.request(Method::POST, WORKLOADS).header(CONTENT_LENGTH, bytes);
            server.send(request.header(CONTENT_TYPE, "application/json"), body)
        };
        let text = format!(
            "# {}\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large}}\n",
            "a".repeat(100 << 10)
        );
        let files = serde_json::json!([{ "name": "all.yaml", "text": text }]);
        let source = serde_json::json!({ "type": "yaml", "files": files });
        let placement = serde_json::json!({ "predicates": [{ "labelSelector": "env=prod" }] });
        let spec = serde_json::json!({ "namespace": "apps", "source": source, "placement": placement });
        let large = serde_json::json!({ "name": "large", "spec": spec }).to_string();
        let created = send(large.len(), Body::from(large)).await;
        assert_eq!(created.status(), StatusCode::CREATED, "the next response is expected to be as large");
        drop(created);
        let (is_read, awaited) = oneshot::channel();
        let begun = once(async move {
            is_read.send(()).unwrap();
            Ok::<_, std::io::Error>(Bytes::from_static(b"{"))
        });
        let unfinished = Body::from_stream(futures::StreamExt::chain(begun, pending()));
        tokio::select! {
            _ = send(100, unfinished) => panic!("its body is not complete"),
            read = awaited => read.unwrap(),
        }
        let response = RESPONSES_TO_USERS.reserve("slow-sender".to_owned(), 0).await.unwrap();
        assert_eq!(response.free_bytes(), RESPONSES_TO_USERS.share_bytes());
    }

    #[tokio::test]
    async fn p20_a_read_with_a_body_is_refused_before_the_body_arrives() {
        let router = Router::new().route("/", any(async || "read")).layer(from_fn(refuse_body_of_read));
        let send = async |method: Method, name: &str, value: &str| {
            let body = Body::from_stream(pending::<Result<Bytes, std::io::Error>>());
            let request = Request::builder().method(method).uri("/").header(name, value).body(body).unwrap();
            router.clone().oneshot(request).await.unwrap().status()
        };
        for method in [Method::GET, Method::HEAD] {
            assert_eq!(send(method.clone(), "content-length", "1").await, StatusCode::BAD_REQUEST);
            assert_eq!(send(method.clone(), "transfer-encoding", "chunked").await, StatusCode::BAD_REQUEST);
            assert_eq!(send(method.clone(), "content-length", "0").await, StatusCode::OK);
            assert_eq!(send(method, "accept", "text/html").await, StatusCode::OK);
        }
        assert_eq!(send(Method::POST, "content-length", "1").await, StatusCode::OK);
    }

    #[test]
    fn p19_a_body_without_a_stated_size_counts_as_the_largest_one() {
        let request = || axum::http::Request::builder().method("POST");
        let count = |builder: axum::http::request::Builder| body_bytes(&builder.body(()).unwrap(), 100);
        assert_eq!(count(request()), 0);
        assert_eq!(count(request().header(CONTENT_LENGTH, "7")), 7);
        assert_eq!(count(request().header(CONTENT_LENGTH, "101")), 100);
        assert_eq!(count(request().header(CONTENT_LENGTH, "many")), 100);
        assert_eq!(count(request().header(TRANSFER_ENCODING, "chunked")), 100);
    }

    #[test]
    fn p19_a_body_in_json_or_a_form_reserves_a_multiple_of_its_size_and_an_upload_does_not() {
        let factor = |media_type: &str| {
            let request = axum::http::Request::builder().header(CONTENT_TYPE, media_type);
            parsed_need(&request.body(()).unwrap()).0
        };
        assert_eq!(factor("application/json; charset=utf-8"), PARSED_FACTOR);
        assert_eq!(factor("application/merge-patch+json"), PARSED_FACTOR);
        assert_eq!(factor("application/x-www-form-urlencoded"), PARSED_FACTOR);
        assert_eq!(factor("application/gzip"), 1);
        assert_eq!(parsed_need(&axum::http::Request::new(())).0, 1);
    }

    #[test]
    fn p19_a_message_of_an_agent_reserves_as_much_as_a_request_of_a_user_and_all_of_its_values() {
        let need = |bytes: usize| {
            let request = axum::http::Request::builder().method("POST").header(CONTENT_LENGTH, bytes);
            let request = request.header(CONTENT_TYPE, "application/json").body(()).unwrap();
            find_message_need(&request, 1 << 20)
        };
        assert!(need(SMALL_BODY_BYTES).is_none());
        assert_eq!(need(SMALL_BODY_BYTES + 1).map(|need| need.factor), Some(PARSED_FACTOR));
        assert_eq!(need(2 << 20).map(|need| need.factor), Some(PARSED_FACTOR), "refused when it arrives");
        let estimate = need(100_000).unwrap().estimate;
        let fields = |count: usize| format!(r#"{{"driftedFields":[{}{{}}]}}"#, "{},".repeat(count));
        assert!(estimate(fields(10_000).as_bytes()).unwrap() > 80 * fields(10_000).len() as u64);
        let refused = estimate(fields(1_000_000).as_bytes()).unwrap_err();
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[test]
    fn p19_the_values_of_a_body_of_the_usual_size_are_counted_and_not_only_its_bytes() {
        let estimate = |media_type: &str, text: &str| {
            let request = axum::http::Request::builder().method("POST").header(CONTENT_LENGTH, text.len());
            let request = request.header(CONTENT_TYPE, media_type).body(()).unwrap();
            find_need(&request, 1 << 20, 0).map(|need| (need.estimate)(text.as_bytes()).unwrap())
        };
        let maps = format!("[{}1]", r#"{"":0},"#.repeat(1_000));
        assert!(estimate("application/json", &maps).unwrap() > 60 * maps.len() as u64);
        let form = "k[a][a][a][a]=&".repeat(1_000);
        assert!(estimate("application/x-www-form-urlencoded", &form).unwrap() > 100 * form.len() as u64);
        assert_eq!(estimate("application/gzip", &form), Some(0));
        assert_eq!(estimate("application/json", ""), None, "there is no body");
    }
}
