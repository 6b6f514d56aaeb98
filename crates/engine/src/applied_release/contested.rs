//! The fields that are left to another manager, as the record stores them: a restart of the agent must not start the contest again.

use domain::object::ObjectRef;
use serde::{Deserialize, Serialize};

/// The contested fields of a release, and what a person decided last: a later revision or sync ends the contest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContestedFields {
    /// The revision for which they are contested.
    pub revision: u32,
    /// The number of the requested sync for which they are contested.
    pub sync_nonce: i64,
    /// The objects, sorted.
    pub objects: Vec<ContestedObject>,
}

/// The contested fields of one object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContestedObject {
    /// The object.
    #[serde(flatten)]
    pub object: ObjectRef,
    /// Paths of its fields, sorted.
    pub fields: Vec<String>,
}
