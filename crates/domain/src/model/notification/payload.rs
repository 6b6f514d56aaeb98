//! The body of a message, as the receiver of each kind of channel expects it.

use serde_json::{Value, json};

use super::{ChannelKind, IncidentMessage, MessageContent, MessageKind, PublishMessage};
use crate::kubernetes::id::DeliveryId;
use crate::model::incident::{IncidentKind, IncidentSummary};

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

/// The body of a message. `link` is the address of the incident or the operation in the console, `secret` the integration key of PagerDuty.
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
        (ChannelKind::Slack | ChannelKind::Teams, _) => {
            let (title, facts) = match content {
                MessageContent::Incident(message) => (title(message), facts(&message.incident)),
                MessageContent::Publish(message) => (message.headline(), message.facts()),
            };
            let is_slack = kind == ChannelKind::Slack;
            let body = if is_slack {
                json!({"text": slack_text(&title, &facts, link)})
            } else {
                teams_card(&title, &facts, link)
            };
            (JSON, body)
        }
        // Channels of alerts are rejected for publishes.
        (_, MessageContent::Publish(message)) => (CLOUD_EVENT, publish_event(id, message, link)),
    };
    MessagePayload { content_type, body, path }
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
        "datacontenttype": "application/json",
        "data": {"incident": incident, "owners": message.owners, "url": link},
    })
}

/// What happened, in one line.
fn title(message: &IncidentMessage) -> String {
    match message.kind {
        MessageKind::Test => "Test of a channel of Flotilla".to_owned(),
        MessageKind::Updated if message.incident.acknowledged_by.is_some() => {
            let by = message.incident.acknowledged_by.as_deref().unwrap_or_default();
            format!("{}, acknowledged by {by}", message.incident.headline())
        }
        _ => message.incident.headline(),
    }
}

/// The rest: what, where, since when, what changed before, what to do.
fn facts(incident: &IncidentSummary) -> Vec<(&'static str, String)> {
    let change = incident.preceding_change.as_ref();
    let change = change.map(|change| format!("{} ({}, {})", change.message, change.actor, change.at));
    let all = [
        ("Cause", incident.cause.clone()),
        ("Clusters", incident.cluster_text()),
        ("Since", incident.since.to_string()),
        ("Change before", change.unwrap_or_default()),
        ("What to do", incident.hint.clone()),
    ];
    all.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// `mrkdwn` has three characters with a meaning, which mark links and mentions.
fn escape_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
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
            "summary": title(message).chars().take(1_000).collect::<String>(),
            "source": incident.workload,
            "severity": pagerduty_severity(message),
            "timestamp": incident.since.to_string(),
            "component": incident.object,
            "class": incident.reason,
            "custom_details": details,
        },
    })
}
