//! Converts [`hub::Error`] and other rejections to RFC 9457 problems. The only place where errors become HTTP responses.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use wire::Problem;

/// `Retry-After` of a response with status 503, in seconds.
pub const DEFAULT_RETRY_AFTER: HeaderValue = HeaderValue::from_static("2");

/// An error response: a problem with its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    problem: Box<Problem>,
    /// The code of the problem, static: metrics have a bounded set of labels.
    label: &'static str,
    /// When the request may be repeated, in seconds.
    retry_after: Option<u64>,
}

/// The error label for metrics, stored in the response's extensions.
#[derive(Debug, Clone, Copy)]
pub struct ErrorLabel(pub &'static str);

impl ApiError {
    /// An error with its own code.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let problem = Problem::new(status.as_u16(), code, reason_phrase(status), detail);
        Self { problem: Box::new(problem), label: code, retry_after: None }
    }

    /// The same with a `Retry-After`, in seconds.
    pub fn with_retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The error for a status that the framework returned without details.
    pub fn from_status(status: StatusCode) -> Self {
        let (code, detail) = match status {
            StatusCode::NOT_FOUND => ("NotFound", "There is no resource at this path."),
            StatusCode::METHOD_NOT_ALLOWED => {
                ("MethodNotAllowed", "This path does not support the method; see the Allow header.")
            }
            StatusCode::PAYLOAD_TOO_LARGE => (
                "TooLarge",
                "The body is larger than this path accepts: 64 KiB, or 12 MiB where it contains the source of a workload. Nothing was stored. Send less, or split the workload.",
            ),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                ("UnsupportedMediaType", "Send the body as application/json.")
            }
            // Of the time limit of responses.
            StatusCode::SERVICE_UNAVAILABLE => (
                "Timeout",
                "The request took too long and was aborted. It is not known whether a change was stored. Repeat the request with the same Idempotency-Key: the change is made once.",
            ),
            StatusCode::BAD_REQUEST => ("BadRequest", "The request is not valid."),
            status if status.is_server_error() => {
                ("Internal", "Server error; the server's log has the details.")
            }
            _ => ("Refused", "The request was rejected."),
        };
        Self::new(status, code, detail)
    }

    /// The same with another status, for paths of an API that has fixed ones.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.problem.status = status.as_u16();
        self
    }

    /// A malformed request.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", detail)
    }

    /// Its HTTP status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The message for people.
    pub fn detail(&self) -> &str {
        &self.problem.detail
    }
}

fn reason_phrase(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Rejected")
}

/// The status of each error of the hub.
pub const fn http_status(error: &hub::Error) -> StatusCode {
    match error {
        hub::Error::Invalid(_) | hub::Error::PlanRejected { .. } | hub::Error::IdempotencyKeyReused => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        hub::Error::NotFound { .. } => StatusCode::NOT_FOUND,
        hub::Error::AlreadyExists(_)
        | hub::Error::NameTaken(_)
        | hub::Error::FailedPrecondition(_)
        | hub::Error::SessionUnknown
        | hub::Error::ConfirmationRequired(_) => StatusCode::CONFLICT,
        hub::Error::RevisionConflict { .. } | hub::Error::PlanStale(_) => StatusCode::PRECONDITION_FAILED,
        hub::Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        hub::Error::Forbidden(_) | hub::Error::TokenLimited(_) => StatusCode::FORBIDDEN,
        hub::Error::TooManyAttempts { .. } => StatusCode::TOO_MANY_REQUESTS,
        hub::Error::ServerBusy { .. }
        | hub::Error::BeingRestored { .. }
        | hub::Error::DatabaseUnavailable(..)
        | hub::Error::CommitOutcomeUnknown(_) => StatusCode::SERVICE_UNAVAILABLE,
        hub::Error::Unreadable { .. } | hub::Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<hub::Error> for ApiError {
    fn from(error: hub::Error) -> Self {
        // Logged only here: other layers pass these errors on.
        match &error {
            hub::Error::Internal(source) => {
                tracing::error!(error = %error_chain(source.as_ref()), "internal error in the hub")
            }
            // The store logs when an outage begins and ends.
            hub::Error::DatabaseUnavailable(_, source) => {
                tracing::debug!(error = %error_chain(source), "the database is not available")
            }
            hub::Error::CommitOutcomeUnknown(source) => {
                tracing::warn!(error = %error_chain(source), "it is not known whether a change was stored")
            }
            hub::Error::Unreadable { source, .. } => {
                tracing::error!(error = %source, "stored data can't be read")
            }
            _ => {}
        }
        let title = match &error {
            hub::Error::Invalid(_) => "The input is not valid",
            hub::Error::Unreadable { .. } => "Stored data can't be read",
            hub::Error::RevisionConflict { .. } => "Revision conflict",
            hub::Error::PlanStale(_) => "The plan is stale",
            hub::Error::PlanRejected { .. } => "The clusters rejected the plan",
            hub::Error::ConfirmationRequired(_) => "Confirmation required",
            hub::Error::FailedPrecondition(_) => "Not possible in this state",
            hub::Error::DatabaseUnavailable(..) => "The database is not available",
            hub::Error::CommitOutcomeUnknown(_) => "Not known whether it was stored",
            hub::Error::ServerBusy { .. } => "The server is busy",
            hub::Error::BeingRestored { .. } => "It is being restored",
            other => reason_phrase(http_status(other)),
        };
        let label = error.code();
        let mut retry_after = None;
        let mut problem = Problem::new(http_status(&error).as_u16(), label, title, error.to_string());
        match error {
            hub::Error::RevisionConflict { current } => problem.current_revision = Some(current),
            hub::Error::Invalid(findings) | hub::Error::PlanRejected { findings, .. } => {
                problem.findings = findings
            }
            hub::Error::NameTaken(finding) | hub::Error::ConfirmationRequired(finding) => {
                problem.findings = vec![*finding]
            }
            hub::Error::Forbidden(refusal) => {
                problem.action = Some(refusal.action.as_str().to_owned());
                problem.required_role = Some(refusal.required);
                problem.role = Some(refusal.role);
                // No role is missing if the API token is for other actions.
                problem.granted_by =
                    (!refusal.is_of_token).then(|| domain::authorization::WHO_GRANTS.to_owned());
            }
            hub::Error::TooManyAttempts { retry_after_seconds }
            | hub::Error::ServerBusy { retry_after_seconds, .. }
            | hub::Error::BeingRestored { retry_after_seconds, .. } => {
                retry_after = Some(retry_after_seconds.into());
            }
            _ => {}
        }
        Self { problem: Box::new(problem), label, retry_after }
    }
}

/// An error with all its causes in one line.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

impl ApiError {
    /// The response with this body instead of the problem.
    pub fn with_body(self, content_type: HeaderValue, body: Vec<u8>) -> Response {
        let status = self.status();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type);
        match self.retry_after {
            Some(seconds) => drop(headers.insert(RETRY_AFTER, HeaderValue::from(seconds))),
            None if status == StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, DEFAULT_RETRY_AFTER);
            }
            None => {}
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        let mut response = (status, headers, body).into_response();
        response.extensions_mut().insert(ErrorLabel(self.label));
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        self.with_body(HeaderValue::from_static(wire::problem::MEDIA_TYPE), body)
    }
}

/// Middleware: converts error responses of the API that are not problems, such as the framework's plain-text ones.
pub async fn convert_errors_to_problems(
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    let path = request.uri().path();
    let of_api = path.starts_with("/api/v1") || path.starts_with("/agent/v1");
    let response = next.run(request).await;
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_problem = kind == Some(wire::problem::MEDIA_TYPE.as_bytes());
    let refused = response.status().is_client_error() || response.status().is_server_error();
    if !of_api || !refused || is_problem {
        return response;
    }
    let mut refusal = ApiError::from_status(response.status()).into_response();
    for (name, value) in response.headers() {
        if *name != CONTENT_TYPE && *name != axum::http::header::CONTENT_LENGTH {
            refusal.headers_mut().insert(name.clone(), value.clone());
        }
    }
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_error_exposes_no_details() {
        let refusal = ApiError::from(hub::Error::Internal("/var/lib/secret".into()));
        assert_eq!(refusal.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!serde_json::to_string(&refusal.problem).unwrap().contains("secret"));
    }

    #[test]
    fn a_revision_conflict_has_the_current_revision() {
        let refusal = ApiError::from(hub::Error::RevisionConflict { current: 7 });
        assert_eq!(
            (refusal.status(), refusal.problem.current_revision),
            (StatusCode::PRECONDITION_FAILED, Some(7))
        );
        assert_eq!(refusal.problem.code, "RevisionConflict");
    }

    #[test]
    fn p20_a_request_beyond_the_bound_of_waiting_work_gets_a_503_with_retry_after() {
        let error = hub::Error::ServerBusy { message: "Too much waits.".into(), retry_after_seconds: 30 };
        let refusal = ApiError::from(error);
        assert!(refusal.detail().starts_with("Too much waits. Nothing was stored."), "{}", refusal.detail());
        let response = refusal.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers().get(RETRY_AFTER), Some(&HeaderValue::from_static("30")));
    }

    #[test]
    fn s4_9_what_is_being_restored_gets_a_503_with_retry_after() {
        let error = hub::Error::BeingRestored { what: "bundle 0a1b2c3d".into(), retry_after_seconds: 5 };
        let refusal = ApiError::from(error);
        assert!(refusal.detail().contains("bundle 0a1b2c3d are lost"), "{}", refusal.detail());
        let response = refusal.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers().get(RETRY_AFTER), Some(&HeaderValue::from_static("5")));
    }

    #[test]
    fn every_error_is_counted_under_its_own_code() {
        let finding = Box::new(domain::Finding::error("G505", "m", "h"));
        let errors = [
            ApiError::from(hub::Error::PlanStale("m".into())),
            ApiError::from(hub::Error::PlanRejected { message: "m".into(), findings: Vec::new() }),
            ApiError::from(hub::Error::ConfirmationRequired(finding)),
            ApiError::from(hub::Error::IdempotencyKeyReused),
            ApiError::from(hub::Error::ServerBusy { message: "m.".into(), retry_after_seconds: 5 }),
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyAttempts", "m"),
            ApiError::from_status(StatusCode::NOT_FOUND),
        ];
        for error in errors {
            let code = error.problem.code.clone();
            let response = error.into_response();
            assert_eq!(response.extensions().get::<ErrorLabel>().unwrap().0, code);
        }
    }
}
