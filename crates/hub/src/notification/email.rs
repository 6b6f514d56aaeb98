//! The e-mail for one message: its text, and the ids by which mail programs show the messages about an incident as one conversation; that
//! about a publish is alone.

use domain::notification::{EmailContent, EmailSettings, MessageContent, MessageKind};
use domain::{DeliveryId, Timestamp};
use store::channel::ChannelRow;

/// An e-mail to send.
#[derive(Clone, PartialEq, Eq)]
pub struct EmailRequest {
    /// The mail server and the addresses.
    pub settings: EmailSettings,
    /// The password of the user name, if there is one.
    pub password: Option<String>,
    /// Subject and text.
    pub content: EmailContent,
    /// Its `Message-ID`, the same in every attempt.
    pub message_id: String,
    /// The `Message-ID` of the first message about the incident; `None` if this is it.
    pub in_reply_to: Option<String>,
    /// When it is sent.
    pub at: Timestamp,
}

/// The e-mail for a message to a channel.
pub(super) fn build_email_request(
    channel: &ChannelRow,
    settings: &EmailSettings,
    id: DeliveryId,
    (content, texts): (&MessageContent, EmailContent),
    at: Timestamp,
) -> EmailRequest {
    let domain = settings.sender_domain();
    let of_delivery = format!("<{id}@{domain}>");
    let (message_id, in_reply_to) = match content {
        MessageContent::Publish(_) => (of_delivery, None),
        MessageContent::Incident(message) => {
            // Two channels can have the same recipient, whose mail program drops a second message with the same id.
            let of_incident = format!("<{}.{}@{domain}>", message.incident.id, channel.name);
            match message.kind {
                MessageKind::Opened => (of_incident, None),
                MessageKind::Updated | MessageKind::Closed => (of_delivery, Some(of_incident)),
                MessageKind::Test | MessageKind::PublishEnded => (of_delivery, None),
            }
        }
    };
    EmailRequest {
        settings: settings.clone(),
        password: channel.secret.clone(),
        content: texts,
        message_id,
        in_reply_to,
        at,
    }
}
