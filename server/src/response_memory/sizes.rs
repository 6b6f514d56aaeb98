//! How large responses were: what the next one to the same request needs.

use std::collections::HashMap;

use axum::body::HttpBody as _;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderValue, Method, Uri};
use axum::response::Response;
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;

/// Responses of at most this many bytes need no reservation.
pub const SMALL_BYTES: u64 = 64 << 10;
/// How many sizes are remembered.
pub const MAX_SIZES: usize = 4_000;
/// Longest address whose size is remembered, in bytes.
pub const MAX_KEY_BYTES: usize = 512;

/// Sizes, by what was requested.
#[derive(Default)]
pub struct ResponseSizes(Mutex<HashMap<String, u64>>);

/// The sizes of responses to users.
#[derive(Default)]
pub struct UserResponseSizes {
    /// The last one, by address.
    last: ResponseSizes,
    /// The largest one that is not small, by user and path, whatever the query was: who reads something large by one query is expected to
    /// do so by another one.
    largest: ResponseSizes,
}

/// What the size of a response to a user is remembered and found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeKey {
    /// The request, in one spelling.
    request: String,
    /// Another request whose response is about as large.
    similar: String,
    /// The user and the path.
    of_user: String,
}

impl ResponseSizes {
    /// The remembered size.
    pub fn get(&self, key: &str) -> Option<u64> {
        self.0.lock().get(key).copied()
    }

    /// Remembers a size.
    pub fn insert(&self, key: &str, size: u64) {
        self.insert_with(key, |_| size);
    }

    fn insert_with(&self, key: &str, size: impl FnOnce(u64) -> u64) {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return;
        }
        let mut sizes = self.0.lock();
        if sizes.len() >= MAX_SIZES && !sizes.contains_key(key) {
            // Any of them: its next response counts as one of unknown size.
            let removed = sizes.keys().next().cloned();
            if let Some(removed) = removed {
                sizes.remove(&removed);
            }
        }
        let last = sizes.get(key).copied().unwrap_or_default();
        sizes.insert(key.to_owned(), size(last));
    }
}

impl UserResponseSizes {
    /// The expected size of a response; `None` if nothing is known of it.
    pub fn find(&self, key: &SizeKey) -> Option<u64> {
        let known = self.last.get(&key.request).or_else(|| self.last.get(&key.similar));
        known.or_else(|| self.largest.get(&key.of_user))
    }

    /// Remembers the size of a response, unless it is a small error or a stream.
    pub fn record(&self, key: &SizeKey, response: &Response) {
        let Some(size) = response_size(response) else { return };
        let is_small = size <= SMALL_BYTES;
        if is_small && !response.status().is_success() {
            return;
        }
        self.last.insert(&key.request, size);
        if !is_small {
            self.largest.insert_with(&key.of_user, |largest| largest.max(size));
        }
    }
}

impl SizeKey {
    /// That of a read.
    pub fn of_read(user: &str, uri: &Uri) -> Self {
        let path = normalize_path(uri.path());
        let query = normalize_query(uri.query().unwrap_or_default());
        let of_user = format!("{user} {path}");
        let request = if query.is_empty() { path } else { format!("{path}?{query}") };
        Self { request, similar: String::new(), of_user }
    }

    /// That of a change: it returns what a read of the same path does.
    pub fn of_change(user: &str, method: &Method, uri: &Uri) -> Self {
        let path = normalize_path(uri.path());
        let (request, of_user) = (format!("{method} {path}"), format!("{user} {method} {path}"));
        Self { request, similar: path, of_user }
    }
}

/// The bytes of a body, or those that it would have: a response to `HEAD` states them.
pub fn response_size(response: &Response) -> Option<u64> {
    let body = response.body().size_hint().exact();
    let stated = response.headers().get(CONTENT_LENGTH).map(HeaderValue::to_str);
    match (body, stated) {
        (Some(0), Some(Ok(stated))) => stated.parse().ok(),
        (body, _) => body,
    }
}

/// A path in one spelling: decoded, and without empty segments. A decoded `/` stays encoded, because it separates nothing.
fn normalize_path(path: &str) -> String {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    segments.fold(String::new(), |normal, segment| {
        let segment = percent_decode_str(segment).decode_utf8_lossy().replace('/', "%2F");
        normal + "/" + &segment
    })
}

/// A query in one spelling: its pairs decoded and sorted.
fn normalize_query(query: &str) -> String {
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| percent_decode_str(&pair.replace('+', " ")).decode_utf8_lossy().into_owned())
        .collect();
    pairs.sort_unstable();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::response::IntoResponse as _;

    use super::*;

    const LARGE: usize = 1 << 20;

    fn response(bytes: usize) -> Response {
        Body::from(vec![b'a'; bytes]).into_response()
    }

    fn read(user: &str, address: &str) -> SizeKey {
        SizeKey::of_read(user, &address.parse().unwrap())
    }

    #[test]
    fn p19_the_next_response_is_expected_to_be_as_large_as_the_last_one() {
        let sizes = UserResponseSizes::default();
        let key = read("ada", "/api/v1/projects/default/workloads/expected?x=1");
        assert_eq!(sizes.find(&key), None);
        sizes.record(&key, &response(LARGE));
        assert_eq!(sizes.find(&key), Some(1 << 20));
        sizes.record(&key, &(StatusCode::SERVICE_UNAVAILABLE, "busy").into_response());
        assert_eq!(sizes.find(&key), Some(1 << 20), "an error is not the response");
        sizes.record(&key, &response(100));
        assert_eq!(sizes.find(&key), Some(100));
        let long = read("ada", &format!("/{}", "a".repeat(MAX_KEY_BYTES)));
        sizes.record(&long, &response(100));
        assert_eq!(sizes.find(&long), None);
    }

    #[test]
    fn p19_a_request_in_another_spelling_is_the_same_request() {
        let key = read("ada", "/workloads/big/edit?b=%32&a=1");
        for address in ["/workloads/%62ig/edit?a=1&b=2", "//workloads/big//edit/?&b=2&&%61=1"] {
            assert_eq!(read("ada", address), key, "{address}");
        }
        assert_ne!(read("ada", "/workloads%2Fbig/edit?a=1&b=2"), key, "another path");
        assert_ne!(read("ada", "/workloads/big/edit?a=1&b=3"), key, "another query");
    }

    #[test]
    fn p19_a_large_response_is_expected_by_its_user_whatever_the_query_is_and_by_nobody_else() {
        let sizes = UserResponseSizes::default();
        sizes.record(&read("ada", "/workloads/big?tab=config"), &response(LARGE));
        sizes.record(&read("ada", "/workloads/big?tab=history"), &response(100));
        assert_eq!(sizes.find(&read("ada", "/workloads/big?zz=1")), Some(1 << 20));
        assert_eq!(sizes.find(&read("ada", "/workloads/big?tab=history")), Some(100), "it is known");
        assert_eq!(sizes.find(&read("bob", "/workloads/big?zz=1")), None);
        assert_eq!(sizes.find(&read("bob", "/workloads/big?tab=config")), Some(1 << 20));
    }

    #[test]
    fn p19_a_large_page_that_is_an_error_and_a_response_to_head_have_sizes_too() {
        let sizes = UserResponseSizes::default();
        let page = read("ada", "/workloads/big/other");
        sizes.record(&page, &(StatusCode::NOT_FOUND, vec![b'a'; LARGE]).into_response());
        assert_eq!(sizes.find(&page), Some(1 << 20));
        let head = read("ada", "/api/v1/projects/default/workloads/big");
        sizes.record(&head, &([(CONTENT_LENGTH, "1048576")], Body::empty()).into_response());
        assert_eq!(sizes.find(&head), Some(1 << 20));
    }

    #[test]
    fn p19_the_response_to_a_change_is_expected_to_be_as_large_as_what_it_changes() {
        let sizes = UserResponseSizes::default();
        let address: Uri = "/api/v1/projects/default/workloads/big".parse().unwrap();
        let patch = SizeKey::of_change("ada", &Method::PATCH, &address);
        assert_eq!(sizes.find(&patch), None);
        sizes.record(&SizeKey::of_read("bob", &address), &response(LARGE));
        assert_eq!(sizes.find(&patch), Some(1 << 20));
        sizes.record(&patch, &response(100));
        assert_eq!(sizes.find(&patch), Some(100));
        assert_eq!(sizes.find(&SizeKey::of_change("ada", &Method::PUT, &address)), Some(1 << 20));
    }

    #[test]
    fn p19_sizes_beyond_the_limit_replace_one_and_not_all() {
        let sizes = ResponseSizes::default();
        for number in 0..=MAX_SIZES {
            sizes.insert(&number.to_string(), 100);
        }
        let known = (0..=MAX_SIZES).filter(|number| sizes.get(&number.to_string()).is_some());
        assert_eq!(known.count(), MAX_SIZES);
        assert_eq!(sizes.get(&MAX_SIZES.to_string()), Some(100), "the last one is known");
    }
}
