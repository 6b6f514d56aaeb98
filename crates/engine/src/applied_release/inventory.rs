//! The entries of a record: every object that the release owns or is about to create.

use domain::ReleaseId;
use domain::object::ObjectRef;
use serde::{Deserialize, Serialize};

use crate::observe::LiveObject;

/// The left fields of an object whose former policies are not recorded; differs from those of all policies.
pub(super) const UNKNOWN_LEFT_FIELDS: &str = "unknown";

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
    /// Identifies the policies under which it was applied last, as far as they left fields of it to others; empty without any, and
    /// in records of earlier versions ([`super::AppliedRelease::left_fields_recorded`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub left_fields: String,
    /// A scaler of the bundle that was applied last sets its replicas, or one of an earlier bundle still owns them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scaled: bool,
    /// The object was missing when the record was written, and may have been created again since: one that the release applied is
    /// owned whatever its uid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// The object existed before and may contain foreign objects: it is never deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// The object completed: after a cleanup it is not created again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completed: bool,
}

impl InventoryEntry {
    /// Whether a live object of this name belongs to the release of the entry: by its uid, or because the release applied it if no
    /// uid is recorded or the recorded object was missing.
    pub(crate) fn owns(&self, live: &LiveObject, release: ReleaseId) -> bool {
        let is_foreign = live.applied_release().is_some_and(|other| other != release);
        let may_be_unrecorded = self.uid.is_empty() || self.missing;
        !is_foreign && self.uid == live.uid || may_be_unrecorded && live.applied_release() == Some(release)
    }
}
