//! Security headers of every response.

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::site::Site;

/// Content security policy of everything but pages: nothing may be loaded or framed. Pages have their own with a nonce.
const DEFAULT_POLICY: &str =
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// Over https: browsers use only https for this host for a year.
const TRANSPORT_POLICY: &str = "max-age=31536000";
/// Functions of the browser that no page uses.
const PERMISSIONS: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";

static PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
static OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
static RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Adds the headers that a handler has not set.
pub async fn add_security_headers(State(site): State<Site>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    set_default(headers, &X_CONTENT_TYPE_OPTIONS, "nosniff");
    set_default(headers, &X_FRAME_OPTIONS, "DENY");
    set_default(headers, &REFERRER_POLICY, "same-origin");
    set_default(headers, &OPENER_POLICY, "same-origin");
    set_default(headers, &RESOURCE_POLICY, "same-origin");
    set_default(headers, &PERMISSIONS_POLICY, PERMISSIONS);
    if site.secure_cookies() {
        set_default(headers, &STRICT_TRANSPORT_SECURITY, TRANSPORT_POLICY);
    }
    set_default(headers, &CONTENT_SECURITY_POLICY, DEFAULT_POLICY);
    // Pages and API responses are specific to the user; static assets set their own caching.
    set_default(headers, &CACHE_CONTROL, "no-store");
    response
}

fn set_default(headers: &mut HeaderMap, name: &HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}
