//! One observed object: JSON text plus the frequently used fields.

use std::sync::LazyLock;

use domain::ReleaseId;
use domain::field_path::escape_pointer_token;
use domain::managed_fields::{is_owned_by_flotilla, scaled_fields};
use serde_json::Value;

use crate::desired_object::{HASH_ANNOTATION, RELEASE_LABEL};

/// The path of the label with the release.
static RELEASE_LABEL_PATH: LazyLock<String> =
    LazyLock::new(|| format!("/metadata/labels/{}", escape_pointer_token(RELEASE_LABEL)));

/// One object as last observed on the cluster.
#[derive(Debug)]
pub(crate) struct LiveObject {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub version: String,
    /// Release of its label. A label is no proof of ownership: operators and people copy labels.
    pub release: Option<ReleaseId>,
    /// Whether the label was written by Flotilla's field manager.
    is_label_own: bool,
    /// Hash of its annotation.
    pub hash: String,
    pub deleting: bool,
    /// The manager that sets fields of it through the scale subresource; empty without any.
    pub scaler: String,
    body: Box<str>,
}

impl LiveObject {
    pub(crate) fn from_value(value: &Value) -> Self {
        let metadata = &value["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let release = metadata["labels"][RELEASE_LABEL].as_str().and_then(|id| id.parse().ok());
        Self {
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            version: text("resourceVersion"),
            is_label_own: release.is_some() && is_owned_by_flotilla(value, &RELEASE_LABEL_PATH),
            release,
            hash: metadata["annotations"][HASH_ANNOTATION].as_str().unwrap_or_default().to_owned(),
            deleting: metadata["deletionTimestamp"].is_string(),
            scaler: scaled_fields(value).pop().map(|field| field.manager).unwrap_or_default(),
            body: value.to_string().into_boxed_str(),
        }
    }

    /// The release that applied it: that of its label, if Flotilla's field manager wrote the label. A copied label is owned by the
    /// manager that copied it.
    pub(crate) fn applied_release(&self) -> Option<ReleaseId> {
        self.release.filter(|_| self.is_label_own)
    }

    /// Whether a release applied it: Flotilla's field manager wrote its label, or it is the object with the recorded uid and no other
    /// release applied it since. `recorded_uid` is empty if none is recorded.
    pub(crate) fn is_applied_by(&self, release: ReleaseId, recorded_uid: &str) -> bool {
        match self.applied_release() {
            Some(owner) => owner == release,
            None => !recorded_uid.is_empty() && self.uid == recorded_uid,
        }
    }

    /// The whole object.
    pub(crate) fn value(&self) -> Value {
        // The text was written from a value above.
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Whether it was written after the list of this version; the list is then irrelevant for it.
    pub(crate) fn is_newer_than_list(&self, version: u64) -> bool {
        self.version.parse::<u64>().is_ok_and(|own| own > version)
    }

    /// Whether `self` is an older state of the object `other`. Resource versions are increasing numbers on all known
    /// API servers; with others the later event wins.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        match (self.version.parse::<u64>(), other.version.parse::<u64>()) {
            (Ok(own), Ok(others)) => self.uid == other.uid && own < others,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i5_a_copied_label_is_no_sign_of_an_apply() {
        let release = ReleaseId::from_parts(1, 1);
        let with_manager = |manager: &str| {
            LiveObject::from_value(&json!({"metadata": {"name": "a", "labels": {RELEASE_LABEL: release},
                "managedFields": [{"manager": manager, "operation": "Apply",
                    "fieldsV1": {"f:metadata": {"f:labels": {format!("f:{RELEASE_LABEL}"): {}}}}}]}}))
        };
        assert_eq!(with_manager("flotilla").applied_release(), Some(release));
        let copied = with_manager("operator");
        assert_eq!((copied.release, copied.applied_release()), (Some(release), None));
        assert!(!copied.is_applied_by(release, ""), "nothing is recorded");
        assert!(with_manager("flotilla").is_applied_by(release, "another uid"));
        let unmanaged = json!({"metadata": {"name": "a", "labels": {RELEASE_LABEL: release}}});
        assert_eq!(LiveObject::from_value(&unmanaged).applied_release(), None, "unknown is no proof");
    }

    #[test]
    fn i5_the_recorded_uid_is_a_proof_unless_another_release_applied_the_object() {
        let (own, other) = (ReleaseId::from_parts(1, 1), ReleaseId::from_parts(2, 2));
        let with_manager = |manager: &str| {
            LiveObject::from_value(
                &json!({"metadata": {"name": "a", "uid": "u", "labels": {RELEASE_LABEL: other},
                "managedFields": [{"manager": manager, "operation": "Apply",
                    "fieldsV1": {"f:metadata": {"f:labels": {format!("f:{RELEASE_LABEL}"): {}}}}}]}}),
            )
        };
        assert!(with_manager("operator").is_applied_by(own, "u"), "its label was changed by hand");
        assert!(!with_manager("operator").is_applied_by(own, "v"));
        assert!(!with_manager("flotilla").is_applied_by(own, "u"), "another release took it over");
    }

    #[test]
    fn an_older_state_of_the_same_object_is_detected_by_its_version() {
        let of = |uid: &str, version: &str| {
            LiveObject::from_value(
                &json!({"metadata": {"name": "a", "uid": uid, "resourceVersion": version}}),
            )
        };
        assert!(of("u", "9").is_older_than(&of("u", "10")));
        assert!(!of("u", "10").is_older_than(&of("u", "10")));
        assert!(
            !of("u", "9").is_older_than(&of("other", "10")),
            "a re-created object is not a newer state of the deleted one"
        );
        assert!(!of("u", "a").is_older_than(&of("u", "b")));
    }
}
