//! The parts of URLs and forms that a client of OpenID Connect sends, and its PKCE challenge.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

/// The SHA-256 of a text, as base64url without padding: 43 characters that URLs and headers may contain.
pub fn hash_to_text(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

/// The `S256` challenge of a PKCE verifier.
pub fn code_challenge(verifier: &str) -> String {
    hash_to_text(verifier)
}

/// Names and values as a form or a query.
pub fn encode_form(pairs: &[(&str, &str)]) -> String {
    let encoded = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    encoded.collect::<Vec<_>>().join("&")
}

/// The URL with these parameters behind those that it has. It has no fragment: [`crate::ProviderMetadata`] rejects one.
pub fn append_query(url: &str, pairs: &[(&str, &str)]) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{}", encode_form(pairs))
}

fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}
