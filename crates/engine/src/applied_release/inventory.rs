//! The entries of a record: every object that the release owns or is about to create.

use domain::object::ObjectRef;
use serde::{Deserialize, Serialize};

/// One recorded object of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InventoryEntry {
    #[serde(flatten)]
    pub object: ObjectRef,
    /// Plural name in URLs.
    #[serde(default)]
    pub resource: String,
    /// Empty until the object was applied.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Hash of the content applied last; empty until the object was applied.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// The object existed before and may contain foreign objects: it is never deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// The object completed: after a cleanup it is not created again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completed: bool,
}
