//! The console: server-rendered pages, and the server functions that they call.

use std::error::Error as _;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, LazyLock, Once, OnceLock};

use app::{BoxFuture, SessionActions};
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use hub::{Actor, Hub, SignInClient};
use leptos::context::{provide_context, use_context};
use leptos::server_fn::axum::server_fn_paths;
use leptos_axum::AxumRouteListing;
use tower_sessions::Session;
use tower_sessions::cookie::{Cookie, SameSite};

use crate::client_address::client_network;
use crate::listener::Peer;
use crate::problem::ApiError;
use crate::router::DEFAULT_BODY_BYTES;
use crate::session;
use crate::site::Site;

/// Server functions without authentication: sign-in and sign-out.
pub const PUBLIC_SERVER_FNS: [&str; 4] =
    ["/api/fn/sign_in", "/api/fn/sign_up", "/api/fn/sign_out", "/api/fn/needs_setup"];

/// Name of the cookie that a browser receives when a user signs in with it, and the longest value that is read.
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
            let client = read_client(&site, &parts.headers, &parts.extensions);
            let actions = RequestSession::new(&site, session.clone(), client);
            provide_context::<Arc<dyn SessionActions>>(Arc::new(actions));
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
    if PUBLIC_SERVER_FNS.contains(&request.uri().path()) {
        request = match bound_body(request).await {
            Ok(request) => request,
            Err(refusal) => return refusal.into_response(),
        };
    }
    let client = read_client(&site, request.headers(), request.extensions());
    let actions = Arc::new(RequestSession::new(&site, session, client));
    request.extensions_mut().insert(actions.clone());
    let mut response =
        leptos_axum::handle_server_fns_with_context(context_provider(&site), request).await.into_response();
    if let Some(secret) = actions.device.get() {
        response.headers_mut().append(SET_COOKIE, device_cookie(secret, site.secure_cookies()));
    }
    response
}

/// The same request with its body in memory: nobody has to be signed in to send it, so that it is limited further than
/// others.
async fn bound_body(request: Request) -> Result<Request, ApiError> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, DEFAULT_BODY_BYTES).await.map_err(|error| {
        let is_too_large = error.source().is_some_and(|source| source.is::<LengthLimitError>());
        if is_too_large {
            ApiError::from_status(StatusCode::PAYLOAD_TOO_LARGE)
        } else {
            ApiError::new(
                StatusCode::REQUEST_TIMEOUT,
                "Timeout",
                "The body did not arrive in time. Send it again.",
            )
        }
    })?;
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Where a request comes from.
fn read_client(site: &Site, headers: &HeaderMap, extensions: &Extensions) -> SignInClient {
    let peer = extensions.get::<ConnectInfo<Peer>>().map(|ConnectInfo(peer)| peer.address.ip());
    // Only a test sends requests without a connection.
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let proxies = site.trusted_proxies();
    if headers.contains_key("x-forwarded-for") && !proxies.contains(peer) {
        warn_about_untrusted_proxy(peer);
    }
    let network = client_network(proxies.client_address(peer, headers));
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let device = cookies
        .flat_map(Cookie::split_parse)
        .flatten()
        .find(|cookie| cookie.name() == DEVICE_COOKIE)
        .map(|cookie| cookie.value().chars().take(MAX_DEVICE_CHARS).collect());
    SignInClient { network, device }
}

/// Logs once that a header is ignored which a reverse proxy may have sent: all its clients share the limits of its address.
fn warn_about_untrusted_proxy(peer: IpAddr) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        tracing::warn!(
            %peer,
            "X-Forwarded-For is ignored, because its sender is not a trusted proxy; if it is your reverse proxy, set --trusted-proxy"
        );
    });
}

/// The cookie by which a device is known at the next sign-in. It signs nobody in.
fn device_cookie(secret: &str, is_secure: bool) -> HeaderValue {
    let cookie = Cookie::build((DEVICE_COOKIE, secret))
        .path("/api/fn")
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
    /// The secret of the device after a successful sign-in.
    device: OnceLock<String>,
}

impl RequestSession {
    fn new(site: &Site, session: Session, client: SignInClient) -> Self {
        Self { site: site.clone(), session, client, device: OnceLock::new() }
    }
}

impl SessionActions for RequestSession {
    fn start_session(&self, person: hub::Session) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            let device = person.device.clone();
            session::start_session(&self.session, person, self.site.hub().clock().now()).await?;
            self.device.get_or_init(|| device);
            Ok(())
        })
    }

    fn client(&self) -> SignInClient {
        self.client.clone()
    }

    fn end_session(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(session::end_session(&self.session))
    }
}
