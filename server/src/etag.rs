//! Optimistic locking: an object's revision is its `ETag`; `If-Match` has the revision that the client has read.

use axum::extract::FromRequestParts;
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};

use crate::problem::ApiError;

/// The revision in `If-Match`; `None` without the header or with `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfMatch(pub Option<i64>);

/// The same, but the header is required; without it the request is rejected with 428.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredIfMatch(pub Option<i64>);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match parts.headers.get(IF_MATCH) {
            None => Ok(Self(None)),
            Some(value) => parse_revision(value).map(Self),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequiredIfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match parts.headers.get(IF_MATCH) {
            None => Err(ApiError::new(
                StatusCode::PRECONDITION_REQUIRED,
                "PreconditionRequired",
                "Send If-Match with the ETag you have read, or * to replace any revision.",
            )),
            Some(value) => parse_revision(value).map(Self),
        }
    }
}

fn parse_revision(value: &HeaderValue) -> Result<Option<i64>, ApiError> {
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let number = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let number = number.and_then(|number| number.parse().ok());
    number.map(Some).ok_or_else(|| {
        ApiError::bad_request("If-Match must be one ETag as it was returned, such as \"7\", or *.")
    })
}

/// The `ETag` of a revision.
pub fn etag_header(revision: i64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(&hub::format_etag(revision)) {
        headers.insert(ETAG, value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_parses_to_its_revision() {
        assert_eq!(parse_revision(&etag_header(42)[ETAG]), Ok(Some(42)));
        assert_eq!(parse_revision(&HeaderValue::from_static("*")), Ok(None));
        for bad in ["42", "W/\"42\"", "\"x\"", "\"1\", \"2\"", ""] {
            assert!(parse_revision(&HeaderValue::from_static(bad)).is_err(), "{bad}");
        }
    }
}
