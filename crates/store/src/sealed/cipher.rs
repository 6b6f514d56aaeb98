//! XChaCha20-Poly1305 with random nonces, which are long enough never to repeat.

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use rand::Rng as _;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 32;
/// Bytes of a nonce.
const NONCE_BYTES: usize = 24;

/// A key, ready for use. The cipher clears its memory when it is dropped.
#[derive(Clone)]
pub(crate) struct Cipher(XChaCha20Poly1305);

impl Cipher {
    pub(crate) fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    /// Nonce and ciphertext. `place` is authenticated, and needed to decrypt.
    pub(crate) fn encrypt(&self, place: &[u8], content: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_BYTES] = rand::rng().random();
        let payload = Payload { msg: content, aad: place };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload);
        // Fails only beyond 256 GiB, which no column holds.
        let sealed = sealed.expect("the content is shorter than the limit of the cipher");
        [&nonce[..], &sealed].concat()
    }

    /// The content; `None` if it was encrypted with another key or for another place, or is damaged.
    pub(crate) fn decrypt(&self, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        self.0.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: place }).ok()
    }
}

/// A new key.
pub(crate) fn generate_key() -> [u8; KEY_BYTES] {
    rand::rng().random()
}
