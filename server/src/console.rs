//! The console: server-rendered pages, and the server functions that they call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use app::{AppError, BoxFuture, SessionActions};
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use hub::{Actor, Hub};
use leptos::context::{provide_context, use_context};
use leptos::server_fn::axum::server_fn_paths;
use leptos::server_fn::error::FromServerFnError as _;
use leptos_axum::AxumRouteListing;
use tower_sessions::Session;

use crate::attempts::AttemptKey;
use crate::client_address::network_of;
use crate::listener::Peer;
use crate::problem::ApiError;
use crate::session;
use crate::site::Site;

/// Server functions without authentication: sign-in and sign-out.
pub const PUBLIC_SERVER_FNS: [&str; 4] =
    ["/api/fn/sign_in", "/api/fn/sign_up", "/api/fn/sign_out", "/api/fn/needs_setup"];

/// Server functions with a limit on failed attempts, against guessing of passwords and set-up tokens.
const RATE_LIMITED_SERVER_FNS: [&str; 2] = ["/api/fn/sign_in", "/api/fn/sign_up"];

/// Body limit of those server functions, in bytes.
const MAX_FORM_BYTES: usize = 64 * 1024;

/// Path and method of every server function.
pub fn list_server_fns() -> Vec<(&'static str, Method)> {
    server_fn_paths().collect()
}

/// Whether this path is a server function.
pub fn is_server_fn(path: &str) -> bool {
    server_fn_paths().any(|(known, _)| known == path)
}

/// The pages' routes with their render mode. Listed once: while Leptos lists them, no query of any page in this process is
/// started, so that a page that is rendered at the same time would never be complete.
pub fn list_pages() -> Vec<AxumRouteListing> {
    static PAGES: LazyLock<Vec<AxumRouteListing>> =
        LazyLock::new(|| leptos_axum::generate_route_list(app::App));
    PAGES.clone()
}

/// Provides the Leptos context of pages and server functions.
fn context_provider(site: &Site) -> impl Fn() + Clone + Send + Sync + 'static {
    let site = site.clone();
    move || {
        provide_context::<Hub>(site.hub().clone());
        provide_context(site.static_assets().assets().clone());
        if let Some(demo) = site.fault_controls() {
            provide_context::<Arc<dyn app::DemoControls>>(demo.clone());
        }
        if let Ok(access) = site.agent_endpoint() {
            provide_context::<Arc<dyn app::AgentListenerInfo>>(Arc::new(access.clone()));
        }
        let Some(parts) = use_context::<Parts>() else { return };
        if let Some(actor) = parts.extensions.get::<Actor>() {
            provide_context(actor.clone());
        }
        if let Some(actions) = parts.extensions.get::<Arc<RequestSession>>() {
            provide_context::<Arc<dyn SessionActions>>(actions.clone());
        } else if let Some(session) = parts.extensions.get::<Session>() {
            provide_context::<Arc<dyn SessionActions>>(Arc::new(RequestSession::new(&site, session.clone())));
        }
    }
}

/// A handler that renders the page at its route.
pub fn page_handler(
    site: &Site,
    pages: &[AxumRouteListing],
) -> impl Fn(State<Site>, Request) -> std::pin::Pin<Box<dyn Future<Output = Response> + Send>>
+ Clone
+ Send
+ 'static {
    let assets = site.static_assets().assets().clone();
    leptos_axum::render_route_with_context(pages.to_vec(), context_provider(site), move || {
        app::shell(assets.clone())
    })
}

/// Renders the console's not-found page, always with status 404.
pub async fn not_found(State(site): State<Site>, request: Request) -> Response {
    let assets = site.static_assets().assets().clone();
    let render = leptos_axum::render_app_async_with_context(context_provider(&site), move || {
        app::shell(assets.clone())
    });
    let mut page = render(request).await;
    *page.status_mut() = StatusCode::NOT_FOUND;
    page
}

/// The page of a request that the database did not let pass: what does not work, and what still does. It needs no database,
/// and neither text contains markup.
pub fn outage_page(site: &Site, detail: &str) -> String {
    let style = site.static_assets().assets().address("main.css");
    let still_works = app::STILL_WORKS;
    format!(
        r#"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The database is not available</title><link rel="stylesheet" href="{style}"></head>
<body><main class="content"><section class="empty" role="alert"><h1 class="section">The database is not available</h1>
<p>{detail}</p><p class="text-2">{still_works}</p>
<div class="empty-actions"><a class="btn" href="">Load this page again</a></div></section></main></body></html>
"#
    )
}

/// Runs a server function.
pub async fn handle_server_fn(State(site): State<Site>, mut request: Request) -> Response {
    let Some(session) = request.extensions().get::<Session>().cloned() else {
        return ApiError::from_status(StatusCode::INTERNAL_SERVER_ERROR).into_response();
    };
    let actions = Arc::new(RequestSession::new(&site, session));
    request.extensions_mut().insert(actions.clone());
    if !RATE_LIMITED_SERVER_FNS.contains(&request.uri().path()) {
        return leptos_axum::handle_server_fns_with_context(context_provider(&site), request)
            .await
            .into_response();
    }
    let (request, keys) = match read_attempt_keys(&site, request).await {
        Ok(read) => read,
        Err(refusal) => return refusal.into_response(),
    };
    let now = site.hub().clock().now();
    if let Some(wait) = keys.iter().filter_map(|who| site.failed_attempts().blocked_for(who, now)).max() {
        return too_many_attempts(wait, &request);
    }
    let response =
        leptos_axum::handle_server_fns_with_context(context_provider(&site), request).await.into_response();
    let succeeded = actions.signed_in.load(Ordering::Relaxed);
    for who in &keys {
        if succeeded {
            site.failed_attempts().reset(who)
        } else if response.status() != StatusCode::SERVICE_UNAVAILABLE {
            site.failed_attempts().record_failure(who, now)
        }
    }
    response
}

/// The keys to count an attempt under: the name in the form and the client's address. Returns the request with its body.
async fn read_attempt_keys(site: &Site, request: Request) -> Result<(Request, Vec<AttemptKey>), ApiError> {
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map(|ConnectInfo(peer)| peer.address.ip());
    let client = peer.map(|peer| site.trusted_proxies().client_address(peer, request.headers()));
    let address = client.map(|client| AttemptKey::Address(network_of(client)));
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_FORM_BYTES)
        .await
        .map_err(|_| ApiError::from_status(StatusCode::PAYLOAD_TOO_LARGE))?;
    let account = form_field(&body, "name").map(AttemptKey::Account);
    Ok((Request::from_parts(parts, Body::from(body)), address.into_iter().chain(account).collect()))
}

fn form_field(body: &[u8], field: &str) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let value =
        text.split('&').find_map(|pair| pair.strip_prefix(field)?.strip_prefix('='))?.replace('+', " ");
    let value = percent_encoding::percent_decode_str(&value).decode_utf8_lossy().trim().to_lowercase();
    Some(value.chars().take(200).collect())
}

fn too_many_attempts(wait_millis: i64, request: &Request) -> Response {
    let wait = domain::time::format_duration(wait_millis.max(1_000));
    let why = format!("Too many failed attempts. Try again in {wait}.");
    if crate::access::accepts_html(request.headers()) {
        return (StatusCode::TOO_MANY_REQUESTS, why).into_response();
    }
    (StatusCode::TOO_MANY_REQUESTS, AppError::FailedPrecondition(why).ser().to_vec()).into_response()
}

/// The session of one request, for sign-in and sign-out by the console.
struct RequestSession {
    site: Site,
    session: Session,
    signed_in: AtomicBool,
}

impl RequestSession {
    fn new(site: &Site, session: Session) -> Self {
        Self { site: site.clone(), session, signed_in: AtomicBool::new(false) }
    }
}

impl SessionActions for RequestSession {
    fn start_session(&self, person: hub::Session) -> BoxFuture<'_, Result<(), String>> {
        self.signed_in.store(true, Ordering::Relaxed);
        Box::pin(session::start_session(&self.session, person, self.site.hub().clock().now()))
    }

    fn end_session(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(session::end_session(&self.session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_name_of_an_attempt_is_read_from_the_form() {
        let body = b"name=Ada+L%C3%B6we&password=x";
        assert_eq!(form_field(body, "name").as_deref(), Some("ada l\u{f6}we"));
        assert_eq!(form_field(body, "nam"), None);
        assert_eq!(form_field(b"\xff", "name"), None);
    }
}
