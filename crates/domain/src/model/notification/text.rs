//! What the messages of all channels say, before it is written for one of them.

use super::{IncidentMessage, MessageContent, MessageKind};
use crate::model::incident::IncidentSummary;

/// What happened, in one line.
pub(super) fn title(content: &MessageContent) -> String {
    match content {
        MessageContent::Incident(message) => title_of_incident(message),
        MessageContent::Publish(message) => message.headline(),
    }
}

/// The rest, each with its name.
pub(super) fn facts(content: &MessageContent) -> Vec<(&'static str, String)> {
    match content {
        MessageContent::Incident(message) => facts_of_incident(&message.incident),
        MessageContent::Publish(message) => message.facts(),
    }
}

/// What happened to an incident, in one line.
pub(super) fn title_of_incident(message: &IncidentMessage) -> String {
    match message.kind {
        MessageKind::Test => "Test of a channel of Flotilla".to_owned(),
        MessageKind::Updated if message.incident.acknowledged_by.is_some() => {
            let by = message.incident.acknowledged_by.as_deref().unwrap_or_default();
            format!("{}, acknowledged by {by}", message.incident.headline())
        }
        _ => message.incident.headline(),
    }
}

/// The change before the incident; empty if none is known.
pub(super) fn describe_change(incident: &IncidentSummary) -> String {
    let change = incident.preceding_change.as_ref();
    change.map(|change| format!("{} ({}, {})", change.message, change.actor, change.at)).unwrap_or_default()
}

/// The rest of an incident: what, where, since when, what changed before, what to do.
pub(super) fn facts_of_incident(incident: &IncidentSummary) -> Vec<(&'static str, String)> {
    let all = [
        ("Cause", incident.cause.clone()),
        ("Clusters", incident.cluster_text()),
        ("Since", incident.since.to_string()),
        ("Change before", describe_change(incident)),
        ("What to do", incident.hint.clone()),
    ];
    all.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// Text for `mrkdwn`, which has three characters with a meaning: they mark links and mentions.
pub fn escape_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text for HTML, also in an attribute in quotes.
pub(super) fn escape_html(text: &str) -> String {
    escape_slack(text).replace('"', "&quot;").replace('\'', "&#39;")
}
