//! Sign-in: the first user by a one-time set-up token, then passwords, sessions and API tokens.
//!
//! Secrets are stored only as hashes: passwords with argon2id, random secrets (sessions, tokens) with SHA-256, because
//! 256 random bits need no slow hash.

use domain::{Timestamp, TokenId, UserId};
use sha2::{Digest as _, Sha256};

mod password;
mod session;
mod setup;
mod token;

pub(crate) use password::HashLimiter;

/// A signed-in user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The user.
    pub user: UserId,
    /// The user's name.
    pub name: String,
}

/// A new API token; the secret is shown once.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiTokenSecret {
    /// Its id.
    pub id: TokenId,
    /// The secret, `flt_…`.
    pub secret: String,
}

impl std::fmt::Debug for ApiTokenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NewToken({})", self.id)
    }
}

/// An API token as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    /// Its id.
    pub id: TokenId,
    /// Its name.
    pub name: String,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// When it expires; `None` for never.
    pub expires_at: Option<Timestamp>,
}

/// The stored hash of a random secret.
pub(crate) fn hash_secret(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}
