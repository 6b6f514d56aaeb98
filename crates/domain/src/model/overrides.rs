//! Overrides: changes of objects on some clusters, merged with provenance (S1-11, E-8).
//!
//! The order is: general before specific (group, then selector, then named cluster), then priority, then name. Values
//! are merged into every object of their kind; patches address one object and fields by name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kubernetes::id::OverrideId;
use crate::kubernetes::labels::LabelSelector;
use crate::model::placement::FactSelector;

mod apply;
mod check;
mod identity;
mod limits;
mod merge;
mod patch;
mod patch_fields;
#[cfg(test)]
mod properties;
mod provenance;
mod target;
#[cfg(test)]
mod tests;
mod touched_paths;
mod work;

pub use apply::{OverrideResult, apply_overrides};
pub use check::{check, check_targets};
pub use limits::{
    MAX_OVERRIDE_BYTES, MAX_OVERRIDE_VALUES, MAX_OVERRIDES, MAX_PATCH_VALUES, MAX_PATCHES, MAX_TARGET_VALUES,
    check_limits,
};
pub use merge::merge;
pub use provenance::{Provenance, ProvenanceLayer};
pub use target::Specificity;
pub(crate) use target::{list_applicable, list_applicable_ids};
pub use work::{MAX_WORK, check_work};

/// Default priority; 0 is the lowest, [`MAX_PRIORITY`] the highest.
pub const DEFAULT_PRIORITY: u32 = 500;
/// The highest priority.
pub const MAX_PRIORITY: u32 = 1_000;

/// Changes of objects on some clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Override {
    /// Its id.
    pub id: OverrideId,
    /// Its name, unique in the workload.
    pub name: String,
    /// The clusters it applies to.
    #[serde(default)]
    pub target: ClusterSelector,
    /// Its precedence among overrides of equal specificity, 0 to 1000.
    #[serde(default = "default_priority")]
    pub priority: u32,
    /// Values of the chart, as YAML with its comments; merged over the common values. Only for a source of type chart.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values: String,
    /// Changes of objects, in order; made after a chart is rendered.
    #[serde(default)]
    pub patches: Vec<Patch>,
}

fn default_priority() -> u32 {
    DEFAULT_PRIORITY
}

/// Selects clusters: all that are named, in a group, or match labels and facts. An empty one selects none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSelector {
    /// By name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
    /// By group name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// By labels; `None` when not used, the empty selector for every cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// By confirmed facts, such as `provider=aws,region in (eu-1,eu-2)`. If there are labels too, both must match.
    #[serde(skip_serializing_if = "FactSelector::is_empty")]
    pub field_selector: FactSelector,
}

/// Which objects of the bundle a patch changes; empty parts match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectSelector {
    /// Kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// The operation of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "op", rename_all = "camelCase")]
pub enum PatchOp {
    /// Merges a value into the object: maps are merged, lists replaced, `null` deletes the key.
    Merge {
        /// The value.
        value: Value,
    },
    /// Sets the field at a path, which may be new.
    Set {
        /// Path such as `/spec/template/spec/containers[name=web]/image`.
        path: String,
        /// The value.
        value: Value,
    },
    /// Removes the field at a path, which must exist.
    Remove {
        /// The path.
        path: String,
    },
}

impl PatchOp {
    /// The value that it writes; `None` if it removes a field.
    pub const fn value(&self) -> Option<&Value> {
        match self {
            Self::Merge { value } | Self::Set { value, .. } => Some(value),
            Self::Remove { .. } => None,
        }
    }
}

/// A change of some objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", try_from = "patch_fields::PatchFields")]
pub struct Patch {
    /// Which objects.
    #[serde(default)]
    pub object: ObjectSelector,
    /// The operation on them.
    #[serde(flatten)]
    pub op: PatchOp,
}
