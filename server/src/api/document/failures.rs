//! The failures of operations in the OpenAPI document. With which of them an operation may answer follows from its method, its
//! parameters and its body, so that no handler can forget one.

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::{Content, Ref, RefOr, Required, Response, ResponseBuilder};

use super::{as_parameter, header};
use crate::access::find_action;

/// Name of the response for every status that is not listed.
const OTHER: &str = "Failure";

/// A failure that operations share.
struct SharedFailure {
    status: StatusCode,
    /// Its name among the responses of the document.
    name: &'static str,
    description: &'static str,
    /// Names of the headers that the response has.
    headers: &'static [&'static str],
}

static FAILURES: [SharedFailure; 12] = [
    SharedFailure {
        status: StatusCode::BAD_REQUEST,
        name: "BadRequest",
        description: "The path, the query, a header or the body can't be read",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::UNAUTHORIZED,
        name: "Unauthenticated",
        description: "There are no credentials, or they are not valid any more",
        headers: &["WWW-Authenticate"],
    },
    SharedFailure {
        status: StatusCode::FORBIDDEN,
        name: "Forbidden",
        description: "The role of the caller does not allow the operation; `requiredRole` is the least one that does",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::NOT_FOUND,
        name: "NotFound",
        description: "What the request names does not exist",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::CONFLICT,
        name: "Conflict",
        description: "It is not possible in the present state, or the first request with this `Idempotency-Key` is in progress",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::PRECONDITION_FAILED,
        name: "PreconditionFailed",
        description: "It has changed since it was read; `currentRevision` is its revision",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        name: "TooLarge",
        description: "The body is larger than the operation accepts",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        name: "UnsupportedMediaType",
        description: "The body is not sent as JSON",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        name: "Invalid",
        description: "The input is rejected; `findings` have the reasons, or the `Idempotency-Key` was used for another request",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::PRECONDITION_REQUIRED,
        name: "PreconditionRequired",
        description: "`If-Match` is missing",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        name: "Internal",
        description: "Server error; its log has the details",
        headers: &[],
    },
    SharedFailure {
        status: StatusCode::SERVICE_UNAVAILABLE,
        name: "Unavailable",
        description: "The server is busy, or its database is not available; repeat the request after `Retry-After`",
        headers: &["Retry-After"],
    },
];

impl SharedFailure {
    /// Whether an operation may answer with it.
    fn is_possible(&self, method: &Method, operation: &Operation) -> bool {
        let has = |place: ParameterIn| {
            let mut parameters = operation.parameters.iter().flatten().filter_map(as_parameter);
            parameters.any(|parameter| parameter.parameter_in == place)
        };
        let is_write = !method.is_safe();
        let has_body = operation.request_body.is_some();
        // Without an action, it is authenticated by a signature.
        let has_action = operation.operation_id.as_deref().and_then(find_action).is_some();
        match self.status {
            StatusCode::FORBIDDEN => has_action,
            StatusCode::NOT_FOUND => has(ParameterIn::Path) || has(ParameterIn::Query) || has_body,
            StatusCode::CONFLICT => is_write || has(ParameterIn::Path),
            StatusCode::PRECONDITION_FAILED => if_match(operation).is_some(),
            StatusCode::PAYLOAD_TOO_LARGE => has_body,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => has_action && has_json_body(operation),
            StatusCode::UNPROCESSABLE_ENTITY => is_write || has(ParameterIn::Path) || has(ParameterIn::Query),
            StatusCode::PRECONDITION_REQUIRED => if_match(operation) == Some(true),
            _ => true,
        }
    }

    fn response(&self) -> Response {
        // A rejection is final and replayed, a failure of the server is not.
        let replay = self.status.is_client_error().then_some(&"Idempotency-Replayed");
        let names = self.headers.iter().chain(replay);
        names
            .fold(problem_response(self.description), |response, name| response.header(*name, header(name)))
            .build()
    }
}

/// Whether the operation requires `If-Match`; `None` if it does not have that header.
fn if_match(operation: &Operation) -> Option<bool> {
    let mut parameters = operation.parameters.iter().flatten().filter_map(as_parameter);
    let found = parameters.find(|parameter| parameter.name == "If-Match")?;
    Some(matches!(found.required, Required::True))
}

fn has_json_body(operation: &Operation) -> bool {
    let body: Option<&RequestBody> = match &operation.request_body {
        Some(RefOr::T(body)) => Some(body),
        Some(RefOr::Ref(_)) | None => None,
    };
    body.is_some_and(|body| body.content.contains_key("application/json"))
}

fn problem_response(description: &str) -> ResponseBuilder {
    let problem = Content::new(Some(Ref::from_schema_name("Problem")));
    ResponseBuilder::new().description(description).content(wire::problem::MEDIA_TYPE, problem)
}

/// Adds the failures with which an operation may answer and that its handler does not declare.
pub fn add_failures(method: &Method, operation: &mut Operation) {
    let possible: Vec<&SharedFailure> =
        FAILURES.iter().filter(|failure| failure.is_possible(method, operation)).collect();
    let responses = &mut operation.responses.responses;
    for failure in possible {
        let shared = || RefOr::Ref(Ref::from_response_name(failure.name));
        responses.entry(failure.status.as_str().to_owned()).or_insert_with(shared);
    }
    responses.insert("default".to_owned(), RefOr::Ref(Ref::from_response_name(OTHER)));
}

/// The responses that [`add_failures`] refers to, by name.
pub fn list_failure_responses() -> BTreeMap<String, RefOr<Response>> {
    let named = FAILURES.iter().map(|failure| (failure.name.to_owned(), RefOr::T(failure.response())));
    let other = problem_response("Any other failure").build();
    named.chain([(OTHER.to_owned(), RefOr::T(other))]).collect()
}
