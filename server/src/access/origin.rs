//! Origin check of writes, against CSRF, cross-site forms and login CSRF.
//!
//! Browsers send `Sec-Fetch-Site`, older ones `Origin`. A write with the session cookie needs a same-origin header; a
//! write without the cookie may have neither header (a command line), but not a foreign origin.

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HOST, HeaderName, ORIGIN};

static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a write must be rejected because of its origin.
pub fn is_cross_origin(headers: &HeaderMap) -> bool {
    match same_origin(headers) {
        Some(here) => !here,
        None => has_session_cookie(headers),
    }
}

/// Whether the headers name our own origin; `None` without such a header.
fn same_origin(headers: &HeaderMap) -> Option<bool> {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(site) = text(&SEC_FETCH_SITE) {
        return Some(site == "same-origin");
    }
    let origin = text(&ORIGIN)?;
    let host = text(&HOST)?;
    let authority = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    Some(authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host)))
}

fn has_session_cookie(headers: &HeaderMap) -> bool {
    let ours = |pair: &str| {
        let name = pair.trim().split('=').next();
        name == Some(crate::session::COOKIE) || name == Some(crate::session::HOST_COOKIE)
    };
    headers.get_all(COOKIE).iter().any(|value| value.to_str().unwrap_or_default().split(';').any(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_write_with_the_session_cookie_needs_a_same_origin_header() {
        let cookie = ("cookie", "a=b; flotilla_session=x");
        assert!(is_cross_origin(&headers(&[cookie])));
        assert!(is_cross_origin(&headers(&[("cookie", "__Host-flotilla_session=x")])));
        assert!(is_cross_origin(&headers(&[cookie, ("sec-fetch-site", "cross-site")])));
        assert!(is_cross_origin(&headers(&[cookie, ("sec-fetch-site", "same-site")])));
        assert!(is_cross_origin(&headers(&[cookie, ("host", "h:1"), ("origin", "http://h:2")])));
        assert!(is_cross_origin(&headers(&[cookie, ("host", "h:1"), ("origin", "null")])));
        assert!(!is_cross_origin(&headers(&[cookie, ("sec-fetch-site", "same-origin")])));
        assert!(!is_cross_origin(&headers(&[cookie, ("host", "h:1"), ("origin", "http://h:1")])));
    }

    #[test]
    fn a_write_without_the_session_cookie_may_have_no_origin_but_not_a_foreign_one() {
        assert!(!is_cross_origin(&headers(&[("cookie", "flotilla_session_x=1")])));
        assert!(is_cross_origin(&headers(&[("host", "h"), ("origin", "https://evil")])));
    }
}
