//! The addresses of a sign-in with a provider: `/auth/NAME/sign-in` leads to it, `/auth/NAME/callback` is where it leads back to, and to
//! `/auth/NAME/back-channel-logout` it sends logouts.
//!
//! Whatever fails leads to the sign-in page with the name of a failure from a closed set: no text of a provider or of an address is displayed.

use std::borrow::Cow;

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, Request, State};
use axum::http::header::{CACHE_CONTROL, COOKIE, LOCATION, RETRY_AFTER, SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use domain::identity_provider::SignInFailure;
use domain::session::MAX_USER_AGENT_CHARS;
use hub::{AuthorizationResponse, LogoutFailure, SignInClient};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::json;
use tower_sessions::Session;
use tower_sessions::cookie::{Cookie, SameSite};

use crate::client_address::{client_network, read_client_address};
use crate::console;
use crate::problem::{ApiError, DEFAULT_RETRY_AFTER};
use crate::session::{self, SignInDevice};
use crate::site::Site;

/// The paths that this module serves begin with it.
pub const PATH_PREFIX: &str = "/auth/";

/// Its routes.
pub const ROUTES: [(Method, &str); 3] = [
    (Method::GET, "/auth/{provider}/sign-in"),
    (Method::GET, "/auth/{provider}/callback"),
    (Method::POST, "/auth/{provider}/back-channel-logout"),
];

/// The cookie that binds the response of a provider to a browser, over https and over plain http.
const HOST_COOKIE: &str = "__Host-flotilla_sign_in";
const PLAIN_COOKIE: &str = "flotilla_sign_in";
/// How long a browser keeps it; the hub verifies the time too.
const COOKIE_MINUTES: i64 = 10;

/// Adds the routes.
pub fn add_routes(router: Router<Site>) -> Router<Site> {
    let [(_, sign_in), (_, callback), (_, logout)] = ROUTES;
    router
        .route(sign_in, get(begin_sign_in))
        .route(callback, get(complete_sign_in))
        .route(logout, post(end_sessions))
}

/// `GET /auth/NAME/sign-in?next=PATH`
async fn begin_sign_in(State(site): State<Site>, Path(provider): Path<String>, request: Request) -> Response {
    let next = read_parameter(&request, "next").unwrap_or_default();
    match Box::pin(site.hub().begin_identity_sign_in(&provider, app::sanitize_next(&next))).await {
        Ok(start) => {
            let cookie = sign_in_cookie(&site, start.cookie, time::Duration::minutes(COOKIE_MINUTES));
            redirect(&start.location, Some(&cookie))
        }
        Err(failure) => lead_to_sign_in(&site, failure, None),
    }
}

/// `GET /auth/NAME/callback`, where a provider leads the browser to.
async fn complete_sign_in(
    State(site): State<Site>,
    Path(provider): Path<String>,
    session: Session,
    request: Request,
) -> Response {
    let response = AuthorizationResponse {
        cookie: read_cookie(request.headers(), cookie_name(&site)),
        state: read_parameter(&request, "state"),
        code: read_parameter(&request, "code"),
        issuer: read_parameter(&request, "iss"),
        error: read_parameter(&request, "error"),
    };
    let address = read_client_address(site.trusted_proxies(), request.headers(), request.extensions());
    let client = SignInClient { network: client_network(address), device: None };
    if !site.identity_attempts().count(client.network) {
        return lead_to_sign_in(&site, SignInFailure::TooManyAttempts, None);
    }
    let user_agent =
        request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let device = SignInDevice {
        address: client.network.to_string(),
        user_agent: user_agent.chars().take(MAX_USER_AGENT_CHARS).collect(),
    };
    drop(request);
    // It works once: whatever happens, the browser forgets it.
    let expired = sign_in_cookie(&site, String::new(), time::Duration::ZERO);
    match Box::pin(site.hub().complete_identity_sign_in(&provider, response, &client)).await {
        Ok((new, next)) => {
            let now = site.hub().clock().now();
            match session::start_session(&session, new, device, now).await {
                Ok(()) => redirect(app::sanitize_next(&next), Some(&expired)),
                Err(error) => {
                    tracing::warn!(
                        error,
                        "the session of a sign-in with an identity provider was not stored"
                    );
                    lead_to_sign_in(&site, SignInFailure::ServerUnavailable, None)
                }
            }
        }
        Err(failure) => lead_to_sign_in(&site, failure, Some(&expired)),
    }
}

/// The form of a logout.
#[derive(Deserialize)]
struct LogoutForm {
    logout_token: String,
}

/// `POST /auth/NAME/back-channel-logout`, sent by a provider.
async fn end_sessions(
    State(site): State<Site>,
    Path(provider): Path<String>,
    form: Result<Form<LogoutForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else {
        return refuse_logout(StatusCode::BAD_REQUEST, "The body is not a form with a logout_token.");
    };
    match Box::pin(site.hub().end_provider_sessions(&provider, &form.logout_token)).await {
        Ok(ended) => {
            tracing::info!(provider, ended, "an identity provider ended sessions");
            (StatusCode::OK, no_store()).into_response()
        }
        Err(LogoutFailure::UnknownProvider) => {
            refuse_logout(StatusCode::BAD_REQUEST, "There is no such identity provider, or it is disabled.")
        }
        Err(LogoutFailure::InvalidToken) => {
            refuse_logout(StatusCode::BAD_REQUEST, "The logout token is not valid, or was used before.")
        }
        Err(LogoutFailure::Unavailable) => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let mut response = refuse_logout(status, "No session was ended. Send the logout again.");
            response.headers_mut().insert(RETRY_AFTER, DEFAULT_RETRY_AFTER);
            response
        }
    }
}

/// An error as the specification of logouts requires it.
fn refuse_logout(status: StatusCode, description: &str) -> Response {
    let body = json!({ "error": "invalid_request", "error_description": description });
    (status, no_store(), Json(body)).into_response()
}

fn no_store() -> [(axum::http::HeaderName, HeaderValue); 1] {
    [(CACHE_CONTROL, HeaderValue::from_static("no-store"))]
}

/// A redirect that sets a cookie.
fn redirect(location: &str, cookie: Option<&HeaderValue>) -> Response {
    let location = HeaderValue::from_str(location).unwrap_or(HeaderValue::from_static(app::paths::SIGN_IN));
    let mut response = (StatusCode::SEE_OTHER, no_store(), [(LOCATION, location)]).into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie.clone());
    }
    response
}

/// The sign-in page with the reason; without a database the page of every outage, after which the same response may be used.
fn lead_to_sign_in(site: &Site, failure: SignInFailure, cookie: Option<&HeaderValue>) -> Response {
    if failure == SignInFailure::ServerUnavailable {
        let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "DatabaseUnavailable", failure.message());
        let page = console::outage_page(site, failure.message());
        return error.with_body(HeaderValue::from_static("text/html; charset=utf-8"), page.into_bytes());
    }
    redirect(&app::paths::query(app::paths::SIGN_IN, &[("failure", failure.as_str())]), cookie)
}

fn cookie_name(site: &Site) -> &'static str {
    if site.secure_cookies() { HOST_COOKIE } else { PLAIN_COOKIE }
}

/// Sent also when the provider leads back from another site, but only with a navigation.
fn sign_in_cookie(site: &Site, value: String, max_age: time::Duration) -> HeaderValue {
    let cookie = Cookie::build((cookie_name(site), value))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(site.secure_cookies())
        .max_age(max_age);
    // Characters of base64url and fixed attributes: always a valid header.
    HeaderValue::from_str(&cookie.to_string()).unwrap_or(HeaderValue::from_static(""))
}

fn read_cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(Cookie::split_parse).flatten();
    cookies.find(|cookie| cookie.name() == name).map(|cookie| cookie.value().to_owned())
}

/// A parameter of the query. One that is there twice is not read: which of both is meant is not known.
fn read_parameter(request: &Request, name: &str) -> Option<String> {
    let mut values = request.uri().query()?.split('&').filter_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then(|| value.replace('+', " "))
    });
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    percent_decode_str(&value).decode_utf8().ok().map(Cow::into_owned)
}
