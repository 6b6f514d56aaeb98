//! Addresses about identity providers.

use super::{PEOPLE, percent_encode, query};

/// Sign in with an identity provider, then go on to `next`. No page of the console.
pub fn identity_sign_in(provider: &str, next: &str) -> String {
    query(&format!("/auth/{}/sign-in", percent_encode(provider)), &[("next", next)])
}

/// The users, with the question that gives this one a higher role until a time.
pub fn user_elevation(user: &str) -> String {
    query(PEOPLE, &[("elevate", user)])
}

/// Why a user of an identity provider has the role.
pub fn user_identity(user: &str) -> String {
    query(PEOPLE, &[("identity", user)])
}
