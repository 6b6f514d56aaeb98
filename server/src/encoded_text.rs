//! Percent-encoded text of requests: addresses and forms. The character U+0000 is rejected, because no database of Flotilla stores it.

use axum::extract::Request;
use axum::http::Uri;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use domain::null_character;

use crate::problem::ApiError;

/// The character as it is percent-encoded.
const ENCODED: &str = "%00";
/// The most characters of a name that a message repeats.
const MAX_NAME_CHARS: usize = 60;

/// Middleware: rejects a request whose path or query contains the character.
pub async fn reject_null_characters(request: Request, next: Next) -> Response {
    match check_uri(request.uri()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn check_uri(uri: &Uri) -> Result<(), ApiError> {
    if uri.path().contains(ENCODED) {
        return Err(rejection("The path"));
    }
    check_pairs("query parameter", uri.query().unwrap_or_default())
}

/// Checks the pairs of a query or a form; `what` is one of them, for the message.
///
/// # Errors
/// A name or a value contains the character.
pub fn check_pairs(what: &str, pairs: &str) -> Result<(), ApiError> {
    let found = pairs.split('&').find(|pair| pair.contains(ENCODED) || pair.contains('\0'));
    found.map_or(Ok(()), |pair| Err(rejection(&format!("The {what} {:?}", decode_name(pair)))))
}

/// The name of a pair, for messages.
pub fn decode_name(pair: &str) -> String {
    let name = pair.split('=').next().unwrap_or_default().replace('+', " ");
    let name = percent_encoding::percent_decode_str(&name).decode_utf8_lossy();
    name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect()
}

fn rejection(subject: &str) -> ApiError {
    ApiError::bad_request(format!("{subject} {}. {}", null_character::REJECTION, null_character::HINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_an_address_with_the_character_is_named() {
        let check = |uri: &str| check_uri(&uri.parse().unwrap()).map_err(|error| error.detail().to_owned());
        assert_eq!(check("/api/v1/workloads/a%2500?q=%2500&b"), Ok(()));
        assert!(
            check("/api/v1/workloads/a%00")
                .unwrap_err()
                .starts_with("The path contains the character U+0000")
        );
        let query = check("/x?a=b&label%5Fselector=a%00b").unwrap_err();
        assert!(query.starts_with("The query parameter \"label_selector\" contains"), "{query}");
        assert!(check("/x?a%00=b").unwrap_err().contains("\"a\""));
    }
}
