//! What a report says about the drift of its objects.

use super::{MAX_DRIFTED_OBJECTS, MAX_LISTED_FIELDS};
use crate::kubernetes::digest::Digest;
use crate::kubernetes::object::ObjectRef;
use crate::model::release::SyncStatus;
use crate::model::report::limits::{mark, omitted_count};
use crate::model::report::{DriftedField, ResourceStatus};

/// The code of the finding of an object that another manager changes again and again.
pub const CONTESTED: &str = "Contested";

/// The kind of the entry that stands for further objects.
const REMAINDER_KIND: &str = "Object";

/// An object that differs from what was applied, as its cluster last reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftedObject {
    /// The object.
    pub object: ObjectRef,
    /// Its first fields, at most [`MAX_LISTED_FIELDS`]; none if the object is missing.
    pub fields: Vec<DriftedField>,
    /// Number of its fields, as far as the cluster reported it.
    pub field_count: u32,
    /// Whether another manager changes it again and again, so that it is left.
    pub contested: bool,
    /// Digest of all reported fields with their values.
    pub digest: Digest,
}

impl DriftedObject {
    /// What identifies the object within its release, whatever its API version: short, and of any object.
    pub fn key(&self) -> String {
        let ObjectRef { group, kind, namespace, name, .. } = &self.object;
        Digest::compute(format!("{group}\0{kind}\0{namespace}\0{name}").as_bytes()).to_string()
    }
}

/// Whether this is the object of the entry that stands for further ones.
pub(super) fn is_remainder(object: &ObjectRef) -> bool {
    object.kind == REMAINDER_KIND && omitted_count(&object.name).is_some()
}

/// The drifted objects of a report: contested ones first, in the order of the bundle. At most [`MAX_DRIFTED_OBJECTS`], the last of which
/// counts the others.
pub fn list_drifted_objects(sync: SyncStatus, resources: &[ResourceStatus]) -> Vec<DriftedObject> {
    let mut found: Vec<DriftedObject> =
        resources.iter().filter(|resource| is_drifted(sync, resource)).map(observe).collect();
    found.sort_by_key(|one| !one.contested);
    if found.len() > MAX_DRIFTED_OBJECTS {
        let omitted = found.split_off(MAX_DRIFTED_OBJECTS - 1);
        let object =
            ObjectRef { kind: REMAINDER_KIND.to_owned(), name: mark(omitted.len()), ..ObjectRef::default() };
        let digests: Vec<&str> = omitted.iter().map(|one| one.digest.as_str()).collect();
        found.push(DriftedObject {
            object,
            fields: Vec::new(),
            field_count: omitted.iter().map(|one| one.field_count).fold(0, u32::saturating_add),
            contested: omitted.iter().any(|one| one.contested),
            digest: Digest::compute(digests.concat().as_bytes()),
        });
    }
    found
}

/// Jobs may be deleted once they have run.
fn is_drifted(sync: SyncStatus, resource: &ResourceStatus) -> bool {
    let is_missing = resource.applied && resource.available == Some(false) && !resource.object.is_job();
    !resource.drifted.is_empty() || (sync == SyncStatus::Drifted && is_missing)
}

fn observe(resource: &ResourceStatus) -> DriftedObject {
    let mut fields = resource.list_drifted_fields();
    fields.retain(|field| omitted_count(&field.path).is_none());
    let field_count = resource.count_drifted();
    let values: Vec<_> = fields.iter().map(|field| (&field.path, &field.applied, &field.live)).collect();
    // Serialization of plain data into memory does not fail.
    let digest = Digest::compute(&serde_json::to_vec(&(field_count, values)).unwrap_or_default());
    fields.truncate(MAX_LISTED_FIELDS);
    DriftedObject {
        object: resource.object.clone(),
        fields,
        field_count,
        contested: resource.problem.as_ref().is_some_and(|problem| problem.code == CONTESTED),
        digest,
    }
}
