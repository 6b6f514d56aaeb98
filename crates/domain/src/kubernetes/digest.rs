//! Content addresses: `sha256:` and 64 hex digits, of bundles and artifacts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes, written `sha256:<64 hex digits>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String))]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// The text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a digest; write sha256: and 64 hex digits")]
pub struct InvalidDigest(String);

impl Digest {
    /// The digest of `bytes`.
    pub fn compute(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", hex::encode(Sha256::digest(bytes))))
    }

    /// The whole text, with its `sha256:` prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight hex digits, for display.
    pub fn short(&self) -> &str {
        &self.0["sha256:".len()..][..8]
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;
    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let digits = text.strip_prefix("sha256:").unwrap_or("");
        let plain = digits.len() == 64 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if plain { Ok(Self(text.to_owned())) } else { Err(InvalidDigest(text.chars().take(80).collect())) }
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;
    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_validated_when_it_is_parsed() {
        let digest = Digest::compute(b"abc");
        assert_eq!(digest.short(), "ba7816bf");
        assert_eq!(digest.as_str().parse(), Ok(digest.clone()));
        assert!("sha256:short".parse::<Digest>().is_err());
        assert!(digest.as_str().to_uppercase().parse::<Digest>().is_err());
    }
}
