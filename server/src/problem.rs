//! What a surface of ours says when it refuses: `hub::Error`, one to one, as RFC 9457 problems. The one place where
//! errors become HTTP.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use wire::Problem;

/// A refusal on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(Box<Problem>);

/// The label of the hub's error behind an answer, for the metrics; rides in the response's extensions.
#[derive(Debug, Clone, Copy)]
pub struct Label(pub &'static str);

impl Refusal {
    /// A refusal with a code of its own.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(status.as_u16(), code, reason(status), detail)))
    }

    /// The refusal that a bare status means, where the framework gave no more.
    pub fn of_status(status: StatusCode) -> Self {
        let (code, detail) = match status {
            StatusCode::NOT_FOUND => ("NotFound", "There is nothing at this address."),
            StatusCode::METHOD_NOT_ALLOWED => {
                ("MethodNotAllowed", "This address does not take this method; see the Allow header.")
            }
            StatusCode::PAYLOAD_TOO_LARGE => ("TooLarge", "The body is too large."),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                ("UnsupportedMediaType", "Send the body as application/json.")
            }
            StatusCode::REQUEST_TIMEOUT => ("Timeout", "The request took too long; it was given up."),
            StatusCode::BAD_REQUEST => ("BadRequest", "The request could not be read."),
            status if status.is_server_error() => {
                ("Internal", "Something went wrong inside Flotilla; the log has the details.")
            }
            _ => ("Refused", "The request was refused."),
        };
        Self::new(status, code, detail)
    }

    /// A request that could not be understood.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", detail)
    }

    /// Its HTTP status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// What the person reads.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

fn reason(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Refused")
}

/// The status of each of the hub's errors.
pub const fn status_of(error: &hub::Error) -> StatusCode {
    match error {
        hub::Error::Invalid(_) | hub::Error::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        hub::Error::NotFound { .. } => StatusCode::NOT_FOUND,
        hub::Error::Exists(_) | hub::Error::Taken(_) | hub::Error::NotNow(_) | hub::Error::Unconfirmed(_) => {
            StatusCode::CONFLICT
        }
        hub::Error::Changed { .. } | hub::Error::PlanStale(_) => StatusCode::PRECONDITION_FAILED,
        hub::Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        hub::Error::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        hub::Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<hub::Error> for Refusal {
    fn from(error: hub::Error) -> Self {
        // Logged here, once: everywhere else these errors only pass through.
        match &error {
            hub::Error::Internal(source) => {
                tracing::error!(error = %chain(source.as_ref()), "the hub failed")
            }
            hub::Error::Busy(source) => tracing::warn!(error = %chain(source), "the database is busy"),
            _ => {}
        }
        let title = match &error {
            hub::Error::Invalid(_) => "The input is not valid",
            hub::Error::Changed { .. } => "Changed meanwhile",
            hub::Error::PlanStale(_) => "The plan is stale",
            hub::Error::Unconfirmed(_) => "Say how many",
            hub::Error::NotNow(_) => "Not now",
            other => reason(status_of(other)),
        };
        let mut problem = Problem::new(status_of(&error).as_u16(), error.label(), title, error.to_string());
        match error {
            hub::Error::Changed { current } => problem.current_revision = Some(current),
            hub::Error::Invalid(findings) => problem.findings = findings,
            hub::Error::Taken(finding) | hub::Error::Unconfirmed(finding) => {
                problem.findings = vec![*finding]
            }
            _ => {}
        }
        Self(Box::new(problem))
    }
}

/// An error with all its causes in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(wire::problem::MEDIA_TYPE));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("2"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, headers, body).into_response();
        response.extensions_mut().insert(Label(known_label(&self.0.code)));
        response
    }
}

/// Labels are few and fixed, whatever a request says.
fn known_label(code: &str) -> &'static str {
    const KNOWN: [&str; 9] = [
        "Invalid",
        "NotFound",
        "Exists",
        "Changed",
        "NotNow",
        "KeyReused",
        "Unauthenticated",
        "Busy",
        "Internal",
    ];
    KNOWN.into_iter().find(|known| *known == code).unwrap_or("BadRequest")
}

/// Gives every refusal of the API the form of a problem, also those the framework made in plain text.
pub async fn every_refusal_is_a_problem(
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
    let mut refusal = Refusal::of_status(response.status()).into_response();
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
    fn a_fault_of_ours_carries_no_text_out_of_the_house() {
        let refusal = Refusal::from(hub::Error::Internal("/var/lib/secret".into()));
        assert_eq!(refusal.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!serde_json::to_string(&refusal.0).unwrap().contains("secret"));
    }

    #[test]
    fn somebody_elses_change_says_which_revision_there_is_now() {
        let refusal = Refusal::from(hub::Error::Changed { current: 7 });
        assert_eq!(
            (refusal.status(), refusal.0.current_revision),
            (StatusCode::PRECONDITION_FAILED, Some(7))
        );
        assert_eq!(refusal.0.code, "Changed");
    }
}
