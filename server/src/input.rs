//! Extractors for bodies, queries and path parameters. Invalid input is rejected as a problem.

use std::borrow::Cow;
use std::error::Error as _;
use std::iter::successors;

use axum::RequestExt as _;
use axum::body::{Bytes, to_bytes};
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use domain::null_character;
use domain::page::{ListQuery, MAX_LIMIT};
use domain::release::ReleaseState;
use domain::strict_input::{self, UniqueKeysValue};
use egress::MinimumRate;
use http_body_util::LengthLimitError;
use hub::{Actor, ActorKind, run_blocking, run_blocking_in_place};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::problem::ApiError;
use crate::router::DEFAULT_BODY_BYTES;
use crate::value_memory::{ValueMemory, estimate_json};

/// The only project, of the only organisation of the same name; any other is not found.
pub const PROJECT: &str = "default";

/// A body of more bytes is parsed beside other requests, which would wait for it, and in memory that is reserved for it
/// (`crate::body_memory`).
pub const LARGE_BODY_BYTES: usize = DEFAULT_BODY_BYTES;

/// A JSON body of a user or program. A field that the type does not have, or that is set twice, is rejected.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned + Send + 'static, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let memory = ValueMemory::of(&request);
        let bytes = read_json_body(request).await?;
        if let Some(memory) = memory.filter(|_| bytes.len() > LARGE_BODY_BYTES) {
            let needed = run_blocking_in_place(|| estimate_json(&bytes));
            memory.reserve(needed, bytes.len()).await?;
        }
        parse_body(bytes, parse_strictly).await.map(Self)
    }
}

fn parse_strictly<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let axum::Json(UniqueKeysValue(value)) =
        axum::Json::from_bytes(bytes).map_err(|rejection| reject_body(&rejection))?;
    strict_input::parse(&value).map_err(|error| {
        let why = truncate_message(&error.to_string());
        let end = if why.ends_with('?') { "" } else { "." };
        ApiError::bad_request(format!("The body is not valid: {why}{end}"))
    })
}

/// A JSON message of an agent. A field that the type does not have is ignored: the agent may be of a later version (P23). The character
/// U+0000, which can't be stored, is replaced: it is a text of an object of the cluster, and what else the agent reports is recorded.
#[derive(Debug)]
pub struct AgentMessage<T>(pub T);

impl<T: DeserializeOwned + Send + 'static, S: Send + Sync> FromRequest<S> for AgentMessage<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = read_json_body(request).await?;
        parse_body(bytes, parse_agent_message).await.map(Self)
    }
}

fn parse_agent_message<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let replaced = match std::str::from_utf8(bytes).map(null_character::replace_in_json) {
        Ok(Cow::Owned(json)) => Some(json),
        Ok(Cow::Borrowed(_)) | Err(_) => None,
    };
    let bytes = replaced.as_deref().map_or(bytes, str::as_bytes);
    let axum::Json(message) = axum::Json::from_bytes(bytes).map_err(|rejection| reject_body(&rejection))?;
    Ok(message)
}

/// A body as it is sent.
#[derive(Debug)]
pub struct RawBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        read_limited_body(request).await.map(Self)
    }
}

/// A body that is read in parts, none of which is retained: anyone can send it.
#[derive(Debug)]
pub struct StreamedBody(pub axum::body::Body);

impl<S: Send + Sync> FromRequest<S> for StreamedBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        Ok(Self(request.into_limited_body()))
    }
}

/// The bytes of a body whose type is JSON.
async fn read_json_body(request: Request) -> Result<Bytes, ApiError> {
    let media_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !media_type.is_some_and(is_json) {
        return Err(ApiError::from_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    read_limited_body(request).await
}

/// Reads a body up to the limit of its route.
async fn read_limited_body(request: Request) -> Result<Bytes, ApiError> {
    read_bytes(request.into_limited_body(), usize::MAX).await
}

/// Reads a body of at most this many bytes; one that has a lower limit already retains it.
///
/// # Errors
/// It is too large, or does not arrive.
pub async fn read_bytes(body: axum::body::Body, max_bytes: usize) -> Result<Bytes, ApiError> {
    to_bytes(body, max_bytes).await.map_err(|error| reject_unread_body(&error))
}

/// The refusal of a body that is too large, or does not arrive.
pub fn reject_unread_body(error: &axum::Error) -> ApiError {
    let is_too_large =
        successors(error.source(), |cause| (*cause).source()).any(|cause| cause.is::<LengthLimitError>());
    if is_too_large {
        return ApiError::from_status(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let MinimumRate { bytes, window } = MinimumRate::FILES;
    ApiError::new(
        StatusCode::REQUEST_TIMEOUT,
        "Timeout",
        format!(
            "The body did not arrive in time: at least {} KiB are required in every {} s until its end. Nothing was stored. Send it again.",
            bytes >> 10,
            window.as_secs()
        ),
    )
}

/// Whether a media type is that of JSON, as in `application/json; charset=utf-8` or `application/merge-patch+json`.
pub fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let subtype = essence.strip_prefix("application/").unwrap_or_default();
    subtype == "json" || subtype.ends_with("+json")
}

/// Parses a body: a large one on a thread for blocking work, because other requests wait for this one. It has the memory that its request
/// has reserved to its end, although the client may be gone.
async fn parse_body<T: Send + 'static>(
    bytes: Bytes,
    parse: fn(&[u8]) -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    if bytes.len() <= LARGE_BODY_BYTES {
        return parse(&bytes);
    }
    run_blocking(move || parse(&bytes)).await?
}

fn reject_body(rejection: &JsonRejection) -> ApiError {
    match rejection.status() {
        // Malformed JSON is a 400 like a wrong field: 422 is reserved for guard-rail findings.
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::BAD_REQUEST => {
            let why = crate::problem::error_chain(rejection);
            ApiError::bad_request(format!("The body is not valid: {}", truncate_message(&why)))
        }
        status => ApiError::from_status(status),
    }
}

/// Limits a message that may contain input to 400 characters without control characters.
fn truncate_message(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(400).collect()
}

/// A query.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(reject_query(&rejection)),
        }
    }
}

fn reject_query(rejection: &QueryRejection) -> ApiError {
    let why = crate::problem::error_chain(rejection);
    ApiError::bad_request(format!("The query is not valid: {}", truncate_message(&why)))
}

/// Path parameters; project and organisation, if there is one, must be [`PROJECT`].
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let names = RawPathParams::from_request_parts(parts, state).await;
        let names = names.map_err(|_| ApiError::bad_request("The path is not valid UTF-8."))?;
        for (key, what) in [("project", "project"), ("org", "organisation")] {
            if let Some((_, other)) = names.iter().find(|(name, value)| *name == key && *value != PROJECT) {
                return Err(hub::Error::not_found(what, truncate_message(other)).into());
            }
        }
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(reject_path(&rejection)),
        }
    }
}

fn reject_path(rejection: &PathRejection) -> ApiError {
    ApiError::bad_request(format!("The path is not valid: {}", truncate_message(&rejection.body_text())))
}

/// Path parameters of the project.
#[derive(Debug, Deserialize)]
pub struct ProjectPath {}

/// Path parameters of a workload.
#[derive(Debug, Deserialize)]
pub struct WorkloadPath {
    /// Its name.
    pub workload: String,
}

/// Path parameters of a revision.
#[derive(Debug, Deserialize)]
pub struct RevisionPath {
    /// Name of the workload.
    pub workload: String,
    /// Number of the revision.
    pub revision: u32,
}

/// Path parameters of a cluster.
#[derive(Debug, Deserialize)]
pub struct ClusterPath {
    /// Its name.
    pub cluster: String,
}

/// The authenticated caller, stored by [`crate::access`].
#[derive(Debug)]
pub struct Caller(pub Actor);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let actor = parts.extensions.get::<Actor>().cloned();
        actor.map(Self).ok_or_else(|| hub::Error::Unauthenticated("Sign in, or send an API token.").into())
    }
}

/// The secret id of the session of the request, if it has one; a client with an API token has none.
#[derive(Debug)]
pub struct CurrentSession(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for CurrentSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let is_session =
            parts.extensions.get::<Actor>().is_some_and(|actor| matches!(actor.kind, ActorKind::Session(_)));
        let session = parts.extensions.get::<tower_sessions::Session>().filter(|_| is_session);
        Ok(Self(session.and_then(|session| session.id()).map(|id| id.to_string())))
    }
}

/// Query parameters of lists: filters and page.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListParams {
    /// At most this many items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// The previous page's `next`.
    pub cursor: Option<String>,
    /// Only names that contain this.
    pub q: Option<String>,
    /// Only items with a release in one of these states, comma-separated, such as `Failed,Degraded`.
    pub state: Option<String>,
    /// Only items with these labels, in the syntax of `kubectl -l`.
    pub label_selector: Option<String>,
}

impl ListParams {
    /// The hub's query. Unknown states are rejected: ignoring them would list everything.
    pub fn into_list_query(self) -> Result<ListQuery, ApiError> {
        if self.limit.is_some_and(|limit| limit == 0 || limit > MAX_LIMIT) {
            return Err(ApiError::bad_request(format!("limit must be 1 to {MAX_LIMIT}.")));
        }
        let state = self.state.unwrap_or_default();
        let unknown = |word: &&str| !word.is_empty() && ReleaseState::parse(word).is_none();
        if let Some(word) = state.split(',').map(str::trim).find(unknown) {
            return Err(ApiError::bad_request(format!(
                "{:?} is not a state. Use for example Healthy or Failed.",
                truncate_message(word)
            )));
        }
        Ok(ListQuery {
            limit: self.limit,
            cursor: self.cursor,
            q: self.q.unwrap_or_default(),
            state,
            label_selector: self.label_selector.unwrap_or_default(),
        })
    }
}

/// Whether to execute the request or only check it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DryRunQuery {
    /// `true`: return findings and the placement decision, store nothing.
    #[param(required = false)]
    pub dry_run: bool,
}

/// Adds the next page as a `Link` header (RFC 8288).
pub fn page_response<T: Serialize>(
    page: domain::page::Page<T>,
    uri: &axum::http::Uri,
) -> (axum::http::HeaderMap, axum::Json<domain::page::Page<T>>) {
    let mut headers = axum::http::HeaderMap::new();
    if let Some(link) = page.next.as_deref().and_then(|cursor| next_link(uri, cursor)) {
        headers.insert(axum::http::header::LINK, link);
    }
    (headers, axum::Json(page))
}

fn next_link(uri: &axum::http::Uri, cursor: &str) -> Option<axum::http::HeaderValue> {
    let escaped = percent_encoding::utf8_percent_encode(cursor, percent_encoding::NON_ALPHANUMERIC);
    let others = uri.query().unwrap_or_default().split('&');
    let others = others.filter(|pair| !pair.is_empty() && !pair.starts_with("cursor="));
    let query: String = others.fold(String::new(), |all, pair| format!("{all}{pair}&"));
    format!("<{}?{query}cursor={escaped}>; rel=\"next\"", uri.path()).parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::time::Duration;

    use source::retained_memory::run_with_memory;

    use super::*;

    #[test]
    fn the_link_to_the_next_page_keeps_the_filter_and_replaces_the_cursor() {
        let uri = "/api/v1/clusters?limit=2&cursor=old&q=eu".parse().unwrap();
        let link = next_link(&uri, "a/b=").unwrap();
        assert_eq!(link, "</api/v1/clusters?limit=2&q=eu&cursor=a%2Fb%3D>; rel=\"next\"");
    }

    #[tokio::test]
    async fn p19_the_thread_of_other_requests_does_not_parse_a_large_body() {
        fn thread(_: &[u8]) -> Result<std::thread::ThreadId, ApiError> {
            Ok(std::thread::current().id())
        }
        let own = std::thread::current().id();
        assert_eq!(parse_body(Bytes::from(vec![0; LARGE_BODY_BYTES]), thread).await.unwrap(), own);
        assert_ne!(parse_body(Bytes::from(vec![0; LARGE_BODY_BYTES + 1]), thread).await.unwrap(), own);
    }

    #[tokio::test]
    async fn p19_a_large_body_whose_client_is_gone_is_parsed_in_the_memory_of_its_request() {
        static IS_PARSING: AtomicBool = AtomicBool::new(false);
        static MAY_END: AtomicBool = AtomicBool::new(false);
        fn parse_slowly(_: &[u8]) -> Result<(), ApiError> {
            IS_PARSING.store(true, SeqCst);
            while !MAY_END.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        }
        let reserved = Arc::new(());
        let parsed = parse_body(Bytes::from(vec![0; LARGE_BODY_BYTES + 1]), parse_slowly);
        let mut request = Box::pin(run_with_memory(reserved.clone(), parsed));
        while !IS_PARSING.load(SeqCst) {
            assert!(futures::poll!(request.as_mut()).is_pending());
        }
        drop(request);
        assert_eq!(Arc::strong_count(&reserved), 2);
        MAY_END.store(true, SeqCst);
        while Arc::strong_count(&reserved) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn a_body_that_stops_is_a_timeout_and_one_beyond_any_limit_is_too_large() {
        let parts = [Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("the client stopped"))];
        let stopped = axum::body::Body::from_stream(futures::stream::iter(parts));
        assert_eq!(read_bytes(stopped, 100).await.unwrap_err().status(), StatusCode::REQUEST_TIMEOUT);
        let large = || axum::body::Body::from(vec![0; 101]);
        assert_eq!(read_bytes(large(), 100).await.unwrap_err().status(), StatusCode::PAYLOAD_TOO_LARGE);
        let limited = axum::body::Body::new(http_body_util::Limited::new(large(), 100));
        assert_eq!(read_bytes(limited, 1_000).await.unwrap_err().status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(read_bytes(large(), 101).await.unwrap().len(), 101);
    }

    #[test]
    fn only_media_types_of_json_are_read_as_json() {
        for json in ["application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"] {
            assert!(is_json(json), "{json}");
        }
        for other in ["", "text/json", "application/jsonl", "application/gzip", "json"] {
            assert!(!is_json(other), "{other}");
        }
    }

    #[test]
    fn an_unknown_state_is_rejected_instead_of_listing_everything() {
        let params = ListParams { state: Some("Failed,Helthy".to_owned()), ..ListParams::default() };
        assert_eq!(params.into_list_query().unwrap_err().status(), StatusCode::BAD_REQUEST);
    }
}
