//! The plan for one object: what applying it would change, field by field.
//!
//! The same comparison serves drift: a live object has drifted if applying what was applied would change it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod diff;
mod fields;
#[cfg(test)]
mod laws;
mod removed;
mod secret;
#[cfg(test)]
mod tests;

pub use diff::diff;
pub use removed::removed_since;
pub use secret::HIDDEN;

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
