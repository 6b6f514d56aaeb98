//! The error of a form that was sent without script: the response redirects to the page of the form, with the error in the
//! address. A page displays such an error only to the browser that received it from this server, which a cookie with its
//! hash shows: otherwise anybody could make a link to a page that displays their text.

use axum::extract::{Request, State};
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use domain::Digest;
use percent_encoding::percent_decode_str;
use tower_sessions::cookie::{Cookie, SameSite};

use crate::site::Site;

/// Parameters of the address with the error of a form: the path of the server function, and the error.
const PARAMETERS: [&str; 2] = ["__path", "__err"];
/// How long the address displays the error: the page is requested at once, and again when it is reloaded.
const LIFETIME_MINUTES: i64 = 10;

const fn cookie_name(is_secure: bool) -> &'static str {
    if is_secure { "__Host-flotilla_form_error" } else { "flotilla_form_error" }
}

/// Marks the error in the `Location` of a response as one of this server.
pub fn mark_error(site: &Site, response: &mut Response) {
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let query = location.and_then(|location| location.split_once('?')).map(|(_, query)| query);
    let Some(hash) = query.and_then(hash_error) else { return };
    let is_secure = site.secure_cookies();
    let cookie = Cookie::build((cookie_name(is_secure), hash.to_string()))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Strict)
        .secure(is_secure)
        .max_age(time::Duration::minutes(LIFETIME_MINUTES));
    if let Ok(cookie) = HeaderValue::from_str(&cookie.to_string()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

/// Middleware: redirects an address with an error that this server did not send to this browser to the same address without it.
pub async fn remove_foreign_error(State(site): State<Site>, request: Request, next: Next) -> Response {
    let expected = request.uri().query().and_then(hash_error);
    let is_own = match &expected {
        Some(expected) => has_mark(&site, request.headers(), expected),
        None => true,
    };
    if is_own || !request.method().is_safe() {
        return next.run(request).await;
    }
    let target = HeaderValue::from_str(&without_error(request.uri()));
    let target = target.unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, target)]).into_response()
}

/// Hash of the parameters of an error, if there are any.
fn hash_error(query: &str) -> Option<Digest> {
    let parts: Vec<&str> = query.split('&').filter(|pair| is_error_parameter(pair)).collect();
    (!parts.is_empty()).then(|| Digest::compute(parts.join("&").as_bytes()))
}

/// Whether a pair of a query is a parameter of an error, however its name is encoded.
fn is_error_parameter(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default();
    let name = percent_decode_str(name).decode_utf8_lossy();
    PARAMETERS.contains(&&*name)
}

fn has_mark(site: &Site, headers: &HeaderMap, expected: &Digest) -> bool {
    let expected = expected.to_string();
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let name = cookie_name(site.secure_cookies());
    cookies
        .flat_map(Cookie::split_parse)
        .flatten()
        .any(|cookie| cookie.name() == name && cookie.value() == expected)
}

fn without_error(uri: &Uri) -> String {
    // A path with two slashes would be another host.
    let path = if uri.path().starts_with("//") { "/" } else { uri.path() };
    let query = uri.query().unwrap_or_default();
    let rest: Vec<&str> =
        query.split('&').filter(|pair| !pair.is_empty() && !is_error_parameter(pair)).collect();
    if rest.is_empty() { path.to_owned() } else { format!("{path}?{}", rest.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_an_error_are_found_however_they_are_encoded() {
        assert!(hash_error("next=%2F&a=__err").is_none());
        assert!(hash_error("%5f%5Ferr=x").is_some());
        assert_ne!(hash_error("__path=a&__err=b"), hash_error("__path=a&__err=c"));
        assert_eq!(hash_error("next=x&__path=a&__err=b"), hash_error("__path=a&next=y&__err=b"));
    }

    #[test]
    fn the_rest_of_the_address_stays_and_never_becomes_another_host() {
        let strip = |uri: &str| without_error(&uri.parse().unwrap());
        assert_eq!(strip("/sign-in?next=%2Fx&__path=a&__err=b"), "/sign-in?next=%2Fx");
        assert_eq!(strip("/sign-in?__err=b"), "/sign-in");
        assert_eq!(strip("//evil?__err=b"), "/");
    }
}
