//! The console: pages rendered on the server, and the calls (server functions) its pages make.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use app::{AppError, Door, Later};
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use hub::{Actor, Hub};
use leptos::context::{provide_context, use_context};
use leptos::server_fn::axum::server_fn_paths;
use leptos::server_fn::error::FromServerFnError as _;
use leptos_axum::AxumRouteListing;
use tower_sessions::Session;

use crate::attempts::Who;
use crate::problem::Refusal;
use crate::session;
use crate::site::Site;

/// The calls for everybody: how one gets in and out.
pub const OPEN_CALLS: [&str; 4] =
    ["/api/fn/sign_in", "/api/fn/sign_up", "/api/fn/sign_out", "/api/fn/needs_setup"];

/// The calls that somebody may guess passwords and set-up tokens with.
const GUESSABLE: [&str; 2] = ["/api/fn/sign_in", "/api/fn/sign_up"];

/// The bytes a call of somebody not signed in may bring.
const SMALL_BODY: usize = 64 * 1024;

/// Every call: its path and method.
pub fn calls() -> Vec<(&'static str, Method)> {
    server_fn_paths().collect()
}

/// Whether there is a call at this path.
pub fn is_call(path: &str) -> bool {
    server_fn_paths().any(|(known, _)| known == path)
}

/// The pages, with how each is rendered.
pub fn pages() -> Vec<AxumRouteListing> {
    leptos_axum::generate_route_list(app::App)
}

/// What pages and calls find in their context.
fn context(site: &Site) -> impl Fn() + Clone + Send + Sync + 'static {
    let site = site.clone();
    move || {
        provide_context::<Hub>(site.hub().clone());
        provide_context(site.shelf().assets().clone());
        if let Some(demo) = site.demo() {
            provide_context::<Arc<dyn app::Demo>>(demo.clone());
        }
        if let Ok(access) = site.agents() {
            provide_context::<Arc<dyn app::Agents>>(Arc::new(access.clone()));
        }
        let Some(parts) = use_context::<Parts>() else { return };
        if let Some(actor) = parts.extensions.get::<Actor>() {
            provide_context(actor.clone());
        }
        if let Some(door) = parts.extensions.get::<Arc<FrontDoor>>() {
            provide_context::<Arc<dyn Door>>(door.clone());
        } else if let Some(session) = parts.extensions.get::<Session>() {
            provide_context::<Arc<dyn Door>>(Arc::new(FrontDoor::new(&site, session.clone())));
        }
    }
}

/// A handler that renders the page at its route.
pub fn page(
    site: &Site,
    pages: &[AxumRouteListing],
) -> impl Fn(State<Site>, Request) -> std::pin::Pin<Box<dyn Future<Output = Response> + Send>>
+ Clone
+ Send
+ 'static {
    let assets = site.shelf().assets().clone();
    leptos_axum::render_route_with_context(pages.to_vec(), context(site), move || app::shell(assets.clone()))
}

/// Renders the console where there is no page: it says so, with 404 whatever its frame was refused.
pub async fn not_found(State(site): State<Site>, request: Request) -> Response {
    let assets = site.shelf().assets().clone();
    let render =
        leptos_axum::render_app_async_with_context(context(&site), move || app::shell(assets.clone()));
    let mut page = render(request).await;
    *page.status_mut() = StatusCode::NOT_FOUND;
    page
}

/// Carries out a call.
pub async fn call(State(site): State<Site>, mut request: Request) -> Response {
    let Some(session) = request.extensions().get::<Session>().cloned() else {
        return Refusal::of_status(StatusCode::INTERNAL_SERVER_ERROR).into_response();
    };
    let door = Arc::new(FrontDoor::new(&site, session));
    request.extensions_mut().insert(door.clone());
    if !GUESSABLE.contains(&request.uri().path()) {
        return leptos_axum::handle_server_fns_with_context(context(&site), request).await.into_response();
    }
    let (request, tried) = match tried_by(request).await {
        Ok(read) => read,
        Err(refusal) => return refusal.into_response(),
    };
    let now = site.hub().clock().now();
    if let Some(wait) = tried.iter().filter_map(|who| site.attempts().blocked(who, now)).max() {
        return too_many(wait, &request);
    }
    let response = leptos_axum::handle_server_fns_with_context(context(&site), request).await.into_response();
    let worked = door.opened.load(Ordering::Relaxed);
    for who in &tried {
        if worked { site.attempts().worked(who) } else { site.attempts().failed(who, now) }
    }
    response
}

/// Who tries to get in: the name in the form and the address it comes from.
async fn tried_by(request: Request) -> Result<(Request, Vec<Who>), Refusal> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let address = peer.map(|peer| Who::Address(behind_proxy(peer, request.headers())));
    let (parts, body) = request.into_parts();
    let body =
        to_bytes(body, SMALL_BODY).await.map_err(|_| Refusal::of_status(StatusCode::PAYLOAD_TOO_LARGE))?;
    let account = form_field(&body, "name").map(Who::Account);
    Ok((Request::from_parts(parts, Body::from(body)), address.into_iter().chain(account).collect()))
}

/// Who stands behind a proxy of ours: the last address in `X-Forwarded-For` is the one that proxy saw. Believed only of
/// neighbours, because anybody can write the header; otherwise all people behind one proxy would share one count.
fn behind_proxy(peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let neighbour = match peer {
        IpAddr::V4(peer) => peer.is_loopback() || peer.is_private(),
        IpAddr::V6(peer) => peer.is_loopback() || peer.is_unique_local(),
    };
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
    let last = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    last.filter(|_| neighbour).unwrap_or(peer)
}

fn form_field(body: &[u8], field: &str) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let value =
        text.split('&').find_map(|pair| pair.strip_prefix(field)?.strip_prefix('='))?.replace('+', " ");
    let value = percent_encoding::percent_decode_str(&value).decode_utf8_lossy().trim().to_lowercase();
    Some(value.chars().take(200).collect())
}

fn too_many(wait_millis: i64, request: &Request) -> Response {
    let wait = domain::time::short_duration(wait_millis.max(1_000));
    let why = format!("Too many tries. Wait {wait}, then try again.");
    if crate::access::accepts_html(request.headers()) {
        return (StatusCode::TOO_MANY_REQUESTS, why).into_response();
    }
    (StatusCode::TOO_MANY_REQUESTS, AppError::NotNow(why).ser().to_vec()).into_response()
}

/// The session of one request, as the console opens and closes it.
struct FrontDoor {
    site: Site,
    session: Session,
    opened: AtomicBool,
}

impl FrontDoor {
    fn new(site: &Site, session: Session) -> Self {
        Self { site: site.clone(), session, opened: AtomicBool::new(false) }
    }
}

impl Door for FrontDoor {
    fn let_in(&self, person: hub::Session) -> Later<'_, Result<(), String>> {
        self.opened.store(true, Ordering::Relaxed);
        Box::pin(session::begin(&self.session, person, self.site.hub().clock().now()))
    }

    fn let_out(&self) -> Later<'_, Result<(), String>> {
        Box::pin(session::end(&self.session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_of_ours_is_believed_about_who_stands_behind_it_and_nobody_else() {
        let headers = |value: &'static str| [("x-forwarded-for".parse().unwrap(), value.parse().unwrap())];
        let seen = |peer: &str, value| {
            behind_proxy(peer.parse().unwrap(), &headers(value).into_iter().collect()).to_string()
        };
        assert_eq!(seen("10.0.0.7", "6.6.6.6, 203.0.113.9"), "203.0.113.9");
        assert_eq!(seen("203.0.113.1", "203.0.113.9"), "203.0.113.1");
        assert_eq!(seen("127.0.0.1", "nonsense"), "127.0.0.1");
    }

    #[test]
    fn the_name_somebody_tries_is_read_from_the_form() {
        let body = b"name=Ada+L%C3%B6we&password=x";
        assert_eq!(form_field(body, "name").as_deref(), Some("ada l\u{f6}we"));
        assert_eq!(form_field(body, "nam"), None);
        assert_eq!(form_field(b"\xff", "name"), None);
    }
}
