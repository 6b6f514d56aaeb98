//! Headers that every answer carries.

use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

/// For everything that is no page: nothing may be loaded, nobody may frame it. Pages bring their own with a nonce.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

static OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
static RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Adds them where a handler has not said otherwise.
pub async fn protect(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    set(headers, &X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, &X_FRAME_OPTIONS, "DENY");
    set(headers, &REFERRER_POLICY, "same-origin");
    set(headers, &OPENER, "same-origin");
    set(headers, &RESOURCE, "same-origin");
    set(headers, &CONTENT_SECURITY_POLICY, NOTHING);
    // What a page or the API shows is for this person now; the built files say otherwise themselves.
    set(headers, &CACHE_CONTROL, "no-store");
    response
}

fn set(headers: &mut HeaderMap, name: &HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}
