//! Authentication of requests. Everything except the public paths listed here needs a session or an API token.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::authorization::UserAction;
use hub::{Actor, RequestOrigin};
use leptos::server_fn::error::FromServerFnError as _;
use source::memory_budget::MemoryExhausted;
use tower_sessions::Session;

use crate::client_address::read_client_address;
use crate::console;
use crate::custom_verb::to_public_path;
use crate::identity_provider;
use crate::install;
use crate::problem::ApiError;
use crate::session;
use crate::site::Site;

mod origin;
mod route_actions;

pub use route_actions::{RouteActions, find_action, list_action_names};

/// Authentication class of a path; decides how an unauthenticated request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKind {
    /// No authentication.
    Public,
    /// The handler authenticates the request: a webhook by the signature of its body, `kubectl` by a join token, a browser or an
    /// identity provider by what the provider has signed.
    Signed,
    /// The API and the metrics: a session or a token; otherwise 401 as a problem.
    Api,
    /// A server function of the console: a session; otherwise 401 with a serialized `AppError`.
    ServerFn,
    /// A page: a session; otherwise a redirect to sign-in.
    Page,
}

/// Public paths, besides the static assets and the server functions in [`console::PUBLIC_SERVER_FNS`].
pub const PUBLIC_PATHS: [&str; 7] =
    ["/livez", "/readyz", "/healthz", "/version", "/sign-in", "/setup", "/set-password"];

/// Those of them that are pages of the console: anyone can have them rendered.
pub const PUBLIC_PAGES: [&str; 3] = ["/sign-in", "/setup", "/set-password"];

/// Longest recorded id of a request, in characters.
const MAX_REQUEST_ID_CHARS: usize = 64;

/// Webhooks of Git servers.
const GIT_WEBHOOKS: &str = "/api/v1/projects/default/git-webhooks/";

/// The authentication class of this path.
pub fn route_kind(site: &Site, path: &str) -> RouteKind {
    if PUBLIC_PATHS.contains(&path) || site.static_assets().contains(path) {
        RouteKind::Public
    } else if [GIT_WEBHOOKS, install::PATH_PREFIX, identity_provider::PATH_PREFIX]
        .iter()
        .any(|prefix| path.starts_with(*prefix))
    {
        RouteKind::Signed
    } else if path.starts_with("/api/v1") || path == "/metrics" {
        RouteKind::Api
    } else if console::PUBLIC_SERVER_FNS.contains(&path) {
        RouteKind::Public
    } else if console::is_server_fn(path) {
        RouteKind::ServerFn
    } else {
        RouteKind::Page
    }
}

/// Middleware: authenticates the request and stores the [`Actor`] in its extensions, or rejects it. A write without a
/// bearer token must come from the same origin.
pub async fn authenticate(
    State(site): State<Site>,
    session: Session,
    mut request: Request,
    next: Next,
) -> Response {
    let kind = route_kind(&site, request.uri().path());
    if kind == RouteKind::Signed {
        return next.run(request).await;
    }
    let bearer = match kind {
        RouteKind::Api => bearer_token(request.headers()),
        _ => None,
    };
    if bearer.is_none() && is_write(request.method()) && origin::is_cross_origin(request.headers()) {
        return ApiError::new(
            StatusCode::FORBIDDEN,
            "ForeignOrigin",
            "The request came from another origin, or the browser did not send its origin. Open Flotilla's own pages, or send an API token.",
        )
        .into_response();
    }
    match resolve_actor(&site, &session, bearer.as_deref()).await {
        Ok(Some(actor)) => {
            let origin = read_request_origin(&site, &request);
            let requester = actor.name.clone();
            request.extensions_mut().insert(actor.with_origin(origin));
            return hub::run_for_requester(requester, next.run(request)).await;
        }
        // Public routes need nobody: `/livez` must not depend on the database.
        Ok(None) | Err(_) if kind == RouteKind::Public => {}
        Ok(None) => return AnonymousRequest::from_request(&request).reject(&site, kind).await,
        Err(refusal) => return refuse(&site, kind, request.headers(), refusal),
    }
    next.run(request).await
}

/// In the extensions of a request to a route with an action, which the role of its actor allows.
#[derive(Debug, Clone, Copy)]
pub struct AuthorizedRoute {
    /// The action.
    pub action: UserAction,
}

/// Middleware: rejects a request whose action the role of its actor does not allow, before its body is read.
pub async fn authorize(
    State((site, actions)): State<(Site, Arc<RouteActions>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| to_public_path(path.as_str()));
    let (Some(actor), Some(path)) = (request.extensions().get::<Actor>(), path) else {
        return next.run(request).await;
    };
    let authorized = match actions.get(request.method(), &path) {
        None => return next.run(request).await,
        Some(Some(action)) => match actor.check_role(action) {
            Ok(()) => Ok(AuthorizedRoute { action }),
            Err(denied) => {
                site.hub().record_denial(actor, &denied, &format!("{} {path}", request.method())).await;
                Err(ApiError::from(hub::Error::Forbidden(denied)))
            }
        },
        Some(None) => Err(ApiError::new(StatusCode::FORBIDDEN, "Forbidden", "No role allows this route.")),
    };
    match authorized {
        Ok(route) => {
            request.extensions_mut().insert(route);
            next.run(request).await
        }
        Err(error) => refuse(&site, route_kind(&site, &path), request.headers(), error),
    }
}

/// An error in the form of the route: a page for browsers, an error of the console for its calls, otherwise a problem.
fn refuse(site: &Site, kind: RouteKind, headers: &HeaderMap, error: ApiError) -> Response {
    match kind {
        RouteKind::Api | RouteKind::Signed => error.into_response(),
        RouteKind::ServerFn if error.status() == StatusCode::FORBIDDEN => refuse_server_fn(headers, error),
        _ if error.status() != StatusCode::SERVICE_UNAVAILABLE => error.into_response(),
        RouteKind::ServerFn | RouteKind::Public if !accepts_html(headers) => {
            let body = app::AppError::DatabaseUnavailable(error.detail().to_owned()).ser();
            error.with_body(HeaderValue::from_static("application/json"), body.to_vec())
        }
        _ => {
            let page = console::outage_page(site, error.detail());
            error.with_body(HeaderValue::from_static("text/html; charset=utf-8"), page.into_bytes())
        }
    }
}

/// The error of a request that got no memory, in the form of the route: a page for browsers, an error of the console for its calls,
/// otherwise a problem.
pub fn refuse_busy(site: &Site, path: &str, headers: &HeaderMap, exhausted: MemoryExhausted) -> Response {
    refuse_busy_request(site, path, headers, ApiError::from(hub::Error::from(exhausted)))
}

/// The same for an error with another reason.
pub fn refuse_busy_request(site: &Site, path: &str, headers: &HeaderMap, error: ApiError) -> Response {
    match route_kind(site, path) {
        RouteKind::ServerFn if !accepts_html(headers) => {
            let body = app::AppError::ServerBusy(error.detail().to_owned()).ser();
            error.with_body(HeaderValue::from_static("application/json"), body.to_vec())
        }
        RouteKind::Public if !accepts_html(headers) => error.into_response(),
        RouteKind::ServerFn | RouteKind::Page | RouteKind::Public => {
            let page = console::refusal_page("The server is busy", error.detail());
            error.with_body(HeaderValue::from_static("text/html; charset=utf-8"), page.into_bytes())
        }
        RouteKind::Api | RouteKind::Signed => error.into_response(),
    }
}

/// A server function that the role does not allow: an error of the console, or without script a page that says why.
fn refuse_server_fn(headers: &HeaderMap, error: ApiError) -> Response {
    if accepts_html(headers) {
        let page = console::refusal_page("Not allowed", error.detail());
        return error.with_body(HeaderValue::from_static("text/html; charset=utf-8"), page.into_bytes());
    }
    let body = app::AppError::Forbidden(error.detail().to_owned()).ser();
    error.with_body(HeaderValue::from_static("application/json"), body.to_vec())
}

/// Middleware around the session layer, which answers a session that it can't store with an empty 500. The cause is the
/// database.
pub async fn answer_unstored_session(State(site): State<Site>, request: Request, next: Next) -> Response {
    let kind = route_kind(&site, request.uri().path());
    let headers = request.headers().clone();
    let response = next.run(request).await;
    let is_bare = response.status() == StatusCode::INTERNAL_SERVER_ERROR
        && !response.headers().contains_key(CONTENT_TYPE);
    if !is_bare {
        return response;
    }
    let detail =
        "The session could not be stored, because the database is not available. Try again in a moment.";
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "DatabaseUnavailable", detail);
    refuse(&site, kind, &headers, error)
}

/// Where a request came from, for the audit log. A client may choose the id of its request.
fn read_request_origin(site: &Site, request: &Request) -> RequestOrigin {
    let address = read_client_address(site.trusted_proxies(), request.headers(), request.extensions());
    let id = request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    RequestOrigin {
        address: address.to_string(),
        request_id: id.chars().take(MAX_REQUEST_ID_CHARS).collect(),
    }
}

async fn resolve_actor(
    site: &Site,
    session: &Session,
    bearer: Option<&str>,
) -> Result<Option<Actor>, ApiError> {
    match bearer {
        Some(secret) => Ok(Some(site.hub().authenticate_token(secret).await?)),
        None => session::session_actor(session, site.hub()).await,
    }
}

fn is_write(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The bearer token of the `Authorization` header. Empty if the header has another scheme, so that a malformed
/// credential is rejected instead of replaced by the cookie.
fn bearer_token(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().unwrap_or_default();
    let (scheme, token) = value.split_once(' ').unwrap_or_default();
    Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim().to_owned() } else { String::new() })
}

/// An unauthenticated request: its path and query, whether it writes, its headers.
struct AnonymousRequest {
    target: String,
    is_write: bool,
    headers: HeaderMap,
}

impl AnonymousRequest {
    fn from_request(request: &Request) -> Self {
        Self {
            target: request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            is_write: is_write(request.method()),
            headers: request.headers().clone(),
        }
    }

    async fn reject(self, site: &Site, kind: RouteKind) -> Response {
        match kind {
            RouteKind::Api => {
                ApiError::from(hub::Error::Unauthenticated("Sign in, or send an API token.")).into_response()
            }
            RouteKind::ServerFn if !accepts_html(&self.headers) => {
                let error = app::AppError::Unauthenticated("Sign in to see this.".to_owned());
                (StatusCode::UNAUTHORIZED, error.ser().to_vec()).into_response()
            }
            kind => self.redirect_to_sign_in(site, kind).await,
        }
    }

    /// Redirects to sign-in, which leads back to the requested page; to set-up while there is no user.
    async fn redirect_to_sign_in(self, site: &Site, kind: RouteKind) -> Response {
        let target = match site.hub().needs_setup().await {
            Ok(true) => app::paths::SETUP.to_owned(),
            Ok(false) if self.is_write => app::paths::SIGN_IN.to_owned(),
            Ok(false) => app::paths::sign_in(&self.target),
            Err(error) => return refuse(site, kind, &self.headers, error.into()),
        };
        let location = HeaderValue::from_str(&target).unwrap_or(HeaderValue::from_static("/sign-in"));
        (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
    }
}

/// Whether the browser sent this as a navigation or form submit, without the console's script.
pub fn accepts_html(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|value| value.contains("text/html"))
}
