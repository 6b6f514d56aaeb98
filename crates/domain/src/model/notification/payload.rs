//! The body of a message, as the receiver of each kind of channel expects it.

use serde_json::{Value, json};

use super::email::build_email;
use super::text::{escape_slack, facts, facts_of_incident, title, title_of_incident};
use super::{ChannelKind, IncidentMessage, MessageContent, MessageKind, PublishMessage};
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

/// The body of a message; of an e-mail its subject and texts, which are sent over SMTP. `link` is the address of the incident or the
/// operation in the console, `secret` the integration key of PagerDuty.
pub fn build_payload(
    kind: ChannelKind,
    id: DeliveryId,
    content: &MessageContent,
    (link, secret): (&str, &str),
) -> MessagePayload {
    let path = if kind == ChannelKind::Alertmanager { "/api/v2/alerts" } else { "" };
    let (content_type, body) = match (kind, content) {
        (ChannelKind::Webhook, MessageContent::Incident(message)) => {
            (CLOUD_EVENT, cloud_event(id, message, link))
        }
        (ChannelKind::Alertmanager, MessageContent::Incident(message)) => {
            (JSON, json!([alert(message, link)]))
        }
        (ChannelKind::Pagerduty, MessageContent::Incident(message)) => {
            (JSON, pagerduty_event(message, link, secret))
        }
        (ChannelKind::Slack, _) => {
            (JSON, json!({"text": slack_text(&title(content), &facts(content), link)}))
        }
        (ChannelKind::Teams, _) => (JSON, teams_card(&title(content), &facts(content), link)),
        (ChannelKind::Email, _) => (JSON, json!(build_email(content, link))),
        // Channels of alerts are rejected for publishes.
        (_, MessageContent::Publish(message)) => (CLOUD_EVENT, publish_event(id, message, link)),
    };
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

const JSON: &str = "application/json";
const CLOUD_EVENT: &str = "application/cloudevents+json";

/// The end of a publish as CloudEvents 1.0 in structured mode.
fn publish_event(id: DeliveryId, message: &PublishMessage, link: &str) -> Value {
    json!({
        "specversion": "1.0",
        "id": id.to_string(),
        "source": format!("/flotilla/operations/{}", message.operation),
        "type": format!("dev.flotilla.publish.{}", message.outcome.as_str()),
        "subject": message.workload,
        "time": message.at.to_string(),
        "datacontenttype": JSON,
        "data": {"publish": message, "message": message.headline(), "url": link},
    })
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
        "datacontenttype": JSON,
        "data": {"incident": incident, "owners": message.owners, "url": link},
    })
}

fn slack_text(title: &str, facts: &[(&'static str, String)], link: &str) -> String {
    let lines = facts.iter().map(|(name, text)| format!("*{name}:* {}", escape_slack(text)));
    let title = escape_slack(title);
    let head = if link.is_empty() { format!("*{title}*") } else { format!("*<{link}|{title}>*") };
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}

/// An adaptive card for the workflow "Post to a channel when a webhook request is received".
fn teams_card(title: &str, facts: &[(&'static str, String)], link: &str) -> Value {
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
                    {"type": "TextBlock", "text": title, "weight": "bolder", "wrap": true},
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
            "summary": title_of_incident(message),
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
    let details: serde_json::Map<String, Value> = facts_of_incident(incident)
        .into_iter()
        .map(|(name, text)| (name.to_owned(), Value::from(text)))
        .collect();
    json!({
        "routing_key": key,
        "event_action": action,
        "dedup_key": incident.id.to_string(),
        "client": "Flotilla",
        "links": links,
        "payload": {
            "summary": title_of_incident(message).chars().take(MAX_SUMMARY_CHARS).collect::<String>(),
            "source": incident.workload,
            "severity": pagerduty_severity(message),
            "timestamp": incident.since.to_string(),
            "component": incident.object,
            "class": incident.reason,
            "custom_details": details,
        },
    })
}
