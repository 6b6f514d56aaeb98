//! Did a write come from our own pages? (CSRF, cross-site forms, login CSRF.)
//!
//! Browsers say it in `Sec-Fetch-Site`, older ones in `Origin`. A write with our cookie must say that it comes from
//! here; one without the cookie may say nothing (a command line), but not that it comes from elsewhere.

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HOST, HeaderName, ORIGIN};

static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a write must be refused for where it comes from.
pub fn is_foreign(headers: &HeaderMap) -> bool {
    match from_here(headers) {
        Some(here) => !here,
        None => has_our_cookie(headers),
    }
}

/// Whether the browser says that it comes from our own pages; `None` if it says nothing.
fn from_here(headers: &HeaderMap) -> Option<bool> {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(site) = text(&SEC_FETCH_SITE) {
        return Some(site == "same-origin");
    }
    let origin = text(&ORIGIN)?;
    let host = text(&HOST)?;
    let authority = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    Some(authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host)))
}

fn has_our_cookie(headers: &HeaderMap) -> bool {
    let ours = |pair: &str| pair.trim().split('=').next() == Some(crate::session::COOKIE);
    headers.get_all(COOKIE).iter().any(|value| value.to_str().unwrap_or_default().split(';').any(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_write_with_our_cookie_must_say_that_it_comes_from_here() {
        let cookie = ("cookie", "a=b; flotilla_session=x");
        assert!(is_foreign(&headers(&[cookie])));
        assert!(is_foreign(&headers(&[cookie, ("sec-fetch-site", "cross-site")])));
        assert!(is_foreign(&headers(&[cookie, ("sec-fetch-site", "same-site")])));
        assert!(is_foreign(&headers(&[cookie, ("host", "h:1"), ("origin", "http://h:2")])));
        assert!(is_foreign(&headers(&[cookie, ("host", "h:1"), ("origin", "null")])));
        assert!(!is_foreign(&headers(&[cookie, ("sec-fetch-site", "same-origin")])));
        assert!(!is_foreign(&headers(&[cookie, ("host", "h:1"), ("origin", "http://h:1")])));
    }

    #[test]
    fn a_write_without_our_cookie_may_say_nothing_but_not_that_it_comes_from_elsewhere() {
        assert!(!is_foreign(&headers(&[("cookie", "flotilla_session_x=1")])));
        assert!(is_foreign(&headers(&[("host", "h"), ("origin", "https://evil")])));
    }
}
