//! Webhooks of Git servers. One is only a hint that something was pushed: its body is verified and not read, and the refs are checked
//! as if they were due.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::{Error, Hub};

/// How a webhook proves that it is from the Git server.
#[derive(Clone, Copy)]
pub enum WebhookSignature<'a> {
    /// HMAC-SHA256 of the body, as `sha256=` and hex digits: GitHub, Gitea, Forgejo.
    Hmac(&'a str),
    /// The secret itself: GitLab.
    Token(&'a str),
}

impl Hub {
    /// Verifies a webhook and makes the refs of its repository due.
    ///
    /// # Errors
    /// There is no such repository, it has no webhook, or the signature is wrong: all of them look the same.
    pub async fn receive_git_webhook(
        &self,
        name: &str,
        signature: Option<WebhookSignature<'_>>,
        body: &[u8],
    ) -> Result<(), Error> {
        let mut tx = self.read().await?;
        let row = store::git_repository::get(&mut tx, self.project(), name).await?;
        drop(tx);
        let row = row.filter(|row| {
            let secret = row.webhook_secret.as_deref();
            secret.zip(signature).is_some_and(|(secret, signature)| is_valid(secret, signature, body))
        });
        let wrong = "The signature of the webhook is missing or wrong, or there is no such webhook.";
        let row = row.ok_or(Error::Unauthenticated(wrong))?;
        self.make_git_refs_due(&row.url).await
    }
}

fn is_valid(secret: &str, signature: WebhookSignature<'_>, body: &[u8]) -> bool {
    match signature {
        WebhookSignature::Token(token) => token.as_bytes().ct_eq(secret.as_bytes()).into(),
        WebhookSignature::Hmac(text) => {
            let expected = text.strip_prefix("sha256=").and_then(|digits| hex::decode(digits).ok());
            let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes());
            let (Some(expected), Ok(mac)) = (expected, mac) else { return false };
            mac.chain_update(body).verify_slice(&expected).is_ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_for_one_secret_and_one_body() {
        // From GitHub's documentation.
        let secret = "It's a Secret to Everybody";
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let hmac = WebhookSignature::Hmac(signature);
        assert!(is_valid(secret, hmac, b"Hello, World!"));
        assert!(!is_valid(secret, hmac, b"Hello, World"));
        assert!(!is_valid("another", hmac, b"Hello, World!"));
        assert!(!is_valid(secret, WebhookSignature::Hmac("sha256="), b"Hello, World!"));
        assert!(!is_valid(secret, WebhookSignature::Hmac(secret), b"Hello, World!"));
        assert!(is_valid(secret, WebhookSignature::Token(secret), b""));
        assert!(!is_valid(secret, WebhookSignature::Token(""), b""));
    }
}
