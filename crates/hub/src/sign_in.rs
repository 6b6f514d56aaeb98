//! Sign-in: the first user by a one-time set-up token, then passwords, sessions and API tokens.
//!
//! Secrets are stored only as hashes: passwords with argon2id, random secrets (sessions, tokens) with SHA-256, because
//! 256 random bits need no slow hash.

use domain::UserId;
use sha2::{Digest as _, Sha256};

mod attempts;
mod change_password;
mod password;
mod password_link;
mod password_rules;
mod session;
mod setup;
mod token;

pub use attempts::{SignInClient, SignInStatistics};
pub(crate) use change_password::require_password_user;
pub(crate) use password::{HashLimiter, check_user_name};
pub(crate) use password_link::issue_password_link;
pub(crate) use session::MAX_SESSIONS;
pub(crate) use token::remove_token;

/// The session to start for a user who has signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The user.
    pub user: UserId,
    /// The user's name.
    pub name: String,
    /// The epoch of the user: the session ends with the next one.
    pub epoch: i64,
    /// The secret by which the device of the user is known at the next sign-in with a password; empty without one.
    pub device: String,
    /// The sign-in with an identity provider that the session ends with.
    pub identity: Option<String>,
}

/// The stored hash of a random secret.
pub(crate) fn hash_secret(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}
