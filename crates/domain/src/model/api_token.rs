//! API tokens, as they are shown: the hub stores only the hash of a secret.

use serde::{Deserialize, Serialize};

use super::role::Role;
use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::TokenId;
use crate::kubernetes::time::Timestamp;

/// Lifetime of a token whose creator does not say how long, in days.
pub const DEFAULT_DAYS: u32 = 30;

/// Prefix of the secret of every token, so that secret scanners recognise it.
pub const TOKEN_PREFIX: &str = "flt_";

/// The code that a user types before a token is created whose secret a program has generated: the beginning of its hash, such as `1a2b-3c4d-5e6f`.
pub fn confirmation_code(secret_hash: &Digest) -> String {
    let digits = secret_hash.as_str().trim_start_matches("sha256:");
    [0..4, 4..8, 8..12].map(|range| digits.get(range).unwrap_or_default()).join("-")
}

/// Whether this is what a user typed as the code of this hash: in upper case, without hyphens or with spaces too.
pub fn is_confirmed(secret_hash: &Digest, typed: &str) -> bool {
    let digits = |text: &str| -> String {
        let typed = text.chars().filter(|character| !character.is_whitespace() && *character != '-');
        typed.map(|character| character.to_ascii_lowercase()).collect()
    };
    digits(typed) == digits(&confirmation_code(secret_hash))
}

/// A token to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewApiToken {
    /// Its purpose.
    pub name: String,
    /// Its role, not above that of the creator; by default the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The project that it is for; by default all. There is one, `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Lifetime in days, 1 to 365; by default 30.
    #[serde(default = "default_days")]
    pub days: u32,
    /// Whether it may create and revoke tokens, none of a higher role. By default only a token of an administrator, who can get all
    /// rights in other ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_mint: Option<bool>,
    /// The only actions that it may do, in addition to reading what its role may read; by default all of its role. At most those of the token that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<String>>,
    /// The SHA-256 of its secret, which the client has generated and keeps: `flt_` and at least 32 random bytes as text. By default the server generates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_hash: Option<Digest>,
}

const fn default_days() -> u32 {
    DEFAULT_DAYS
}

impl NewApiToken {
    /// A token with this name and lifetime, with the rights of its creator.
    pub fn new(name: impl Into<String>, days: u32) -> Self {
        Self {
            name: name.into(),
            role: None,
            project: None,
            days,
            can_mint: None,
            actions: None,
            secret_hash: None,
        }
    }

    /// Whether it may create tokens, if a user with this role creates it.
    pub fn may_mint(&self, creator: Role) -> bool {
        self.can_mint.unwrap_or(self.role.unwrap_or(creator) == Role::Admin)
    }
}

/// A new token. Its secret is not stored and can't be read again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApiTokenCreated {
    /// The token.
    #[serde(flatten)]
    pub info: ApiToken,
    /// The secret, `flt_…`. Only in the first response.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// The same as `token`, for clients of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub secret: String,
    /// Why the secret is missing, in a repeated response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<String>,
}

/// Without the secret: it must not appear in a log.
impl std::fmt::Debug for ApiTokenCreated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiTokenCreated").field("id", &self.info.id).finish_non_exhaustive()
    }
}

impl ApiTokenCreated {
    /// A token with its secret.
    pub fn new(info: ApiToken, secret: String) -> Self {
        Self { info, token: secret.clone(), secret, omitted: None }
    }

    /// A token whose secret only the client knows.
    pub fn with_secret_of_client(info: ApiToken) -> Self {
        let omitted = "The client has generated the secret, and the server does not know it.";
        Self { info, token: String::new(), secret: String::new(), omitted: Some(omitted.to_owned()) }
    }

    /// The same without the secret, to be stored and sent to a client that repeats the request.
    #[must_use]
    pub fn without_secret(&self) -> Self {
        let omitted = "The secret was only in the first response, because it is not stored. Revoke this token and create \
            another one.";
        Self {
            info: self.info.clone(),
            token: String::new(),
            secret: String::new(),
            omitted: Some(omitted.to_owned()),
        }
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApiToken {
    /// Its id.
    pub id: TokenId,
    /// Its purpose.
    pub name: String,
    /// Its role. It may do what this and the role of its user both allow.
    pub role: Role,
    /// The project that it is for; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether it may create and revoke tokens.
    pub can_mint: bool,
    /// The only actions that it may do, in addition to reading; absent for all of its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<String>>,
    /// When it was last used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_that_is_typed_is_the_beginning_of_the_hash() {
        let hash = Digest::compute(b"flt_secret");
        let code = confirmation_code(&hash);
        assert_eq!(code.replace('-', ""), hash.as_str()["sha256:".len()..][..12]);
        assert_eq!(code.len(), 14);
        for typed in [code.clone(), format!(" {} ", code.to_uppercase()), code.replace('-', "")] {
            assert!(is_confirmed(&hash, &typed), "{typed:?}");
        }
        for wrong in ["", "-", "0000-0000-0000", &code[..9], hash.as_str()] {
            assert!(!is_confirmed(&hash, wrong), "{wrong:?}");
        }
    }
}
