//! The drift inbox (E-9): the objects of releases that differ from what was applied and that nobody has decided about yet.
//!
//! An entry is one object of one workload on one cluster. It begins with the report that first names the object, and ends with the
//! first one that does not. What Flotilla reverted at once is an event and no entry.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::DriftId;
use crate::kubernetes::object::ObjectRef;
use crate::kubernetes::time::Timestamp;
use crate::model::page::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::model::policy::DriftPolicy;
use crate::model::report::DriftedField;

mod adopt;
mod observed;
#[cfg(test)]
mod tests;

pub use adopt::{
    adopt_into_files, check_adoptable, find_deciding_override, find_override_of_cluster, put_patch,
};
pub use observed::{CONTESTED, DriftedObject, list_drifted_objects};

/// The most fields of an entry in a list; the entry itself has as many as its cluster reported.
pub const MAX_LISTED_FIELDS: usize = 5;
/// The most entries of one release. Further objects are counted by a last one.
pub const MAX_DRIFTED_OBJECTS: usize = 100;
/// The longest time for which an entry is snoozed, in milliseconds: 30 days.
pub const MAX_SNOOZE_MILLIS: i64 = 30 * 86_400_000;

/// Whether somebody has to decide about an entry.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum DriftState {
    /// Nobody has decided about it.
    #[default]
    Open,
    /// It is hidden until a time, or until its fields change.
    Snoozed,
}

impl DriftState {
    /// The name in JSON and in addresses.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The state of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|state| state.as_str() == name)
    }
}

/// What can be done about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum DriftVerb {
    /// Apply the values of the workload again.
    Revert,
    /// Write the live values into the manifests of the draft.
    AdoptBase,
    /// Write the live values into an override of the draft for this cluster.
    AdoptOverride,
    /// Write a rule into the policies of the draft that leaves the fields to others.
    Ignore,
    /// Hide the entry until a time.
    Snooze,
}

impl DriftVerb {
    /// All of them, in the order shown.
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// Whether something can be done about an entry now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DriftPossibility {
    /// What.
    pub verb: DriftVerb,
    /// Why it is not possible, as a sentence; absent if it is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// Where the live values of an entry are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum AdoptTarget {
    /// Into the manifests, for all clusters.
    Base,
    /// Into the override of this cluster alone, which is created if there is none.
    Override,
}

/// A field of an entry: last applied, live and desired value, and who changed it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DriftField {
    /// JSON pointer; list items with a key are named: `/spec/containers[name=web]/image`.
    pub path: String,
    /// The value that was last applied; absent if the field was not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Value>,
    /// The value on the cluster; absent if the field is not set there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Value>,
    /// The value of the desired revision; absent if it does not set the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<Value>,
    /// Whether the cluster reported the values: without them neither `applied` nor `live` says anything.
    pub values_known: bool,
    /// Whether `desired` is known. In a list it is not if another revision is desired than the applied one.
    pub desired_known: bool,
    /// The field manager that changed it; empty if it is unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub manager: String,
    /// How that manager wrote, `Apply` or `Update`; empty if it is unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// When that manager last wrote the object, by the clock of its cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
}

impl DriftField {
    /// A reported field. `is_desired` is whether the applied revision is the desired one.
    pub fn from_reported(field: DriftedField, is_desired: bool) -> Self {
        let values_known = field.has_values();
        let desired = field.applied.clone().filter(|_| is_desired);
        Self {
            path: field.path,
            applied: field.applied,
            live: field.live,
            desired,
            values_known,
            desired_known: is_desired && values_known,
            manager: if field.manager == "unknown" { String::new() } else { field.manager },
            operation: field.operation,
            changed_at: field.changed_at,
        }
    }
}

/// Until when an entry is hidden, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DriftSnooze {
    /// Until when, unless its fields change before.
    pub until: Timestamp,
    /// Who snoozed it.
    pub by: String,
    /// When it was snoozed.
    pub at: Timestamp,
}

/// A revert of some fields of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DriftFieldRevert {
    /// Paths of the fields.
    pub paths: Vec<String>,
    /// Who requested it.
    pub by: String,
    /// When it was requested.
    pub at: Timestamp,
    /// Why the cluster did not revert them; absent until it has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An object of a workload on one cluster that differs from what was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DriftItem {
    /// Its id.
    pub id: DriftId,
    /// Name of the workload.
    pub workload: String,
    /// The resource version of the workload: the `If-Match` of what changes its draft.
    pub workload_version: i64,
    /// Name of the cluster.
    pub cluster: String,
    /// The object.
    pub object: ObjectRef,
    /// Whether somebody has to decide about it.
    pub state: DriftState,
    /// Since when the hub knows of it.
    pub since: Timestamp,
    /// What the policy of the release does on drift.
    pub policy: DriftPolicy,
    /// Whether it was reverted several times and changed again each time, so that it is left.
    pub contested: bool,
    /// Its fields: in a list the first ones. None if the object is missing on the cluster.
    pub fields: Vec<DriftField>,
    /// Number of its fields, those that no list and no report has included.
    pub field_count: u32,
    /// Digest of its fields and their values: sent with a decision, which is rejected if they have changed.
    pub digest: Digest,
    /// Number of the applied revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_revision: Option<u32>,
    /// Number of the desired revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_revision: Option<u32>,
    /// Until when it is hidden, if it is snoozed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snooze: Option<DriftSnooze>,
    /// The revert of some of its fields that was requested last, if it has not succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revert: Option<DriftFieldRevert>,
    /// What can be done about it, by the caller.
    pub can: Vec<DriftPossibility>,
}

impl DriftItem {
    /// Why something is not possible; `None` if it is.
    pub fn why_not(&self, verb: DriftVerb) -> Option<&str> {
        self.can.iter().find(|one| one.verb == verb)?.unavailable.as_deref()
    }

    /// How many of its fields are not in `fields`.
    pub fn more_fields(&self) -> u32 {
        let shown = u32::try_from(self.fields.len()).unwrap_or(u32::MAX);
        self.field_count.saturating_sub(shown)
    }

    /// Whether it stands for further objects of the release ([`MAX_DRIFTED_OBJECTS`]).
    pub fn is_remainder(&self) -> bool {
        observed::is_remainder(&self.object)
    }

    /// Whether the object is missing on the cluster.
    pub fn is_missing(&self) -> bool {
        self.field_count == 0 && !self.is_remainder()
    }

    /// The field managers that changed it, each once, in the order of the fields.
    pub fn managers(&self) -> Vec<&str> {
        let mut managers: Vec<&str> = Vec::new();
        for field in self.fields.iter().filter(|field| !field.manager.is_empty()) {
            if !managers.contains(&&*field.manager) {
                managers.push(&field.manager);
            }
        }
        managers
    }
}

/// Filter and page of the inbox: contested entries first, then the oldest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DriftQuery {
    /// Only those in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<DriftState>,
    /// Only those of the workload with this name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// Only those on the cluster with this name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster: String,
    /// Where the previous page ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Page size, 1 to 500; 50 if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl DriftQuery {
    /// The page size.
    pub fn limit(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT)
    }
}

/// Writes live values into the draft of the workload. Nothing is published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DriftAdoptRequest {
    /// Where they are written to.
    pub into: AdoptTarget,
    /// Paths of the fields; all of the entry if omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The `digest` of the entry that was read; any if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// Writes fields back on the cluster, and nothing else of the object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DriftRevertRequest {
    /// Paths of the fields; all reported ones of the entry if omitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The `digest` of the entry that was read; any if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// Leaves fields to others by a rule in the policies of the draft. Nothing is published.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DriftIgnoreRequest {
    /// Paths of the fields; all of the entry if omitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The `digest` of the entry that was read; any if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// Hides an entry until a time, or shows it again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DriftSnoozeRequest {
    /// Until when, at most 30 days from now; `null` shows it again. It also shows again once its fields change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The `digest` of the entry that was read; any if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}
