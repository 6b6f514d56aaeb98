//! What the server provides to server functions through Leptos' context, and accessors for it.
//!
//! `hub::Hub` and `Arc<dyn SessionActions>` always; `hub::Actor` if a user is signed in; `Arc<dyn DemoControls>` on a demo;
//! `Arc<dyn AgentListenerInfo>` if agents are enabled; [`ConsoleOrigin`] if the request names a host.

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
    fn start_session(&self, session: hub::NewSession) -> BoxFuture<'_, Result<(), String>>;
    /// Where the request comes from, for the limits of attempts to sign in.
    fn client(&self) -> hub::SignInClient;
    /// The secret id of the session of this request; `None` if nobody is signed in.
    fn session_id(&self) -> Option<String>;
    /// Ends the session of this request.
    fn end_session(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// Injects faults into a demo's simulated clusters; implemented by the server.
pub trait DemoControls: Send + Sync {
    /// Runs the action on a workload of the cluster, or on any if its name is empty. Returns a sentence that says what was done, or why it was not possible.
    fn run_action<'a>(
        &'a self,
        cluster: &'a str,
        workload: &'a str,
        action: DemoAction,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// How the browser reached the console: scheme and host, without a path.
#[derive(Debug, Clone)]
pub struct ConsoleOrigin(pub String);

/// Name of the cookie with the join token that this browser created last: so the page that shows it can be loaded again, and
/// the server stores only its hash.
pub const JOIN_COOKIE: &str = "flotilla_join";

/// How agents reach the server; implemented by the server.
pub trait AgentListenerInfo: Send + Sync {
    /// The address they connect to.
    fn url(&self) -> String;
    /// The complete text of a join token, with what the agent needs to verify the hub.
    fn format_join_token(&self, secret: &hub::JoinTokenSecret) -> String;
    /// The id in the text of a join token; `None` if it is none.
    fn parse_join_token(&self, text: &str) -> Option<domain::JoinTokenId>;
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

/// The address of the console as this browser sees it; empty if it is not known.
pub fn console_origin() -> String {
    use_context::<ConsoleOrigin>().map(|origin| origin.0).unwrap_or_default()
}

/// The value of a cookie of this request.
pub fn request_cookie(name: &str) -> Option<String> {
    let parts = use_context::<http::request::Parts>()?;
    let values = parts.headers.get_all(http::header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|all| all.split(';')).filter_map(|one| one.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// Adds a cookie to the response, which no script can read and no other site sends; an empty value deletes it.
pub fn set_private_cookie(name: &str, value: &str, seconds: i64) {
    let secure = if console_origin().starts_with("https://") { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    if let (Some(response), Ok(cookie)) =
        (use_context::<ResponseOptions>(), http::header::HeaderValue::from_str(&cookie))
    {
        response.append_header(http::header::SET_COOKIE, cookie);
    }
}

/// How agents reach the server; `None` if agents are not enabled.
pub fn agent_endpoint() -> Option<Arc<dyn AgentListenerInfo>> {
    use_context::<Arc<dyn AgentListenerInfo>>()
}

/// How agents reach the server.
///
/// # Errors
/// Agents are not enabled.
pub fn require_agent_endpoint() -> AppResult<Arc<dyn AgentListenerInfo>> {
    let disabled = || AppError::FailedPrecondition(domain::actions::agents_disabled().to_string());
    agent_endpoint().ok_or_else(disabled).map_err(with_status)
}

/// Converts the hub's error into the console's and sets the HTTP status.
pub fn into_app_result<T>(result: Result<T, hub::Error>) -> AppResult<T> {
    result.map_err(|error| with_status(error.into()))
}

/// Converts the hub's result for a part of a page whose failure is shown in its place. An outage fails the whole query, so that the page has its
/// status.
pub fn into_part_result<T>(result: Result<T, hub::Error>) -> AppResult<AppResult<T>> {
    match result.map_err(AppError::from) {
        Err(error) if error.is_outage() => Err(with_status(error)),
        part => Ok(part),
    }
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
        AppError::AlreadyExists(_) | AppError::FailedPrecondition(_) | AppError::PartlyFailed { .. } => {
            StatusCode::CONFLICT
        }
        AppError::RevisionConflict { .. } | AppError::PlanStale(_) => StatusCode::PRECONDITION_FAILED,
        AppError::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        AppError::Forbidden(_) => StatusCode::FORBIDDEN,
        AppError::TooManyAttempts { .. } => StatusCode::TOO_MANY_REQUESTS,
        AppError::ServerBusy(_) | AppError::DatabaseUnavailable(_) | AppError::OutcomeUnknown => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        AppError::Unreadable(_) | AppError::Internal | AppError::Unreachable => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// The redirect target after signing in: only a path of the console, never another host. A browser removes `.` and `..` from a
/// path, so that `/..//evil` would become `//evil`, which is another host.
pub fn sanitize_next(next: &str) -> &str {
    let path = next.split(['?', '#']).next().unwrap_or_default();
    let is_plain = |segment: &str| {
        let dots = segment.to_ascii_lowercase().replace("%2e", ".");
        !matches!(dots.as_str(), "" | "." | "..")
    };
    let has_plain_segments = match path.strip_prefix('/') {
        Some("") => true,
        Some(rest) => rest.trim_end_matches('/').split('/').all(is_plain) && !rest.ends_with("//"),
        None => false,
    };
    let is_text = next.len() <= 2_000 && next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    if has_plain_segments && is_text { next } else { crate::paths::FLEET }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_never_redirects_to_another_host() {
        assert_eq!(sanitize_next("/workloads/web?tab=config"), "/workloads/web?tab=config");
        assert_eq!(sanitize_next("/clusters/?q=..//x"), "/clusters/?q=..//x");
        assert_eq!(sanitize_next("/"), "/");
        for evil in [
            "//evil",
            "/\\evil",
            "https://evil",
            "javascript:alert(1)",
            "",
            "/a\r\nSet-Cookie: x",
            "/..//evil",
            "/.//evil",
            "/%2e%2E//evil",
            "/a/..//evil",
            "/a/../../evil",
            "/a//",
            "/a\\..\\evil",
            "..//evil",
        ] {
            assert_eq!(sanitize_next(evil), "/", "{evil:?}");
        }
    }

    #[test]
    fn not_found_has_status_404() {
        let error = AppError::NotFound { what: "workload".into(), name: "web".into() };
        assert_eq!(status_code(&error), StatusCode::NOT_FOUND);
    }
}
