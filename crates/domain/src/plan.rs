//! The plan: what publishing would change, cluster by cluster ([`Plan`]), object by object ([`Effect`]), field by field
//! ([`diff`]) (E-2, S1-15).
//!
//! The comparison of fields serves drift too: a live object has drifted if applying what was applied would change it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod blast;
mod diff;
mod effect;
mod fields;
#[cfg(test)]
mod laws;
mod removed;
mod revision;
mod secret;
mod targets;
#[cfg(test)]
mod tests;

pub use blast::{BlastRadius, removal_limit};
pub use diff::diff;
pub use effect::{Effect, ObjectEffect, Outcome, Tally};
pub use removed::removed_since;
pub use revision::RevisionView;
pub use secret::HIDDEN;
pub use targets::{Ask, Basis, BasisTarget, EffectGroup, Plan, PlanTarget, TargetChange, TargetState};

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// JSON pointer into the wanted object; list items with a key are named: `/spec/containers[name=web]/image`.
    pub path: String,
    /// What is wanted; `None` if the field should go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub wanted: Option<Value>,
    /// What is there; `None` if the field is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub live: Option<Value>,
}
