//! Addresses of sign-ins with identity providers.

use super::{percent_encode, query};

/// Sign in with an identity provider, then go on to `next`. No page of the console.
pub fn identity_sign_in(provider: &str, next: &str) -> String {
    query(&format!("/auth/{}/sign-in", percent_encode(provider)), &[("next", next)])
}
