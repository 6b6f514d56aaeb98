//! The request for one message: address, headers with its signature, and body.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use domain::notification::{ChannelKind, MessageContent, build_payload};
use domain::{DeliveryId, Timestamp};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use store::channel::ChannelRow;

/// A request that sends a message.
#[derive(Clone, PartialEq, Eq)]
pub struct MessageRequest {
    /// Where to.
    pub url: String,
    /// The media type of the body.
    pub content_type: &'static str,
    /// Further headers; they contain a signature and no secret.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The request for a message to a channel, with the text of its template if it has one. The signature is by the rules of Standard
/// Webhooks.
pub(super) fn build_request(
    channel: &ChannelRow,
    id: DeliveryId,
    content: &MessageContent,
    (link, text, now): (&str, Option<&str>, Timestamp),
) -> MessageRequest {
    let secret = channel.secret.as_deref().unwrap_or_default();
    let mut payload = build_payload(channel.kind, id, content, (link, secret));
    if let Some(text) = text {
        payload = payload.with_text(channel.kind, text);
    }
    let body = serde_json::to_vec(&payload.body).unwrap_or_default();
    let mut headers = Vec::new();
    if channel.kind == ChannelKind::Webhook {
        let (id, seconds) = (id.to_string(), (now.millis() / 1_000).to_string());
        if let Some(signature) = sign(secret, &id, &seconds, &body) {
            headers.push(("webhook-signature", signature));
        }
        headers.extend([("webhook-id", id), ("webhook-timestamp", seconds)]);
    }
    let target = channel.target.trim_end_matches('/');
    let url = match payload.path {
        "" => channel.target.clone(),
        path if target.ends_with(path) => target.to_owned(),
        path => format!("{target}{path}"),
    };
    MessageRequest { url, content_type: payload.content_type, headers, body }
}

/// The value of `webhook-signature`; `None` without a secret. A secret that begins with `whsec_` is base64, another one is its bytes.
fn sign(secret: &str, id: &str, seconds: &str, body: &[u8]) -> Option<String> {
    if secret.is_empty() {
        return None;
    }
    let decoded = secret.strip_prefix("whsec_").and_then(|text| BASE64_STANDARD.decode(text).ok());
    let key = decoded.unwrap_or_else(|| secret.as_bytes().to_vec());
    let mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    let mac =
        mac.chain_update(id).chain_update(".").chain_update(seconds).chain_update(".").chain_update(body);
    Some(format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_signed_by_the_rules_of_standard_webhooks() {
        // From the documentation of Standard Webhooks.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#;
        let signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body);
        assert_eq!(signature.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!(sign("", "id", "1", body), None);
        assert_ne!(sign("any text of 16 bytes", "id", "1", body), sign(secret, "id", "1", body));
    }
}
