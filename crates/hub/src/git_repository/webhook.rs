//! Webhooks of Git servers. One is only a hint that something was pushed: its body is verified while it arrives and not read, and the
//! refs are checked as if they were due.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::{Error, Hub};

/// Bytes of an HMAC-SHA256.
const HMAC_BYTES: usize = 32;

/// How a webhook proves that it is from the Git server.
#[derive(Clone, Copy)]
pub enum WebhookSignature<'a> {
    /// HMAC-SHA256 of the body, as `sha256=` and hex digits: GitHub, Gitea, Forgejo.
    Hmac(&'a str),
    /// The secret itself: GitLab.
    Token(&'a str),
}

/// A webhook whose body is still being received. Anyone can send one, so that its body is never in memory as a whole.
pub struct WebhookVerification {
    /// The URL of the repository; `None` if there is no such webhook, which is told only at the end, as a wrong signature is.
    url: Option<String>,
    proof: Proof,
}

/// What is compared when the body is complete.
enum Proof {
    Hmac { mac: Box<Hmac<Sha256>>, expected: Vec<u8> },
    Token { is_right: bool },
}

impl WebhookVerification {
    /// Adds the next part of the body.
    pub fn update(&mut self, part: &[u8]) {
        if let Proof::Hmac { mac, .. } = &mut self.proof {
            mac.update(part);
        }
    }

    /// The URL of the repository, if the body is as it was signed.
    fn finish(self) -> Option<String> {
        let is_valid = match self.proof {
            Proof::Hmac { mac, expected } => mac.verify_slice(&expected).is_ok(),
            Proof::Token { is_right } => is_right,
        };
        self.url.filter(|_| is_valid)
    }
}

impl Hub {
    /// Begins to verify a webhook, before its body is received.
    ///
    /// # Errors
    /// It has no signature, or none that could be right.
    pub async fn begin_git_webhook(
        &self,
        name: &str,
        signature: Option<WebhookSignature<'_>>,
    ) -> Result<WebhookVerification, Error> {
        let signature = signature.filter(is_well_formed).ok_or_else(wrong_signature)?;
        let mut tx = self.read().await?;
        let row = store::git_repository::get(&mut tx, self.project(), name).await?;
        drop(tx);
        let webhook = row.and_then(|row| Some((row.url, row.webhook_secret?)));
        let (url, secret) = webhook.map_or((None, String::new()), |(url, secret)| (Some(url), secret));
        let proof = begin_proof(&secret, signature).ok_or_else(wrong_signature)?;
        Ok(WebhookVerification { url, proof })
    }

    /// Makes the refs of the repository due, if the webhook is from its Git server.
    ///
    /// # Errors
    /// There is no such repository, it has no webhook, or the signature is wrong: all of them look the same.
    pub async fn finish_git_webhook(&self, verification: WebhookVerification) -> Result<(), Error> {
        let url = verification.finish().ok_or_else(wrong_signature)?;
        self.make_git_refs_due(&url).await
    }
}

fn wrong_signature() -> Error {
    Error::Unauthenticated("The signature of the webhook is missing or wrong, or there is no such webhook.")
}

/// Whether a signature has the form of one, whatever it signs.
fn is_well_formed(signature: &WebhookSignature<'_>) -> bool {
    match signature {
        WebhookSignature::Token(token) => !token.is_empty(),
        WebhookSignature::Hmac(text) => decode_hmac(text).is_some_and(|code| code.len() == HMAC_BYTES),
    }
}

fn decode_hmac(text: &str) -> Option<Vec<u8>> {
    text.strip_prefix("sha256=").and_then(|digits| hex::decode(digits).ok())
}

fn begin_proof(secret: &str, signature: WebhookSignature<'_>) -> Option<Proof> {
    match signature {
        WebhookSignature::Token(token) => {
            Some(Proof::Token { is_right: token.as_bytes().ct_eq(secret.as_bytes()).into() })
        }
        WebhookSignature::Hmac(text) => {
            let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
            Some(Proof::Hmac { mac: Box::new(mac), expected: decode_hmac(text)? })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a webhook with this secret is accepted, if its body arrives in parts.
    fn is_valid(secret: &str, signature: WebhookSignature<'_>, parts: &[&[u8]]) -> bool {
        if !is_well_formed(&signature) {
            return false;
        }
        let url = Some("https://git.example.com/team/deploy".to_owned());
        let mut verification = WebhookVerification { url, proof: begin_proof(secret, signature).unwrap() };
        parts.iter().for_each(|part| verification.update(part));
        verification.finish().is_some()
    }

    #[test]
    fn a_signature_is_for_one_secret_and_one_body_in_whatever_parts_it_arrives() {
        // From GitHub's documentation.
        let secret = "It's a Secret to Everybody";
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let hmac = WebhookSignature::Hmac(signature);
        assert!(is_valid(secret, hmac, &[b"Hello, World!"]));
        assert!(is_valid(secret, hmac, &[b"Hello", b", ", b"World!"]));
        assert!(!is_valid(secret, hmac, &[b"Hello, World"]));
        assert!(!is_valid("another", hmac, &[b"Hello, World!"]));
        assert!(!is_valid(secret, WebhookSignature::Hmac("sha256="), &[b"Hello, World!"]));
        assert!(!is_valid(secret, WebhookSignature::Hmac(secret), &[b"Hello, World!"]));
        assert!(is_valid(secret, WebhookSignature::Token(secret), &[]));
        assert!(!is_valid(secret, WebhookSignature::Token(""), &[]));
    }

    #[test]
    fn a_webhook_that_does_not_exist_is_never_valid() {
        let token = WebhookSignature::Token("secret");
        let proof = begin_proof("secret", token).unwrap();
        assert_eq!(WebhookVerification { url: None, proof }.finish(), None);
    }
}
