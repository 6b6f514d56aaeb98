//! Channels, subscriptions, and the messages about incidents that are sent through them.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::id::{DeliveryId, SubscriptionId};
use crate::kubernetes::labels::{LabelSelector, Labels};
use crate::kubernetes::time::Timestamp;
use crate::model::incident::IncidentSummary;

mod check;
mod payload;
#[cfg(test)]
mod tests;

pub use payload::{MessagePayload, build_payload};

/// The address of PagerDuty's events, for channels that name none.
pub const PAGERDUTY_URL: &str = "https://events.pagerduty.com/v2/enqueue";
/// Most channels of a project.
pub const MAX_CHANNELS: usize = 200;
/// Most subscriptions of a project.
pub const MAX_SUBSCRIPTIONS: usize = 1_000;

/// What a channel sends.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ChannelKind {
    /// A CloudEvent, signed by the rules of Standard Webhooks.
    #[default]
    Webhook,
    /// A message for an incoming webhook of Slack, or of what accepts the same: Mattermost, Rocket.Chat, Discord.
    Slack,
    /// A message for a workflow of Microsoft Teams.
    Teams,
    /// An alert for Alertmanager.
    Alertmanager,
    /// An event for PagerDuty.
    Pagerduty,
}

impl ChannelKind {
    /// Every kind.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON, in the database and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// The name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Webhook => "Webhook",
            Self::Slack => "Slack",
            Self::Teams => "Microsoft Teams",
            Self::Alertmanager => "Alertmanager",
            Self::Pagerduty => "PagerDuty",
        }
    }

    /// Whether the address contains a secret, so that it is never shown as a whole.
    pub const fn has_secret_url(self) -> bool {
        matches!(self, Self::Slack | Self::Teams)
    }
}

/// A channel to create.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewChannel {
    /// Its name.
    pub name: String,
    /// What it sends.
    pub kind: ChannelKind,
    /// Where to; may be omitted for PagerDuty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Signs the messages of a webhook (`whsec_` and base64, or any text); the integration key of PagerDuty. Never shown again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl fmt::Debug for NewChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewChannel")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// A channel, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// What it sends.
    pub kind: ChannelKind,
    /// Where to: scheme and host, and the path if it is no secret.
    pub url: String,
    /// Whether it has a secret.
    #[serde(default)]
    pub has_secret: bool,
    /// Who created it.
    pub created_by: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// Failures in a row.
    #[serde(default)]
    pub failures: u32,
    /// The last failure since the last message that was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it is tried again after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// When a message was last delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
}

/// The result of a test of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChannelTestResult {
    /// Whether the receiver accepted the message.
    pub delivered: bool,
    /// What the receiver answered, or why there is no answer.
    pub message: String,
}

/// The incidents that a subscription is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SubscriptionScope {
    /// Those of the workload with this name.
    Workload(String),
    /// Those of the workloads that this name owns, and those on clusters that it owns.
    Owner(String),
    /// Those of the workloads with labels that match.
    Selector(LabelSelector),
    /// All of the project.
    Project,
}

/// The workload of an incident, as subscriptions select it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentSubject {
    /// Its name.
    pub workload: String,
    /// Its owners.
    pub owners: Vec<String>,
    /// Its labels.
    pub labels: Labels,
    /// The owners of the clusters that the incident is about.
    pub cluster_owners: Vec<String>,
}

impl SubscriptionScope {
    /// Why it does not select this workload, as a sentence; `None` if it does.
    pub fn explain_mismatch(&self, subject: &IncidentSubject) -> Option<String> {
        match self {
            Self::Project => None,
            Self::Workload(name) => (*name != subject.workload)
                .then(|| format!("It is for workload {name}, and the incident is of {}.", subject.workload)),
            Self::Owner(owner) => {
                let is_owner = subject.owners.contains(owner) || subject.cluster_owners.contains(owner);
                let of_clusters = match subject.cluster_owners.as_slice() {
                    [] => String::new(),
                    owners => format!(" Those of the clusters are {}.", owners.join(", ")),
                };
                (!is_owner).then(|| {
                    format!(
                        "{owner} is no owner of {}; its owners are {}.{of_clusters}",
                        subject.workload,
                        subject.owners.join(", ")
                    )
                })
            }
            Self::Selector(selector) => (!selector.matches(&subject.labels))
                .then(|| format!("The labels of {} do not match {selector}.", subject.workload)),
        }
    }
}

impl fmt::Display for SubscriptionScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workload(name) => write!(f, "workload {name}"),
            Self::Owner(name) => write!(f, "owner {name}"),
            Self::Selector(selector) => write!(f, "labels {selector}"),
            Self::Project => f.write_str("all workloads"),
        }
    }
}

/// A subscription to create: a channel, and exactly one of workload, owner, selector and project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NewSubscription {
    /// Name of the channel.
    pub channel: String,
    /// Name of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// An owner: the incidents of all its workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// A label selector for workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// All workloads of this project, which is `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// A subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    /// Its id.
    pub id: SubscriptionId,
    /// What it selects, as people read it.
    pub scope: String,
    /// Its fields.
    #[serde(flatten)]
    pub fields: NewSubscription,
    /// Who created it.
    pub created_by: String,
    /// When it was created.
    pub created_at: Timestamp,
}

impl NewSubscription {
    /// The fields for a scope.
    pub fn from_scope(channel: &str, scope: &SubscriptionScope) -> Self {
        let mut fields = Self { channel: channel.to_owned(), ..Self::default() };
        match scope {
            SubscriptionScope::Workload(name) => fields.workload = Some(name.clone()),
            SubscriptionScope::Owner(name) => fields.owner = Some(name.clone()),
            SubscriptionScope::Selector(selector) => fields.selector = Some(selector.to_string()),
            SubscriptionScope::Project => fields.project = Some("default".to_owned()),
        }
        fields
    }
}

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum MessageKind {
    /// The incident was opened.
    Opened,
    /// Its clusters changed, or it was acknowledged.
    Updated,
    /// It was closed.
    Closed,
    /// A test of the channel.
    Test,
}

impl MessageKind {
    /// The name in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A message about an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IncidentMessage {
    /// What it is about.
    pub kind: MessageKind,
    /// The incident as it was then.
    pub incident: IncidentSummary,
    /// The owners of the workload.
    #[serde(default)]
    pub owners: Vec<String>,
    /// When it was written.
    pub at: Timestamp,
}

/// Where a message about an incident is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum DeliveryState {
    /// It is sent, or will be.
    Pending,
    /// The receiver accepted it.
    Delivered,
}

/// A message about an incident for one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// Its id, the same in every attempt.
    pub id: DeliveryId,
    /// Name of the channel.
    pub channel: String,
    /// What it is about.
    pub kind: MessageKind,
    /// Where it is.
    pub state: DeliveryState,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
}

/// A subscription to which an incident was not sent, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkippedSubscription {
    /// Its id.
    pub id: SubscriptionId,
    /// Name of its channel.
    pub channel: String,
    /// What it selects.
    pub scope: String,
    /// Why the incident was not sent, as a sentence.
    pub reason: String,
}

/// An incident with what was sent about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentDetails {
    /// The incident.
    #[serde(flatten)]
    pub incident: IncidentSummary,
    /// The owners of the workload; empty if it is deleted.
    #[serde(default)]
    pub owners: Vec<String>,
    /// What was sent about it, oldest first.
    #[serde(default)]
    pub deliveries: Vec<Delivery>,
    /// The subscriptions that it was not sent to.
    #[serde(default)]
    pub skipped_subscriptions: Vec<SkippedSubscription>,
}

/// Pause after the first failure of a channel, in milliseconds.
const MIN_RETRY_MILLIS: i64 = 5_000;
/// Longest pause between two attempts, in milliseconds.
const MAX_RETRY_MILLIS: i64 = 3_600_000;

/// The pause after this many failures in a row, in milliseconds.
pub fn retry_pause_millis(failures: u32) -> i64 {
    (MIN_RETRY_MILLIS << failures.saturating_sub(1).min(20)).min(MAX_RETRY_MILLIS)
}
