//! Signed tokens in compact form (RFC 7515).

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, SHA512, digest};
use serde_json::Value;

use crate::json::parse_json;
use crate::key_set::KeySet;

/// Most bytes of a token.
pub const MAX_TOKEN_BYTES: usize = 64 << 10;

/// The algorithms that a token may be signed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureAlgorithm {
    /// RSA with PKCS #1 and SHA-256.
    Rs256,
    /// RSA with PSS and SHA-256.
    Ps256,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

/// Why a token is not accepted. The text contains nothing of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is too large, or has no three parts of base64url with JSON objects.
    #[error("the token is not a signed token")]
    Malformed,
    /// It is signed with an algorithm that is not accepted, or requires an extension.
    #[error("the token is not signed with RS256, PS256, ES256 or EdDSA")]
    Algorithm,
    /// No key of the provider has its id; the provider may have published it since the keys were read.
    #[error("the provider has no key with the id of the token")]
    UnknownKey,
    /// The signature is wrong.
    #[error("the signature of the token is wrong")]
    Signature,
    /// It is a token for another purpose.
    #[error("the token is of another type")]
    Type,
    /// Another provider issued it.
    #[error("the token was issued by another provider")]
    Issuer,
    /// It is for another client.
    #[error("the token is for another client")]
    Audience,
    /// It has expired, or does not say when it expires.
    #[error("the token has expired")]
    Expired,
    /// It is from the future, or does not say when it was issued.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// It belongs to another sign-in.
    #[error("the token belongs to another sign-in")]
    Nonce,
    /// It belongs to another access token.
    #[error("the token belongs to another access token")]
    AccessToken,
    /// It names nobody, or another user than before.
    #[error("the token is about another user")]
    Subject,
    /// It has no id by which a repetition is found.
    #[error("the token has no id")]
    MissingId,
}

/// A token whose signature is right.
pub(crate) struct VerifiedToken {
    pub algorithm: SignatureAlgorithm,
    /// Its `typ`, in lower case; empty without one.
    pub kind: String,
    pub claims: Value,
}

impl SignatureAlgorithm {
    /// Its name in a header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Rs256, Self::Ps256, Self::Es256, Self::EdDsa].into_iter().find(|known| known.as_str() == name)
    }

    /// The left half of the hash of an access token, as `at_hash` has it.
    pub(crate) fn half_hash(self, text: &str) -> String {
        let algorithm = match self {
            Self::Rs256 | Self::Ps256 | Self::Es256 => &SHA256,
            Self::EdDsa => &SHA512,
        };
        let hash = digest(algorithm, text.as_bytes());
        let bytes = hash.as_ref();
        BASE64_URL_SAFE_NO_PAD.encode(&bytes[..bytes.len() / 2])
    }
}

/// Verifies the signature. Keys and addresses in the header of the token are not used.
pub(crate) fn verify_signature(token: &str, keys: &KeySet) -> Result<VerifiedToken, TokenError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(TokenError::Malformed);
    }
    let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
    let (header, payload) = message.split_once('.').ok_or(TokenError::Malformed)?;
    let header = parse_object(header)?;
    if header.get("crit").is_some() {
        return Err(TokenError::Algorithm);
    }
    let algorithm = header.get("alg").and_then(Value::as_str).and_then(SignatureAlgorithm::from_name);
    let algorithm = algorithm.ok_or(TokenError::Algorithm)?;
    let id = match header.get("kid") {
        None => None,
        Some(Value::String(id)) => Some(id.as_str()),
        Some(_) => return Err(TokenError::Malformed),
    };
    if !keys.has_key(id, algorithm) {
        return Err(TokenError::UnknownKey);
    }
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::Malformed)?;
    if !keys.verify(id, algorithm, message.as_bytes(), &signature) {
        return Err(TokenError::Signature);
    }
    let kind = header.get("typ").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    Ok(VerifiedToken { algorithm, kind, claims: parse_object(payload)? })
}

/// The `kid` in the header of a token, which nothing has verified; `None` without one.
pub fn read_key_id(token: &str) -> Option<String> {
    let (header, _) = token.split_once('.').filter(|_| token.len() <= MAX_TOKEN_BYTES)?;
    parse_object(header).ok()?.get("kid").and_then(Value::as_str).map(str::to_owned)
}

fn parse_object(part: &str) -> Result<Value, TokenError> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed)?;
    let value = parse_json(&bytes).map_err(|_| TokenError::Malformed)?;
    if value.is_object() { Ok(value) } else { Err(TokenError::Malformed) }
}
