//! The public keys of a provider (RFC 7517).

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

use crate::signed_token::SignatureAlgorithm;

/// Most keys of a provider; further ones are not read.
const MAX_KEYS: usize = 100;
/// Bytes of a coordinate of P-256, and of a key of Ed25519.
const COORDINATE_BYTES: usize = 32;

/// The keys that a provider signs with. Keys of other kinds or for other purposes are left out: nothing is verified with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet(Vec<ProviderKey>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct ProviderKey {
    /// Its `kid`.
    id: Option<String>,
    /// Its `alg`: the only algorithm that it may be used with.
    algorithm: Option<String>,
    material: KeyMaterial,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyMaterial {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// The point in uncompressed form.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// The keys of a document; `None` if it has no list of keys.
    pub fn parse(document: &Value) -> Option<Self> {
        let keys = document.get("keys")?.as_array()?;
        Some(Self(keys.iter().take(MAX_KEYS).filter_map(ProviderKey::parse).collect()))
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether a key with this id is among them; without an id, whether there is any key.
    pub(crate) fn has_key(&self, id: Option<&str>, algorithm: SignatureAlgorithm) -> bool {
        self.candidates(id, algorithm).next().is_some()
    }

    /// Whether the signature is one of a key with this id. A token without an id is verified only if a single key can have signed it.
    pub(crate) fn verify(
        &self,
        id: Option<&str>,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let candidates: Vec<&ProviderKey> = self.candidates(id, algorithm).collect();
        if id.is_none() && candidates.len() > 1 {
            return false;
        }
        candidates.into_iter().any(|key| key.material.verify(algorithm, message, signature))
    }

    fn candidates(
        &self,
        id: Option<&str>,
        algorithm: SignatureAlgorithm,
    ) -> impl Iterator<Item = &ProviderKey> {
        self.0.iter().filter(move |key| {
            let has_id = id.is_none() || key.id.as_deref() == id;
            let is_for = key.algorithm.as_deref().is_none_or(|name| name == algorithm.as_str());
            has_id && is_for && key.material.fits(algorithm)
        })
    }
}

impl ProviderKey {
    fn parse(key: &Value) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let operations = key.get("key_ops").and_then(Value::as_array);
        if key.get("use").is_some_and(|purpose| purpose.as_str() != Some("sig"))
            || operations.is_some_and(|all| all.iter().all(|one| one.as_str() != Some("verify")))
        {
            return None;
        }
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => KeyMaterial::Rsa {
                modulus: without_zeros(decode(text("n")?)?),
                exponent: without_zeros(decode(text("e")?)?),
            },
            ("EC", Some("P-256")) => {
                let (x, y) = (decode_exactly(text("x")?)?, decode_exactly(text("y")?)?);
                KeyMaterial::P256([[4_u8].as_slice(), x.as_slice(), y.as_slice()].concat())
            }
            ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519(decode_exactly(text("x")?)?),
            _ => return None,
        };
        Some(Self { id: text("kid").map(str::to_owned), algorithm: text("alg").map(str::to_owned), material })
    }
}

impl KeyMaterial {
    fn fits(&self, algorithm: SignatureAlgorithm) -> bool {
        match self {
            Self::Rsa { .. } => matches!(algorithm, SignatureAlgorithm::Rs256 | SignatureAlgorithm::Ps256),
            Self::P256(_) => algorithm == SignatureAlgorithm::Es256,
            Self::Ed25519(_) => algorithm == SignatureAlgorithm::EdDsa,
        }
    }

    /// RSA keys have 2048 to 8192 bits: others verify nothing.
    fn verify(&self, algorithm: SignatureAlgorithm, message: &[u8], signature: &[u8]) -> bool {
        match (self, algorithm) {
            (Self::Rsa { modulus, exponent }, SignatureAlgorithm::Rs256) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
            (Self::Rsa { modulus, exponent }, SignatureAlgorithm::Ps256) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PSS_2048_8192_SHA256, message, signature).is_ok()
            }
            (Self::P256(point), SignatureAlgorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            (Self::Ed25519(key), SignatureAlgorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok()
            }
            _ => false,
        }
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

fn decode_exactly(text: &str) -> Option<Vec<u8>> {
    decode(text).filter(|bytes| bytes.len() == COORDINATE_BYTES)
}

/// Some providers write a sign byte before the number.
fn without_zeros(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}
