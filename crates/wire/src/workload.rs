//! Requests and responses about workloads.

use std::collections::BTreeMap;

use domain::labels::Labels;
use domain::placement::Decision;
use domain::workload::WorkloadSpec;
use domain::{Digest, Finding};
use serde::{Deserialize, Serialize};

pub use domain::request::{OverridePut, RemovalOptions};

/// Replaces a workload's draft.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadPut {
    /// All its labels; unchanged if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<domain::labels::LabelMap>))]
    pub labels: Option<Labels>,
    /// All its owners; unchanged if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<Vec<String>>,
    /// The whole new draft; the policy `notAssessed` stays as it is if omitted.
    pub spec: WorkloadSpec,
}

/// Changes to a workload that no draft contains; omitted fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkloadPatch {
    /// The labels to change; `null` as a value removes the label, the others stay.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Option<String>>,
    /// All its owners: names of users or teams, or e-mail addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<Vec<String>>,
}

/// A draft to validate without storing it (S0-14).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ValidateRequest {
    /// Name of the workload; it need not exist.
    pub name: String,
    /// The draft.
    pub spec: WorkloadSpec,
}

/// The findings of the guard rails on a draft, and its placement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ValidationResult {
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// The clusters it would be placed on.
    pub decision: Decision,
}

impl ValidationResult {
    /// Whether the findings block a publish.
    pub fn is_blocking(&self) -> bool {
        self.findings.iter().any(Finding::is_blocking)
    }
}

/// A publish of the draft, or of an earlier revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PublishRequest {
    /// The author's message; may be empty.
    pub message: String,
    /// The number of an earlier revision that is published again, as a new revision (a rollback): the draft stays as it is. The draft
    /// is published if it is omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The hash of the reviewed plan: rejected with `PlanStale` if the plan would be different now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<Digest>,
    /// How many clusters may lose the workload; needed when it is more than a fifth of those that have it (G505).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<u32>,
    /// Codes of guard rails, such as `G406`: a plan that clusters rejected with these codes is published nevertheless. Only
    /// codes of dry runs can be forced, `G125`: generated values are replaced, and `G313`: clusters lose it where other workloads
    /// depend on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub force: Vec<String>,
}

/// Copies an earlier revision to the draft.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestoreRevisionRequest {
    /// Its number.
    pub revision: u32,
}

/// A request to compare clusters with the desired state now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SyncRequest {
    /// Names of the clusters; empty for all of the workload's clusters. Never adds a target (S1-9b).
    pub clusters: Vec<String>,
}

/// Result of a sync request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SyncResponse {
    /// Number of clusters requested to compare.
    pub requested: u32,
}

/// A request to retain a workload on clusters that no longer match its placement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RetainRequest {
    /// Names of the clusters; empty for all with a pending removal.
    pub clusters: Vec<String>,
}

/// Result of a retain request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RetainResponse {
    /// Names of the clusters whose removal was cancelled.
    pub retained: Vec<String>,
}
