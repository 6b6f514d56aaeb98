//! Requests and answers about workloads.

use std::collections::BTreeMap;

use domain::labels::Labels;
use domain::overrides::{DEFAULT_PRIORITY, Patch, Target};
use domain::placement::Decision;
use domain::workload::{DeletionPolicy, WorkloadSpec};
use domain::{Digest, Finding};
use serde::{Deserialize, Serialize};

/// A workload as a whole, to replace what is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadPut {
    /// All its labels; left out, they stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// The whole new draft.
    pub spec: WorkloadSpec,
}

/// Labels to set; `null` as a value removes the label.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkloadPatch {
    /// The labels concerned; the others stay.
    pub labels: BTreeMap<String, Option<String>>,
}

/// A draft to be checked without storing it (S0-14).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ValidateRequest {
    /// Name of the workload; it need not exist.
    pub name: String,
    /// The draft.
    pub spec: WorkloadSpec,
}

/// What the guard rails say of a draft, and where it would go.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Check {
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// Where it would go.
    pub decision: Decision,
}

impl Check {
    /// Whether a publish would be refused.
    pub fn blocks(&self) -> bool {
        self.findings.iter().any(Finding::blocks)
    }
}

/// A publish of the draft.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PublishRequest {
    /// Why, in the author's words; may be empty.
    pub message: String,
    /// The hash of the plan that was looked at: refused with `PlanStale` if anything of it is otherwise now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<Digest>,
    /// How many clusters may lose the workload; needed when it is more than a fifth of those that have it (G505).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<u32>,
}

/// An earlier revision to be the draft again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestoreRequest {
    /// Its number.
    pub revision: u32,
}

/// How a workload leaves its clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct UnpublishRequest {
    /// What happens to the objects; left out, as the workload's own policy says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<DeletionPolicy>,
    /// Give clusters up that can't be reached (S1-23).
    pub force: bool,
}

/// A request to compare now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SyncRequest {
    /// Names of the clusters asked; empty for all the workload is on. Never adds a target (S1-9b).
    pub clusters: Vec<String>,
}

/// Who was asked to compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SyncAnswer {
    /// Number of clusters asked.
    pub asked: u32,
}

/// A request to leave a workload where it no longer matches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct KeepRequest {
    /// Names of the clusters; empty for all that are about to lose it.
    pub clusters: Vec<String>,
}

/// Where it was about to leave, and stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct KeepAnswer {
    /// Names of the clusters.
    pub kept: Vec<String>,
}

/// An override; its name is in the address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OverridePut {
    /// The clusters it is for.
    pub target: Target,
    /// Its strength among those as specific, 0 to 1000.
    pub priority: u32,
    /// Changes, in order.
    pub patches: Vec<Patch>,
}

impl Default for OverridePut {
    fn default() -> Self {
        Self { target: Target::default(), priority: DEFAULT_PRIORITY, patches: Vec::new() }
    }
}
