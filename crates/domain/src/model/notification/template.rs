//! What a template for the messages of a channel can contain. It is evaluated by the server only.

use serde::{Deserialize, Serialize};

use super::text::{describe_change, title_of_incident};
use super::{ChannelKind, IncidentMessage, MessageContent, MessageKind, PublishMessage, PublishOutcome};
use crate::kubernetes::id::{IncidentId, OperationId};
use crate::kubernetes::time::Timestamp;
use crate::model::incident::{IncidentKind, IncidentState, IncidentSummary, PrecedingChange};

/// Largest template, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 8 << 10;
/// Longest text that a template may make, in bytes.
pub const MAX_TEMPLATE_TEXT_BYTES: usize = 16 << 10;
/// Most items of a list that a template sees; the rest is counted.
pub const MAX_TEMPLATE_ITEMS: usize = 100;
/// The variables that are texts. What is not known is empty.
pub const TEMPLATE_TEXTS: [&str; 16] = [
    "event",
    "title",
    "workload",
    "kind",
    "reason",
    "cause",
    "object",
    "container",
    "pod",
    "hint",
    "change",
    "since",
    "closed_at",
    "acknowledged_by",
    "cluster_count",
    "link",
];
/// The variables that are lists.
pub const TEMPLATE_LISTS: [&str; 2] = ["clusters", "owners"];
/// The filters.
pub const TEMPLATE_FILTERS: [&str; 4] = ["upper", "lower", "trim", "length"];

/// The values of the variables for one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageValues {
    /// In the order of [`TEMPLATE_TEXTS`].
    pub texts: [String; 16],
    /// In the order of [`TEMPLATE_LISTS`], each with at most [`MAX_TEMPLATE_ITEMS`] items and one that counts the rest.
    pub lists: [Vec<String>; 2],
}

impl MessageValues {
    /// Those of a message. `link` is the address of the incident or the operation in the console, empty if that is not known.
    pub fn of_message(content: &MessageContent, link: &str) -> Self {
        match content {
            MessageContent::Incident(message) => Self::of_incident(message, link),
            MessageContent::Publish(message) => Self::of_publish(message, link),
        }
    }

    fn of_incident(message: &IncidentMessage, link: &str) -> Self {
        let incident = &message.incident;
        let texts = [
            message.kind.as_str().to_owned(),
            title_of_incident(message),
            incident.workload.clone(),
            incident.kind.as_str().to_owned(),
            incident.reason.clone(),
            incident.cause.clone(),
            incident.object.clone(),
            incident.container.clone(),
            incident.pod.clone(),
            incident.hint.clone(),
            describe_change(incident),
            incident.since.to_string(),
            incident.closed_at.map(|at| at.to_string()).unwrap_or_default(),
            incident.acknowledged_by.clone().unwrap_or_default(),
            incident.clusters.len().to_string(),
            link.to_owned(),
        ];
        let lists = [&incident.clusters, &message.owners].map(|items| limit(items, items.len()));
        Self { texts, lists }
    }

    /// The reason is the outcome, the clusters are those that it is about, and the owner is who published. `cluster_count` is their
    /// number, or that of all clusters if it is about none in particular.
    fn of_publish(message: &PublishMessage, link: &str) -> Self {
        let (revision, publisher) = (message.revision, message.publisher.clone());
        let clusters = if message.affected_count > 0 { message.affected_count } else { message.clusters };
        let texts = [
            MessageKind::PublishEnded.as_str().to_owned(),
            message.headline(),
            message.workload.clone(),
            "publish".to_owned(),
            message.outcome.as_str().to_owned(),
            message.cause.clone(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            format!("Revision {revision} was published. ({publisher}, {})", message.started_at),
            message.started_at.to_string(),
            message.at.to_string(),
            String::new(),
            clusters.to_string(),
            link.to_owned(),
        ];
        let affected = usize::try_from(message.affected_count).unwrap_or(usize::MAX);
        Self { texts, lists: [limit(&message.affected, affected), vec![publisher]] }
    }
}

/// The first of these items, and one that counts the rest of `all`.
fn limit(items: &[String], all: usize) -> Vec<String> {
    let mut shown: Vec<String> = items.iter().take(MAX_TEMPLATE_ITEMS).cloned().collect();
    if all > shown.len() {
        shown.push(format!("… {} more", all - shown.len()));
    }
    shown
}

/// What a channel would send about a sample incident, or the end of a sample publish.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TemplatePreviewRequest {
    /// The kind of channel.
    #[serde(default)]
    pub kind: ChannelKind,
    /// The template; the built-in text without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub template: String,
    /// What the message is about; without it, an incident that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<MessageKind>,
}

/// A sample message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TemplatePreview {
    /// The text of the template, as the channel sends it; empty without one.
    pub text: String,
    /// What is sent: the body as JSON; of an e-mail its subject, its text and its HTML.
    pub body: String,
}

/// The template of a channel, or its removal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelTemplate {
    /// The template; empty for the built-in text.
    pub template: String,
}

/// A message about an incident that does not exist, with markup of each receiver in it.
pub fn sample_message(kind: MessageKind, now: Timestamp) -> IncidentMessage {
    let is_closed = kind == MessageKind::Closed;
    let opened_at = now.plus_millis(-600_000);
    let incident = IncidentSummary {
        id: IncidentId::from_parts(1, 1),
        workload: "shop-web".to_owned(),
        kind: IncidentKind::Failure,
        state: if is_closed { IncidentState::Closed } else { IncidentState::Open },
        clusters: ["eu-west-1", "eu-west-2", "us-east-1"].map(str::to_owned).to_vec(),
        cluster_details: Vec::new(),
        cause: "Deployment shop/web: cannot pull image \"registry.example.com/web:9\" <not found>".to_owned(),
        reason: "ImagePullFailed".to_owned(),
        object: "Deployment shop/web".to_owned(),
        container: "web".to_owned(),
        pod: "web-7f9c-x1".to_owned(),
        hint: "Correct the image, or roll back.".to_owned(),
        preceding_change: Some(PrecedingChange {
            message: "Revision 9 was published.".to_owned(),
            actor: "ana".to_owned(),
            at: opened_at,
            revision: Some(9),
            cluster: String::new(),
        }),
        since: opened_at,
        opened_at,
        closed_at: is_closed.then_some(now),
        duration_seconds: is_closed.then_some(600),
        acknowledged_by: (kind == MessageKind::Updated).then(|| "ben".to_owned()),
        acknowledged_at: (kind == MessageKind::Updated).then_some(now),
    };
    IncidentMessage { kind, incident, owners: vec!["team-shop".to_owned()], at: now }
}

/// A message of this kind about an incident or a publish that does not exist.
pub fn sample_content(kind: MessageKind, now: Timestamp) -> MessageContent {
    if kind != MessageKind::PublishEnded {
        return MessageContent::Incident(Box::new(sample_message(kind, now)));
    }
    MessageContent::Publish(PublishMessage {
        outcome: PublishOutcome::Failed,
        operation: OperationId::from_parts(1, 1),
        workload: "shop-web".to_owned(),
        revision: 9,
        publisher: "ana".to_owned(),
        clusters: 3,
        operational: 2,
        affected: vec!["eu-west-1".to_owned()],
        affected_count: 1,
        cause: "Deployment shop/web: cannot pull image \"registry.example.com/web:9\" <not found>".to_owned(),
        started_at: now.plus_millis(-600_000),
        at: now,
    })
}
