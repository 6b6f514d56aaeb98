//! API tokens, as they are shown: the hub stores only the hash of a secret.

use serde::{Deserialize, Serialize};

use crate::kubernetes::id::TokenId;
use crate::kubernetes::time::Timestamp;

/// A new token. Its secret is not stored and can't be read again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApiTokenCreated {
    /// Its id.
    pub id: TokenId,
    /// The secret, `flt_…`.
    pub secret: String,
}

/// Without the secret: it must not appear in a log.
impl std::fmt::Debug for ApiTokenCreated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiTokenCreated").field("id", &self.id).finish_non_exhaustive()
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
    /// When it was last used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}
