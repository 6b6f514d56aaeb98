//! The plan: what publishing would change, cluster by cluster ([`Plan`]), object by object ([`PlannedChange`]), field by field
//! ([`diff()`]) (E-2, S1-15).
//!
//! Drift uses the same comparison of fields: a live object has drifted if applying its manifest again would change it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod applied_form;
mod blast_radius;
mod chart_notes;
mod cluster_plan;
mod diff;
mod field_position;
mod fields;
mod lists;
mod plan_size;
#[cfg(test)]
mod properties;
mod publish_plan;
mod removed_fields;
mod rendered;
mod revision;
mod secret;
#[cfg(test)]
mod tests;
mod variants;

pub use crate::text::secret_text::HIDDEN_VALUE;
pub use applied_form::to_applied_form;
pub use blast_radius::{BlastRadius, removal_limit};
pub use chart_notes::{check_chart_crd, retained_finding};
pub use cluster_plan::{
    ChangeCounts, ClusterPlan, PlannedAction, PlannedChange, mark_late_deletions, plan_hooks,
};
pub use diff::diff;
pub use fields::{SERVER_ASSIGNED, SERVER_METADATA, STATUS_FIELD};
pub use plan_size::{MAX_PLAN_BYTES, MAX_PLAN_VALUES};
pub use publish_plan::{
    ClusterPlanGroup, DryRunState, Plan, PlanInputsDigest, PlanInputsTarget, PlanTarget, TargetChange,
};
pub use removed_fields::find_removed_fields;
pub use rendered::{CreatedManifest, RenderedManifests};
pub use revision::{
    ChangedPart, RevisionView, SpecPart, compare_bundles, diff_settings, list_changed_names, list_spec_parts,
};
pub use variants::{Distinction, FieldValue, PlanVariants, VariedObject};

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// JSON pointer into the desired object; list items with a key are named: `/spec/containers[name=web]/image`.
    pub path: String,
    /// The desired value; `None` if the field is to be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Value>,
    /// The live value; `None` if the field is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Value>,
}
