//! Who may pass. Everything is refused that nobody signed in for, but for a short list written down here.

use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, LOCATION};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hub::Actor;
use leptos::server_fn::error::FromServerFnError as _;
use tower_sessions::Session;

use crate::console;
use crate::problem::Refusal;
use crate::session;
use crate::site::Site;

mod origin;

/// What kind of address it is, and so how a stranger is refused there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Anybody may.
    Open,
    /// The API and the metrics: a session or a token; 401.
    Api,
    /// A server function of the console: a session; 401 in the console's own words.
    Call,
    /// A page: a session; the stranger is sent to sign in.
    Page,
}

/// Addresses for everybody, besides the built files and the calls of [`console::OPEN_CALLS`].
pub const OPEN: [&str; 6] = ["/livez", "/readyz", "/healthz", "/version", "/sign-in", "/setup"];

/// What kind of address this is.
pub fn kind(site: &Site, path: &str) -> Kind {
    if OPEN.contains(&path) || site.shelf().has(path) {
        Kind::Open
    } else if path.starts_with("/api/v1") || path == "/metrics" {
        Kind::Api
    } else if console::OPEN_CALLS.contains(&path) {
        Kind::Open
    } else if console::is_call(path) {
        Kind::Call
    } else {
        Kind::Page
    }
}

/// Lets a request pass or not, and puts down who asks.
pub async fn guard(State(site): State<Site>, session: Session, mut request: Request, next: Next) -> Response {
    let kind = kind(&site, request.uri().path());
    let bearer = match kind {
        Kind::Api => bearer(request.headers()),
        _ => None,
    };
    if bearer.is_none() && is_write(request.method()) && origin::is_foreign(request.headers()) {
        return Refusal::new(
            StatusCode::FORBIDDEN,
            "ForeignOrigin",
            "This request came from another site, or its browser did not say where it came from.",
        )
        .into_response();
    }
    match who(&site, &session, bearer.as_deref()).await {
        Ok(Some(actor)) => {
            request.extensions_mut().insert(actor);
        }
        Ok(None) if kind == Kind::Open => {}
        Ok(None) => return Stranger::of(&request).refused(&site, kind).await,
        Err(refusal) => return refusal.into_response(),
    }
    next.run(request).await
}

async fn who(site: &Site, session: &Session, bearer: Option<&str>) -> Result<Option<Actor>, Refusal> {
    match bearer {
        Some(secret) => Ok(Some(site.hub().token_actor(secret).await?)),
        None => Ok(session::actor(session, site.hub().clock().now()).await),
    }
}

fn is_write(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The token of an `Authorization` header; an empty one if the header is there and says something else, so that a
/// broken credential is refused and not replaced by the cookie's.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().unwrap_or_default();
    let (scheme, token) = value.split_once(' ').unwrap_or_default();
    Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim().to_owned() } else { String::new() })
}

/// Somebody nobody knows, and what they wanted.
struct Stranger {
    wanted: String,
    writes: bool,
    plain: bool,
}

impl Stranger {
    fn of(request: &Request) -> Self {
        Self {
            wanted: request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            writes: is_write(request.method()),
            plain: accepts_html(request.headers()),
        }
    }

    async fn refused(self, site: &Site, kind: Kind) -> Response {
        match kind {
            Kind::Api => {
                Refusal::from(hub::Error::Unauthenticated("Sign in, or send an API token.")).into_response()
            }
            Kind::Call if !self.plain => {
                let error = app::AppError::Unauthenticated("Sign in to see this.".to_owned());
                (StatusCode::UNAUTHORIZED, error.ser().to_vec()).into_response()
            }
            _ => self.sent_to_sign_in(site).await,
        }
    }

    /// To the sign-in page and back to where the stranger wanted to go; to set-up while nobody exists.
    async fn sent_to_sign_in(self, site: &Site) -> Response {
        let target = match site.hub().needs_setup().await {
            Ok(true) => app::paths::SETUP.to_owned(),
            Ok(false) if self.writes => app::paths::SIGN_IN.to_owned(),
            Ok(false) => app::paths::sign_in(&self.wanted),
            Err(error) => return Refusal::from(error).into_response(),
        };
        let location = HeaderValue::from_str(&target).unwrap_or(HeaderValue::from_static("/sign-in"));
        (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
    }
}

/// Whether a browser sent this by itself, without our script.
pub fn accepts_html(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|value| value.contains("text/html"))
}
