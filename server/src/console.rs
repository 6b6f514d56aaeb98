//! The console: server-rendered pages, and the server functions that they call.

use std::sync::{Arc, LazyLock, OnceLock};

use app::{BoxFuture, SessionActions};
use axum::extract::{Request, State};
use axum::http::header::{COOKIE, HOST, SET_COOKIE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::session::MAX_USER_AGENT_CHARS;
use hub::{Actor, Hub, SignInClient};
use leptos::context::{provide_context, use_context};
use leptos::server_fn::axum::server_fn_paths;
use leptos_axum::AxumRouteListing;
use tower_sessions::Session;
use tower_sessions::cookie::{Cookie, SameSite};

use crate::access::refuse_busy;
use crate::client_address::{client_network, read_client_address};
use crate::form_error;
use crate::page_renderer::{render_page, set_executor};
use crate::problem::ApiError;
use crate::response_memory::ResponseMemory;
use crate::router::{DEFAULT_BODY_BYTES, MAX_BODY_BYTES};
use crate::session::{self, SignInDevice};
use crate::site::Site;
use crate::value_memory::{ValueMemory, ValueRefusal};

mod form;

pub use form::{is_form, poll_beside_others};

/// Server functions without authentication: sign-in with its providers, sign-out and what the holder of a link to set a password calls.
pub const PUBLIC_SERVER_FNS: [&str; 7] = [
    "/api/fn/sign_in",
    "/api/fn/sign_up",
    "/api/fn/sign_out",
    "/api/fn/needs_setup",
    "/api/fn/password_link_read",
    "/api/fn/password_set",
    "/api/fn/sign_in_providers",
];

/// Name of the cookie that a browser receives when a user signs in with it, over https and over plain http, and the longest value
/// that is read.
const HOST_DEVICE_COOKIE: &str = "__Host-flotilla_device";
const DEVICE_COOKIE: &str = "flotilla_device";
const MAX_DEVICE_CHARS: usize = 128;
/// How long a browser keeps it.
const DEVICE_COOKIE_DAYS: i64 = 90;

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
    static PAGES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| {
        set_executor();
        leptos_axum::generate_route_list(app::App)
    });
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
        if let Some(origin) = read_origin(&site, &parts) {
            provide_context(origin);
        }
        if let Some(actor) = parts.extensions.get::<Actor>() {
            provide_context(actor.clone());
        }
        if let Some(actions) = parts.extensions.get::<Arc<RequestSession>>() {
            provide_context::<Arc<dyn SessionActions>>(actions.clone());
        } else if let Some(session) = parts.extensions.get::<Session>() {
            let client = read_client(&site, &parts.headers, &parts.extensions);
            let actions = RequestSession::new(&site, session.clone(), client, &parts.headers);
            provide_context::<Arc<dyn SessionActions>>(Arc::new(actions));
        }
    }
}

/// A handler that renders the page at its route.
pub fn page_handler(
    site: &Site,
    pages: &[AxumRouteListing],
) -> impl Fn(State<Site>, Request) -> BoxFuture<'static, Response> + Clone + Send + 'static {
    let assets = site.static_assets().assets().clone();
    let render = leptos_axum::render_route_with_context(pages.to_vec(), context_provider(site), move || {
        app::shell(assets.clone())
    });
    move |site, request| {
        let (render, memory) = (render.clone(), ResponseMemory::of_request(&request));
        Box::pin(render_page(memory, move || render(site, request)))
    }
}

/// Renders the console's not-found page, always with status 404.
pub async fn not_found(State(site): State<Site>, request: Request) -> Response {
    let assets = site.static_assets().assets().clone();
    let render = leptos_axum::render_app_async_with_context(context_provider(&site), move || {
        app::shell(assets.clone())
    });
    let memory = ResponseMemory::of_request(&request);
    let mut page = render_page(memory, move || render(request)).await;
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

/// The page of a request that is refused before it reaches the console: a form without script that the role of the user does not allow, or
/// whatever got no memory. The texts contain no markup.
pub fn refusal_page(title: &str, detail: &str) -> String {
    format!(
        r#"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title></head>
<body><main><h1>{title}</h1><p>{detail}</p><p><a href="/">Fleet</a></p></main></body></html>
"#
    )
}

/// Runs a server function.
pub async fn handle_server_fn(State(site): State<Site>, mut request: Request) -> Response {
    let Some(session) = request.extensions().get::<Session>().cloned() else {
        return ApiError::from_status(StatusCode::INTERNAL_SERVER_ERROR).into_response();
    };
    // Nobody has to be signed in to send a body to a public one, so that it is limited further.
    let is_public = PUBLIC_SERVER_FNS.contains(&request.uri().path());
    let max_bytes = if is_public { DEFAULT_BODY_BYTES } else { MAX_BODY_BYTES };
    let memory = ValueMemory::of(&request);
    let form = match form::read(request, max_bytes).await {
        Ok(form) => form,
        Err(refusal) => return refusal.into_response(),
    };
    let is_large = form.is_large;
    request = form.request;
    if let Some(memory) = memory.filter(|_| is_large)
        && let Err(refusal) = memory.reserve(form.value_bytes, form.bytes).await
    {
        return match refusal {
            ValueRefusal::Busy(busy) => refuse_busy(&site, request.uri().path(), request.headers(), busy),
            refusal @ ValueRefusal::TooLarge { .. } => ApiError::from(refusal).into_response(),
        };
    }
    let client = read_client(&site, request.headers(), request.extensions());
    let actions = Arc::new(RequestSession::new(&site, session, client, request.headers()));
    request.extensions_mut().insert(actions.clone());
    let handled = leptos_axum::handle_server_fns_with_context(context_provider(&site), request);
    let mut response = poll_beside_others(is_large, Box::pin(handled)).await.into_response();
    form_error::mark_error(&site, &mut response);
    if let Some(secret) = actions.device.get() {
        response.headers_mut().append(SET_COOKIE, device_cookie(secret, site.secure_cookies()));
    }
    response
}

/// The address of the console in this request. A browser sends its host itself, so that nobody else chooses it.
fn read_origin(site: &Site, parts: &Parts) -> Option<app::ConsoleOrigin> {
    let header = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = header.or_else(|| parts.uri.authority().map(|authority| authority.as_str()))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    let scheme = if site.secure_cookies() { "https" } else { "http" };
    host.chars().all(is_plain).then(|| app::ConsoleOrigin(format!("{scheme}://{host}")))
}

/// Where a request comes from.
fn read_client(site: &Site, headers: &HeaderMap, extensions: &Extensions) -> SignInClient {
    let network = client_network(read_client_address(site.trusted_proxies(), headers, extensions));
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let device = cookies
        .flat_map(Cookie::split_parse)
        .flatten()
        .find(|cookie| cookie.name() == device_cookie_name(site.secure_cookies()))
        .map(|cookie| cookie.value().chars().take(MAX_DEVICE_CHARS).collect());
    SignInClient { network, device }
}

const fn device_cookie_name(is_secure: bool) -> &'static str {
    if is_secure { HOST_DEVICE_COOKIE } else { DEVICE_COOKIE }
}

/// The cookie by which a device is known at the next sign-in. It signs nobody in.
fn device_cookie(secret: &str, is_secure: bool) -> HeaderValue {
    let cookie = Cookie::build((device_cookie_name(is_secure), secret))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Strict)
        .secure(is_secure)
        .max_age(time::Duration::days(DEVICE_COOKIE_DAYS));
    // Hexadecimal digits and fixed attributes: always a valid header.
    HeaderValue::from_str(&cookie.to_string()).unwrap_or(HeaderValue::from_static(""))
}

/// The session of one request, for sign-in and sign-out by the console.
struct RequestSession {
    site: Site,
    session: Session,
    client: SignInClient,
    user_agent: String,
    /// The secret of the device after a successful sign-in.
    device: OnceLock<String>,
}

impl RequestSession {
    fn new(site: &Site, session: Session, client: SignInClient, headers: &HeaderMap) -> Self {
        let user_agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let user_agent = user_agent.chars().take(MAX_USER_AGENT_CHARS).collect();
        Self { site: site.clone(), session, client, user_agent, device: OnceLock::new() }
    }
}

impl SessionActions for RequestSession {
    fn start_session(&self, person: hub::NewSession) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            let secret = person.device.clone();
            let device = SignInDevice {
                address: self.client.network.to_string(),
                user_agent: self.user_agent.clone(),
            };
            session::start_session(&self.session, person, device, self.site.hub().clock().now()).await?;
            self.device.get_or_init(|| secret);
            Ok(())
        })
    }

    fn client(&self) -> SignInClient {
        self.client.clone()
    }

    fn session_id(&self) -> Option<String> {
        self.session.id().map(|id| id.to_string())
    }

    fn end_session(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(session::end_session(&self.session, self.site.hub()))
    }
}
