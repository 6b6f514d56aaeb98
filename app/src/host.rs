//! What the server that hosts the console provides through Leptos' context, and the first lines of every server function.
//!
//! `hub::Hub` and `Arc<dyn Door>` always; `hub::Actor` when somebody is signed in; `Arc<dyn Demo>` on a demo;
//! `Arc<dyn Agents>` where agents may dial.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::StatusCode;
use leptos::prelude::use_context;
use leptos_axum::ResponseOptions;

use crate::clusters::DemoAction;
use crate::errors::{Answer, AppError};

/// A future of a trait object.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sessions belong to the server; the console only says when one begins and ends.
pub trait Door: Send + Sync {
    /// Begins a session for this person with the answer being made: new id, new cookie.
    fn let_in(&self, session: hub::Session) -> Later<'_, Result<(), String>>;
    /// Ends the session of this request.
    fn let_out(&self) -> Later<'_, Result<(), String>>;
}

/// What one can do to a demo's simulated clusters to see Flotilla put it right.
pub trait Demo: Send + Sync {
    /// Does it and says in a sentence what was done, or why not.
    fn act<'a>(&'a self, cluster: &'a str, action: DemoAction) -> Later<'a, Result<String, String>>;
}

/// How agents reach the server.
pub trait Agents: Send + Sync {
    /// The address they dial.
    fn url(&self) -> String;
    /// The whole text of a join token, with what an agent knows its hub by.
    fn token(&self, made: &hub::JoinSecret) -> String;
}

/// The hub.
pub fn hub() -> Answer<hub::Hub> {
    use_context::<hub::Hub>().ok_or(AppError::Internal).map_err(refused)
}

/// Who asks. Reading needs a person as much as writing does.
pub fn actor() -> Answer<hub::Actor> {
    use_context::<hub::Actor>()
        .ok_or_else(|| AppError::Unauthenticated("Sign in to see this.".to_owned()))
        .map_err(refused)
}

/// The hub, for somebody who is signed in.
pub fn hub_for_reader() -> Answer<hub::Hub> {
    actor()?;
    hub()
}

/// The server's sessions.
pub fn door() -> Answer<Arc<dyn Door>> {
    use_context::<Arc<dyn Door>>().ok_or(AppError::Internal).map_err(refused)
}

/// The demo, if this is one.
pub fn demo() -> Option<Arc<dyn Demo>> {
    use_context::<Arc<dyn Demo>>()
}

/// How agents reach the server; `None` if it takes none.
pub fn agents() -> Option<Arc<dyn Agents>> {
    use_context::<Arc<dyn Agents>>()
}

/// Turns the hub's answer into the console's and sets the HTTP status.
pub fn answer<T>(result: Result<T, hub::Error>) -> Answer<T> {
    result.map_err(|error| refused(error.into()))
}

/// Sets the HTTP status that belongs to an error and gives the error back.
///
/// A plain form post is left alone: it is answered with a redirect back to the form, and the error rides in the address.
pub fn refused(error: AppError) -> AppError {
    if let Some(response) = use_context::<ResponseOptions>()
        && !is_plain_form_post()
    {
        response.set_status(status(&error));
    }
    error
}

/// Whether a browser without script sent this: it wants to be led to a page.
pub fn is_plain_form_post() -> bool {
    use_context::<http::request::Parts>().is_some_and(|parts| {
        let accept = parts.headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
        parts.method == http::Method::POST && accept.is_some_and(|accept| accept.contains("text/html"))
    })
}

fn status(error: &AppError) -> StatusCode {
    match error {
        AppError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
        AppError::NotFound { .. } => StatusCode::NOT_FOUND,
        AppError::Exists(_) | AppError::NotNow(_) => StatusCode::CONFLICT,
        AppError::Changed { .. } | AppError::PlanStale(_) => StatusCode::PRECONDITION_FAILED,
        AppError::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        AppError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        AppError::Internal | AppError::Unreachable => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Where to go after signing in: only a path of ours, never another host (`//evil`, `/\evil`).
pub fn safe_next(next: &str) -> &str {
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
    fn after_sign_in_nobody_is_sent_to_another_host() {
        assert_eq!(safe_next("/workloads/web?tab=config"), "/workloads/web?tab=config");
        for evil in ["//evil", "/\\evil", "https://evil", "javascript:alert(1)", "", "/a\r\nSet-Cookie: x"] {
            assert_eq!(safe_next(evil), "/", "{evil:?}");
        }
    }

    #[test]
    fn what_is_not_there_answers_404() {
        let error = AppError::NotFound { what: "workload".into(), name: "web".into() };
        assert_eq!(status(&error), StatusCode::NOT_FOUND);
    }
}
