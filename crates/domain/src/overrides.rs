//! Overrides: what differs on some clusters, merged with provenance (S1-11, E-8).
//!
//! The order is: general before specific (group, then selector, then named cluster), then priority, then name. Values
//! are merged into every object of the kind they name; patches address one object and fields by name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::OverrideId;
use crate::labels::Selector;

mod apply;
mod check;
mod identity;
#[cfg(test)]
mod laws;
mod merge;
mod patch;
mod provenance;
mod target;
#[cfg(test)]
mod tests;
mod touched;

pub use apply::{Effective, effective};
pub use check::{check, check_targets};
pub use merge::merge;
pub use provenance::{Layer, Provenance};
pub use target::Specificity;
pub(crate) use target::order;

/// Default priority; 0 is weakest, [`MAX_PRIORITY`] strongest.
pub const DEFAULT_PRIORITY: u32 = 500;
/// The strongest priority.
pub const MAX_PRIORITY: u32 = 1_000;

/// What differs on some clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Override {
    /// Its id.
    pub id: OverrideId,
    /// Its name, unique in the workload.
    pub name: String,
    /// The clusters it is for.
    #[serde(default)]
    pub target: Target,
    /// Its strength among those as specific, 0 to 1000.
    #[serde(default = "default_priority")]
    pub priority: u32,
    /// Changes, in order.
    #[serde(default)]
    pub patches: Vec<Patch>,
}

fn default_priority() -> u32 {
    DEFAULT_PRIORITY
}

/// The clusters an override is for: all that are named, in a group, or match. An empty target is for none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Target {
    /// By name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
    /// By group name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// By labels; `None` when not used, the empty selector for every cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
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

/// What a patch does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "op", rename_all = "camelCase")]
pub enum PatchOp {
    /// Merges a value into the object: maps are merged, lists replaced, `null` deletes the key.
    Merge {
        /// The value.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        value: Value,
    },
    /// Sets the field at a path, which may be new.
    Set {
        /// Path such as `/spec/template/spec/containers[name=web]/image`.
        path: String,
        /// The value.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        value: Value,
    },
    /// Removes the field at a path, which must be there.
    Remove {
        /// The path.
        path: String,
    },
}

/// A change of some objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    /// Which objects.
    #[serde(default)]
    pub object: ObjectSelector,
    /// What is done to them.
    #[serde(flatten)]
    pub op: PatchOp,
}
