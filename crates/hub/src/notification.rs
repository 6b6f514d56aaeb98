//! Notifications: channels, subscriptions, the outbox, and the delivery of what is in it.

use std::sync::OnceLock;

use domain::DeliveryId;
use domain::notification::{ChannelKind, MessageContent, MessageKind, build_email, build_email_of_text};
use futures::future::BoxFuture;
use store::channel::ChannelRow;

use crate::Hub;

mod channel;
mod deliver;
mod email;
mod outbox;
mod outbox_message;
mod publish;
mod request;
mod subscription;
mod template;

use email::build_email_request;
use request::build_request;
use template::render_template;

pub use email::EmailRequest;
pub use request::MessageRequest;

/// Sends messages to addresses that users choose. The server implements it; tests replace it.
pub trait MessageSender: Send + Sync {
    /// Sends a request; returns the status of the response.
    ///
    /// # Errors
    /// There is no response, or the address may not be connected to: a sentence that contains no secret.
    fn send(&self, request: MessageRequest) -> BoxFuture<'_, Result<u16, String>>;

    /// Sends an e-mail. It returns once the mail server has accepted it for all recipients.
    ///
    /// # Errors
    /// The mail server did not accept it, or may not be connected to.
    fn send_email(&self, email: EmailRequest) -> BoxFuture<'_, Result<(), SendFailure>> {
        let message = format!("No e-mail can be sent to {} from here.", email.settings.url());
        Box::pin(async move { Err(SendFailure { message, is_about_message: false }) })
    }
}

/// How this server sends messages.
#[derive(Default)]
pub(crate) struct NotificationSettings {
    sender: OnceLock<Box<dyn MessageSender>>,
    console_url: OnceLock<String>,
}

impl Hub {
    /// Sets what sends messages. Without it, messages wait.
    pub fn set_message_sender(&self, sender: impl MessageSender + 'static) {
        if self.notification_settings().sender.set(Box::new(sender)).is_err() {
            tracing::warn!("the sender of messages was set before; the first one is used");
        }
    }

    /// Sets the address of the console, which messages lead to.
    pub fn set_console_url(&self, url: &str) {
        if self.notification_settings().console_url.set(url.trim_end_matches('/').to_owned()).is_err() {
            tracing::warn!("the address of the console was set before; the first one is used");
        }
    }

    /// The address of the console, without a slash at the end; empty before it is set.
    pub(crate) fn console_url(&self) -> &str {
        self.notification_settings().console_url.get().map_or("", String::as_str)
    }

    /// Sends a message to a channel; returns what was different about it. A template that fails is replaced by the built-in text.
    async fn send_message(
        &self,
        channel: &ChannelRow,
        id: DeliveryId,
        content: &MessageContent,
    ) -> Result<Option<String>, SendFailure> {
        let Some(sender) = self.notification_settings().sender.get() else {
            let message = "This server sends no messages. Start it without --notifications off.".to_owned();
            return Err(SendFailure { message, is_about_message: false });
        };
        let now = self.clock().now();
        let link = self.link_of(content);
        let (text, note) = match render_text(channel, content, &link) {
            Ok(text) => (text, None),
            Err(note) => (None, Some(note)),
        };
        if channel.kind == ChannelKind::Email {
            let Some(settings) = &channel.email else {
                let message = "The channel has no mail server. Delete it, and create it again.".to_owned();
                return Err(SendFailure { message, is_about_message: false });
            };
            let texts = match text {
                Some(text) => build_email_of_text(content, &text, &link),
                None => build_email(content, &link),
            };
            let email = build_email_request(channel, settings, id, (content, texts), now);
            return sender.send_email(email).await.map(|()| note);
        }
        let request = build_request(channel, id, content, (&link, text.as_deref(), now));
        match sender.send(request).await {
            Ok(200..=299) => Ok(note),
            Ok(status) => Err(SendFailure {
                message: format!("The receiver answered with status {status}."),
                is_about_message: matches!(status, 400 | 413 | 422),
            }),
            Err(message) => Err(SendFailure { message, is_about_message: false }),
        }
    }

    /// The address in the console of what a message is about; empty for a test, or if it is not known.
    fn link_of(&self, content: &MessageContent) -> String {
        match content {
            MessageContent::Incident(message) if message.kind == MessageKind::Test => String::new(),
            MessageContent::Incident(message) => self.incident_link(message.incident.id),
            MessageContent::Publish(message) => self.operation_link(&message.workload, message.operation),
        }
    }
}

/// The text of the channel's template for a message; `None` if it has none.
///
/// # Errors
/// The template fails: a sentence for the record of the message.
fn render_text(channel: &ChannelRow, content: &MessageContent, link: &str) -> Result<Option<String>, String> {
    let Some(template) = &channel.template else { return Ok(None) };
    match render_template(channel.kind, template, content, link) {
        Ok(text) => Ok(Some(text)),
        Err(fault) => {
            let (channel, line) = (channel.name.as_str(), fault.line);
            tracing::warn!(
                channel,
                line,
                reason = fault.message,
                "a template failed; the built-in text is sent"
            );
            Err(format!("Line {line} of the template failed: {} The built-in text was sent.", fault.message))
        }
    }
}

/// Why a message was not delivered. What the receiver answered is no part of it: it can be a server that users may not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendFailure {
    /// A sentence for people.
    pub message: String,
    /// Whether only this message was rejected: others can still be delivered.
    pub is_about_message: bool,
}
