//! Incidents: one cause why a workload needs attention, over all its clusters (S0-13, E-12).

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::id::{ClusterId, IncidentId, WorkloadId};
use crate::kubernetes::time::{Timestamp, format_duration};
use crate::text::name_list::join_first;

mod advance;
mod cause;
mod kind;
#[cfg(test)]
mod tests;

pub use advance::{
    ClusterObservation, IncidentChange, IncidentStep, PendingFailure, WorkloadFailures, advance,
};
pub use cause::{
    IncidentCause, list_causes, list_drift_causes, loop_cause, rollback_cause, rollout_cause, silence_cause,
    source_causes,
};
pub use kind::IncidentKind;

/// How long a release fails before it becomes part of an incident, by default, in milliseconds.
pub const DEFAULT_DELAY_MILLIS: i64 = 60_000;

/// Whether something of the workload still fails by this cause.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum IncidentState {
    /// At least one cluster fails, or is not known to have recovered.
    #[default]
    Open,
    /// All clusters recovered.
    Closed,
}

impl IncidentState {
    /// The name in JSON and in addresses.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The state of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|state| state.as_str() == name)
    }

    /// The name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Closed => "Closed",
        }
    }
}

/// A cluster of an incident. An incident of the workload as a whole has one entry without a name, under
/// [`IncidentKind::workload_place`], which is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentCluster {
    /// Its id.
    pub id: ClusterId,
    /// Its name.
    pub name: String,
    /// Since when the workload fails there.
    pub since: Timestamp,
    /// When it recovered; absent while it fails, or while it is not known that it recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered_at: Option<Timestamp>,
}

/// What changed last before a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PrecedingChange {
    /// What changed, as a sentence for people.
    pub message: String,
    /// Who changed it.
    pub actor: String,
    /// When.
    pub at: Timestamp,
    /// The published revision, if that is the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The changed cluster, if that is the change.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster: String,
}

/// A cause why a workload needs attention, from when it has lasted long enough until it is gone everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Incident {
    /// Its id.
    pub id: IncidentId,
    /// The workload, which may be deleted.
    pub workload: WorkloadId,
    /// Its name.
    pub workload_name: String,
    /// The cause.
    pub cause: IncidentCause,
    /// The clusters that fail and those that recovered, in the order in which they joined.
    pub clusters: Vec<IncidentCluster>,
    /// What changed last before it.
    pub preceding_change: Option<PrecedingChange>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When its clusters or its acknowledgement last changed.
    pub changed_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// Who acknowledged it.
    pub acknowledged_by: Option<String>,
    /// When it was acknowledged.
    pub acknowledged_at: Option<Timestamp>,
}

impl Incident {
    /// Whether it is open.
    pub const fn state(&self) -> IncidentState {
        if self.closed_at.is_some() { IncidentState::Closed } else { IncidentState::Open }
    }

    /// The clusters that are not known to have recovered.
    pub fn failing_clusters(&self) -> impl Iterator<Item = &IncidentCluster> {
        self.clusters.iter().filter(|cluster| cluster.recovered_at.is_none())
    }

    /// Whether the workload fails by this cause on this cluster.
    pub fn affects(&self, cluster: ClusterId) -> bool {
        self.failing_clusters().any(|one| one.id == cluster)
    }

    /// Since when the workload has this cause on any cluster.
    pub fn since(&self) -> Timestamp {
        self.clusters.iter().map(|cluster| cluster.since).min().unwrap_or(self.opened_at)
    }

    /// Records who works on it; false if it is closed, or acknowledged already.
    pub fn acknowledge(&mut self, user: &str, now: Timestamp) -> bool {
        if self.closed_at.is_some() || self.acknowledged_by.is_some() {
            return false;
        }
        self.acknowledged_by = Some(user.to_owned());
        self.acknowledged_at = Some(now);
        self.changed_at = now;
        true
    }

    /// As lists and messages show it.
    pub fn summary(&self) -> IncidentSummary {
        let kind = self.cause.kind;
        let clusters = self.clusters.iter().filter(|_| kind.workload_place().is_none());
        let shown = clusters.clone().filter(|one| self.closed_at.is_some() || one.recovered_at.is_none());
        IncidentSummary {
            id: self.id,
            workload: self.workload_name.clone(),
            kind,
            state: self.state(),
            clusters: shown.map(|cluster| cluster.name.clone()).collect(),
            cluster_details: clusters.cloned().collect(),
            cause: self.cause.message.clone(),
            reason: self.cause.reason.clone(),
            object: self.cause.object_name(),
            container: self.cause.container.clone(),
            pod: self.cause.pod.clone(),
            hint: self.cause.hint.clone(),
            preceding_change: self.preceding_change.clone(),
            since: self.since(),
            opened_at: self.opened_at,
            closed_at: self.closed_at,
            duration_seconds: self.closed_at.map(|closed| closed.millis_since(self.since()).max(0) / 1_000),
            acknowledged_by: self.acknowledged_by.clone(),
            acknowledged_at: self.acknowledged_at,
        }
    }
}

/// An incident as lists, pages and messages show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentSummary {
    /// Its id.
    pub id: IncidentId,
    /// Name of the workload.
    pub workload: String,
    /// What it is about; that of an incident of an earlier version is a failure.
    #[serde(default)]
    pub kind: IncidentKind,
    /// Whether it is open.
    pub state: IncidentState,
    /// Names of the clusters that have the cause; of a closed incident those that had it. Empty if it is one of the workload as a whole.
    pub clusters: Vec<String>,
    /// The clusters that fail and those that recovered, with times; empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_details: Vec<IncidentCluster>,
    /// The cause, as a sentence for people.
    pub cause: String,
    /// CamelCase reason, such as `ImagePullFailed`.
    pub reason: String,
    /// The object that fails, as `Kind namespace/name`; empty if it is the release as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// The container that fails; empty if it is no container.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub container: String,
    /// A pod that fails, on the first cluster; empty if it is no pod.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pod: String,
    /// What to do about it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// What changed last before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preceding_change: Option<PrecedingChange>,
    /// Since when the workload fails.
    pub since: Timestamp,
    /// When the incident was opened.
    pub opened_at: Timestamp,
    /// When it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// How long the workload failed; of a closed incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<i64>,
    /// Who acknowledged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<String>,
    /// When it was acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Timestamp>,
}

/// Names in a list before the rest is only counted.
const NAMED_CLUSTERS: usize = 5;

impl IncidentSummary {
    /// The clusters in a few words: up to five names, then their number.
    pub fn cluster_text(&self) -> String {
        join_first(&self.clusters, NAMED_CLUSTERS)
    }

    /// Workload and number of clusters, and how long it lasted if it is over.
    pub fn headline(&self) -> String {
        let clusters = count_clusters(self.clusters.len());
        match self.duration_seconds {
            Some(seconds) => {
                let lasted = format_duration(seconds.saturating_mul(1_000));
                self.kind.describe_closed(&self.workload, &clusters, &lasted)
            }
            None => self.kind.describe_open(&self.workload, &clusters),
        }
    }

    /// Whether the cause is one of clusters; otherwise it concerns the workload as a whole.
    pub fn has_clusters(&self) -> bool {
        self.kind.workload_place().is_none()
    }
}

fn count_clusters(n: usize) -> String {
    if n == 1 { "1 cluster".to_owned() } else { format!("{n} clusters") }
}

/// Filter and page of the list of incidents, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IncidentQuery {
    /// Only those in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<IncidentState>,
    /// Only those of the workload with this name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// Where the previous page ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Page size, 1 to 500; 50 if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl IncidentQuery {
    /// The page size.
    pub fn limit(&self) -> u32 {
        self.limit.unwrap_or(crate::model::page::DEFAULT_LIMIT).clamp(1, crate::model::page::MAX_LIMIT)
    }
}
