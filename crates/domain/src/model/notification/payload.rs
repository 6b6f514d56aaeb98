//! The body of a message, as the receiver of each kind of channel expects it.

use serde_json::{Value, json};

use super::email::build_email;
use super::text::{escape_slack, facts, title};
use super::{ChannelKind, IncidentMessage, MessageKind};
use crate::kubernetes::id::DeliveryId;
use crate::model::incident::IncidentKind;

/// Longest summary that PagerDuty accepts, in characters.
const MAX_SUMMARY_CHARS: usize = 1_000;

/// A body to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePayload {
    /// Its media type.
    pub content_type: &'static str,
    /// The body.
    pub body: Value,
    /// What follows the address of the channel; empty for most kinds.
    pub path: &'static str,
}

/// The body of a message; of an e-mail its subject and texts, which are sent over SMTP. `link` is the address of the incident in the
/// console, `secret` the integration key of PagerDuty.
pub fn build_payload(
    kind: ChannelKind,
    id: DeliveryId,
    message: &IncidentMessage,
    (link, secret): (&str, &str),
) -> MessagePayload {
    let (content_type, body) = match kind {
        ChannelKind::Webhook => ("application/cloudevents+json", cloud_event(id, message, link)),
        ChannelKind::Slack => ("application/json", json!({"text": slack_text(message, link)})),
        ChannelKind::Teams => ("application/json", teams_card(message, link)),
        ChannelKind::Alertmanager => ("application/json", json!([alert(message, link)])),
        ChannelKind::Pagerduty => ("application/json", pagerduty_event(message, link, secret)),
        ChannelKind::Email => ("application/json", json!(build_email(message, link))),
    };
    let path = if kind == ChannelKind::Alertmanager { "/api/v2/alerts" } else { "" };
    MessagePayload { content_type, body, path }
}

impl MessagePayload {
    /// The same with the text of a template, where the receivers of this kind show it. An e-mail is made of its text as a whole.
    #[must_use]
    pub fn with_text(mut self, kind: ChannelKind, text: &str) -> Self {
        let body = &mut self.body;
        match kind {
            ChannelKind::Webhook => body["data"]["text"] = json!(text),
            ChannelKind::Slack | ChannelKind::Email => body["text"] = json!(text),
            ChannelKind::Teams => {
                let block = json!({"type": "TextBlock", "text": text, "wrap": true});
                body["attachments"][0]["content"]["body"] = json!([block]);
            }
            ChannelKind::Alertmanager => body[0]["annotations"]["description"] = json!(text),
            ChannelKind::Pagerduty => {
                body["payload"]["summary"] = json!(text.chars().take(MAX_SUMMARY_CHARS).collect::<String>());
            }
        }
        self
    }
}

/// CloudEvents 1.0 in structured mode.
fn cloud_event(id: DeliveryId, message: &IncidentMessage, link: &str) -> Value {
    let incident = &message.incident;
    json!({
        "specversion": "1.0",
        "id": id.to_string(),
        "source": format!("/flotilla/incidents/{}", incident.id),
        "type": format!("dev.flotilla.incident.{}", message.kind.as_str()),
        "subject": incident.workload,
        "time": message.at.to_string(),
        "datacontenttype": "application/json",
        "data": {"incident": incident, "owners": message.owners, "url": link},
    })
}

fn slack_text(message: &IncidentMessage, link: &str) -> String {
    let facts = facts(&message.incident);
    let lines = facts.iter().map(|(name, text)| format!("*{name}:* {}", escape_slack(text)));
    let title = escape_slack(&title(message));
    let head = if link.is_empty() { format!("*{title}*") } else { format!("*<{link}|{title}>*") };
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}

/// An adaptive card for the workflow "Post to a channel when a webhook request is received".
fn teams_card(message: &IncidentMessage, link: &str) -> Value {
    let facts = facts(&message.incident);
    let facts: Vec<Value> = facts.iter().map(|(name, text)| json!({"title": name, "value": text})).collect();
    let open = json!({"type": "Action.OpenUrl", "title": "Open", "url": link});
    let actions = if link.is_empty() { json!([]) } else { json!([open]) };
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": [
                    {"type": "TextBlock", "text": title(message), "weight": "bolder", "wrap": true},
                    {"type": "FactSet", "facts": facts},
                ],
                "actions": actions,
            },
        }],
    })
}

/// An alert of the API v2. Its labels identify it, so they are equal in every message of an incident.
fn alert(message: &IncidentMessage, link: &str) -> Value {
    let incident = &message.incident;
    let ends_at = match message.kind {
        MessageKind::Test => Some(message.at),
        _ => incident.closed_at,
    };
    let mut alert = json!({
        "labels": {
            "alertname": "FlotillaIncident",
            "incident": incident.id.to_string(),
            "workload": incident.workload,
            "reason": incident.reason,
        },
        "annotations": {
            "summary": title(message),
            "description": incident.cause,
            "clusters": incident.cluster_text(),
            "runbook": incident.hint,
        },
        "startsAt": incident.since.to_string(),
        "generatorURL": link,
    });
    if let Some(ends_at) = ends_at {
        alert["endsAt"] = json!(ends_at.to_string());
    }
    alert
}

/// Only a failure is an error: with the others the workload runs, and a person has to look at it.
const fn pagerduty_severity(message: &IncidentMessage) -> &'static str {
    match (message.kind, message.incident.kind) {
        (MessageKind::Test, _) => "info",
        (_, IncidentKind::Failure) => "error",
        (_, _) => "warning",
    }
}

/// An event of the API v2. The incident is the deduplication key.
fn pagerduty_event(message: &IncidentMessage, link: &str, key: &str) -> Value {
    let incident = &message.incident;
    let action = match message.kind {
        MessageKind::Closed => "resolve",
        MessageKind::Updated if incident.acknowledged_by.is_some() => "acknowledge",
        _ => "trigger",
    };
    let links = if link.is_empty() { json!([]) } else { json!([{"href": link, "text": "Incident"}]) };
    let details: serde_json::Map<String, Value> =
        facts(incident).into_iter().map(|(name, text)| (name.to_owned(), Value::from(text))).collect();
    json!({
        "routing_key": key,
        "event_action": action,
        "dedup_key": incident.id.to_string(),
        "client": "Flotilla",
        "links": links,
        "payload": {
            "summary": title(message).chars().take(MAX_SUMMARY_CHARS).collect::<String>(),
            "source": incident.workload,
            "severity": pagerduty_severity(message),
            "timestamp": incident.since.to_string(),
            "component": incident.object,
            "class": incident.reason,
            "custom_details": details,
        },
    })
}
