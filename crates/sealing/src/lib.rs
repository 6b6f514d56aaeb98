//! XChaCha20-Poly1305 with random nonces, which are long enough never to repeat.
//!
//! A crate of its own: the cipher is generic code, which is compiled where it is used, and the test programs encrypt hundreds of MiB.
//! The profile `dev` optimises it here.

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use rand::Rng as _;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Bytes of a nonce.
const NONCE_BYTES: usize = 24;

/// A key, ready for use. The cipher clears its memory when it is dropped.
#[derive(Clone)]
pub struct Cipher(XChaCha20Poly1305);

impl Cipher {
    /// The cipher with this key.
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    /// Nonce and ciphertext. `place` is authenticated, and needed to decrypt.
    pub fn encrypt(&self, place: &[u8], content: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_BYTES] = rand::rng().random();
        let payload = Payload { msg: content, aad: place };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload);
        // Fails only beyond 256 GiB, which no column holds.
        let sealed = sealed.expect("the content is shorter than the limit of the cipher");
        [&nonce[..], &sealed].concat()
    }

    /// The content; `None` if it was encrypted with another key or for another place, or is damaged.
    pub fn decrypt(&self, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        self.0.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: place }).ok()
    }
}

/// A new key.
pub fn generate_key() -> [u8; KEY_BYTES] {
    rand::rng().random()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_decrypted_only_with_its_key_at_its_place_and_unchanged() {
        let cipher = Cipher::new(&generate_key());
        let sealed = cipher.encrypt(b"a", b"content");
        assert_eq!(cipher.decrypt(b"a", &sealed).as_deref(), Some(&b"content"[..]));
        assert_eq!(cipher.decrypt(b"b", &sealed), None);
        assert_eq!(Cipher::new(&generate_key()).decrypt(b"a", &sealed), None);
        let mut damaged = sealed.clone();
        damaged[NONCE_BYTES] ^= 1;
        assert_eq!(cipher.decrypt(b"a", &damaged), None);
        assert_eq!(cipher.decrypt(b"a", &sealed[..NONCE_BYTES - 1]), None);
        assert_ne!(cipher.encrypt(b"a", b"content"), sealed, "each has a nonce of its own");
    }
}
