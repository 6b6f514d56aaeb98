//! OpenID Connect without IO: what a provider publishes and signs is parsed and verified here.
//!
//! Every input comes from another server or from a browser. [`parse_json`] bounds it before it is parsed; [`ProviderMetadata`] and
//! [`KeySet`] read the discovery document and the keys; [`verify_id_token`] and [`verify_logout_token`] accept a token only if its
//! signature and every required claim are right. The algorithms are a fixed list of signatures with public keys: neither `none` nor
//! a MAC with the client secret is among them, whatever the header of a token says. Requests are made by the caller
//! (docs/decisions/0023).

mod claims;
mod groups;
mod json;
mod key_set;
mod metadata;
mod signed_token;
mod url;

#[cfg(test)]
mod tests;

pub use claims::{
    IdTokenExpectation, LEEWAY_SECONDS, LogoutClaims, MAX_LOGOUT_AGE_SECONDS, TokenAudience, read_session,
    read_subject, verify_id_token, verify_logout_token,
};
pub use groups::{GroupsError, MAX_GROUPS, read_groups, read_text_claim};
pub use json::{InvalidJson, MAX_DOCUMENT_BYTES, parse_json};
pub use key_set::KeySet;
pub use metadata::{ClientAuthentication, InvalidMetadata, ProviderMetadata, discovery_url};
pub use signed_token::{MAX_TOKEN_BYTES, SignatureAlgorithm, TokenError, read_key_id};
pub use url::{append_query, code_challenge, encode_form, hash_to_text};
