//! Optimistic locking: a thing's revision is its `ETag`, and `If-Match` says which one the person saw.

use axum::extract::FromRequestParts;
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};

use crate::problem::Refusal;

/// The revision in `If-Match`; `None` without the header or with `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfMatch(pub Option<i64>);

/// The same, but the header must be there: replacing what one has not seen is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MustMatch(pub Option<i64>);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        match parts.headers.get(IF_MATCH) {
            None => Ok(Self(None)),
            Some(value) => revision(value).map(Self),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MustMatch {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        match parts.headers.get(IF_MATCH) {
            None => Err(Refusal::new(
                StatusCode::PRECONDITION_REQUIRED,
                "PreconditionRequired",
                "Send If-Match with the ETag you read, or * to replace whatever is there.",
            )),
            Some(value) => revision(value).map(Self),
        }
    }
}

fn revision(value: &HeaderValue) -> Result<Option<i64>, Refusal> {
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let number = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let number = number.and_then(|number| number.parse().ok());
    number.map(Some).ok_or_else(|| {
        Refusal::bad_request("If-Match must be one ETag as it was given, such as \"7\", or *.")
    })
}

/// The `ETag` of a revision.
pub fn etag(revision: i64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(&format!("\"{revision}\"")) {
        headers.insert(ETAG, value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_reads_back_as_it_was_given() {
        assert_eq!(revision(&etag(42)[ETAG]), Ok(Some(42)));
        assert_eq!(revision(&HeaderValue::from_static("*")), Ok(None));
        for bad in ["42", "W/\"42\"", "\"x\"", "\"1\", \"2\"", ""] {
            assert!(revision(&HeaderValue::from_static(bad)).is_err(), "{bad}");
        }
    }
}
