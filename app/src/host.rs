//! What the server provides to server functions through Leptos' context, and accessors for it.
//!
//! `hub::Hub` and `Arc<dyn SessionActions>` always; `hub::Actor` if a user is signed in; `Arc<dyn DemoControls>` on a demo;
//! `Arc<dyn AgentListenerInfo>` if agents are enabled.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::StatusCode;
use leptos::prelude::use_context;
use leptos_axum::ResponseOptions;

use crate::demo_action::DemoAction;
use crate::errors::{AppError, AppResult};

/// `Retry-After` of a response with status 503, in seconds.
const RETRY_AFTER: http::HeaderValue = http::HeaderValue::from_static("2");

/// A future of a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Starts and ends sessions; implemented by the server.
pub trait SessionActions: Send + Sync {
    /// Starts a session with the current response: new id, new cookie.
    fn start_session(&self, session: hub::Session) -> BoxFuture<'_, Result<(), String>>;
    /// Where the request comes from, for the limits of attempts to sign in.
    fn client(&self) -> hub::SignInClient;
    /// Ends the session of this request.
    fn end_session(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// Injects faults into a demo's simulated clusters; implemented by the server.
pub trait DemoControls: Send + Sync {
    /// Runs the action. Returns a sentence that says what was done, or why it was not possible.
    fn run_action<'a>(
        &'a self,
        cluster: &'a str,
        action: DemoAction,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// How agents reach the server; implemented by the server.
pub trait AgentListenerInfo: Send + Sync {
    /// The address they connect to.
    fn url(&self) -> String;
    /// The complete text of a join token, with what the agent needs to verify the hub.
    fn format_join_token(&self, secret: &hub::JoinTokenSecret) -> String;
}

/// The hub.
pub fn hub() -> AppResult<hub::Hub> {
    use_context::<hub::Hub>().ok_or(AppError::Internal).map_err(with_status)
}

/// The signed-in user. Reading requires one too.
pub fn actor() -> AppResult<hub::Actor> {
    use_context::<hub::Actor>()
        .ok_or_else(|| AppError::Unauthenticated("Sign in to see this.".to_owned()))
        .map_err(with_status)
}

/// The hub, if a user is signed in.
pub fn hub_for_reader() -> AppResult<hub::Hub> {
    actor()?;
    hub()
}

/// The server's sessions.
pub fn session_actions() -> AppResult<Arc<dyn SessionActions>> {
    use_context::<Arc<dyn SessionActions>>().ok_or(AppError::Internal).map_err(with_status)
}

/// The demo, if this is one.
pub fn demo_controls() -> Option<Arc<dyn DemoControls>> {
    use_context::<Arc<dyn DemoControls>>()
}

/// How agents reach the server; `None` if agents are not enabled.
pub fn agent_endpoint() -> Option<Arc<dyn AgentListenerInfo>> {
    use_context::<Arc<dyn AgentListenerInfo>>()
}

/// Converts the hub's error into the console's and sets the HTTP status.
pub fn into_app_result<T>(result: Result<T, hub::Error>) -> AppResult<T> {
    result.map_err(|error| with_status(error.into()))
}

/// Sets the HTTP status of an error and returns the error.
///
/// Not for a plain form post: its response is a redirect to the form, with the error in the address.
pub fn with_status(error: AppError) -> AppError {
    if let Some(response) = use_context::<ResponseOptions>()
        && !is_plain_form_post()
    {
        let status = status_code(&error);
        // A page has several queries: what can't be known outranks what another found.
        let before = response.0.read().ok().and_then(|parts| parts.status);
        if before != Some(StatusCode::SERVICE_UNAVAILABLE) {
            response.set_status(status);
        }
        if let AppError::TooManyAttempts { retry_after_seconds, .. } = &error {
            response.insert_header(http::header::RETRY_AFTER, (*retry_after_seconds).into());
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header(http::header::RETRY_AFTER, RETRY_AFTER);
        }
    }
    error
}

/// Whether a browser without script sent this request: the response must be a redirect to a page.
pub fn is_plain_form_post() -> bool {
    use_context::<http::request::Parts>().is_some_and(|parts| {
        let accept = parts.headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
        parts.method == http::Method::POST && accept.is_some_and(|accept| accept.contains("text/html"))
    })
}

fn status_code(error: &AppError) -> StatusCode {
    match error {
        AppError::Invalid(_) | AppError::PlanRejected { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        AppError::NotFound { .. } => StatusCode::NOT_FOUND,
        AppError::AlreadyExists(_) | AppError::FailedPrecondition(_) => StatusCode::CONFLICT,
        AppError::RevisionConflict { .. } | AppError::PlanStale(_) => StatusCode::PRECONDITION_FAILED,
        AppError::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        AppError::TooManyAttempts { .. } => StatusCode::TOO_MANY_REQUESTS,
        AppError::DatabaseUnavailable(_) | AppError::OutcomeUnknown => StatusCode::SERVICE_UNAVAILABLE,
        AppError::Unreadable(_) | AppError::Internal | AppError::Unreachable => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// The redirect target after signing in: only a path of the console, never another host (`//evil`, `/\evil`).
pub fn sanitize_next(next: &str) -> &str {
    let bytes = next.as_bytes();
    let inside = bytes.first() == Some(&b'/')
        && !matches!(bytes.get(1), Some(b'/' | b'\\'))
        && next.len() <= 2_000
        && next.bytes().all(|b| b.is_ascii_graphic());
    if inside { next } else { crate::paths::FLEET }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_never_redirects_to_another_host() {
        assert_eq!(sanitize_next("/workloads/web?tab=config"), "/workloads/web?tab=config");
        for evil in ["//evil", "/\\evil", "https://evil", "javascript:alert(1)", "", "/a\r\nSet-Cookie: x"] {
            assert_eq!(sanitize_next(evil), "/", "{evil:?}");
        }
    }

    #[test]
    fn not_found_has_status_404() {
        let error = AppError::NotFound { what: "workload".into(), name: "web".into() };
        assert_eq!(status_code(&error), StatusCode::NOT_FOUND);
    }
}
