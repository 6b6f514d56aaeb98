//! `metadata.managedFields`: one entry per manager, operation, version and subresource.

use serde_json::{Value, json};

use super::FieldManager;
use super::fields::FieldSet;
use crate::object::{self, str_at};

/// The operation of a `managedFields` entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ManagedFieldsOperation {
    Apply,
    Update,
}

/// The fields that one manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManagedFieldsEntry {
    pub manager: String,
    pub operation: ManagedFieldsOperation,
    pub api_version: String,
    pub subresource: String,
    pub time: String,
    pub fields: FieldSet,
}

impl ManagedFieldsEntry {
    fn new(
        writer: FieldManager<'_>,
        operation: ManagedFieldsOperation,
        fields: FieldSet,
    ) -> ManagedFieldsEntry {
        ManagedFieldsEntry {
            manager: writer.manager.to_owned(),
            operation,
            api_version: writer.api_version.to_owned(),
            subresource: writer.subresource.to_owned(),
            time: writer.now.to_owned(),
            fields,
        }
    }

    /// Whether the entry is the writer's. Apply entries match across API versions, update entries do not.
    fn is_managed_by(&self, writer: FieldManager<'_>, operation: ManagedFieldsOperation) -> bool {
        self.manager == writer.manager
            && self.operation == operation
            && self.subresource == writer.subresource
            && (operation == ManagedFieldsOperation::Apply || self.api_version == writer.api_version)
    }

    fn has_same_manager(&self, other: &ManagedFieldsEntry) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && self.api_version == other.api_version
    }

    fn parse(value: &Value) -> ManagedFieldsEntry {
        let operation = if str_at(value, "operation") == "Apply" {
            ManagedFieldsOperation::Apply
        } else {
            ManagedFieldsOperation::Update
        };
        ManagedFieldsEntry {
            manager: str_at(value, "manager").to_owned(),
            operation,
            api_version: str_at(value, "apiVersion").to_owned(),
            subresource: str_at(value, "subresource").to_owned(),
            time: str_at(value, "time").to_owned(),
            fields: value.get("fieldsV1").map(FieldSet::from_json).unwrap_or_default(),
        }
    }

    fn to_json(&self) -> Value {
        let mut out = json!({
            "manager": self.manager,
            "operation": if self.operation == ManagedFieldsOperation::Apply { "Apply" } else { "Update" },
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_json(),
        });
        if !self.subresource.is_empty() {
            out["subresource"] = self.subresource.clone().into();
        }
        out
    }
}

/// All entries of one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManagedFields {
    entries: Vec<ManagedFieldsEntry>,
}

impl ManagedFields {
    /// Reads an object's entries.
    pub(crate) fn from_object(object: &Value) -> ManagedFields {
        let entries =
            object::array_at(object, "metadata.managedFields").iter().map(ManagedFieldsEntry::parse);
        ManagedFields { entries: entries.filter(|e| !e.fields.is_empty()).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the entries: appliers first, then by time and name.
    pub(crate) fn write_to(mut self, object: &mut Value) {
        self.entries.retain(|e| !e.fields.is_empty());
        self.entries.sort_by(|a, b| {
            (a.operation, &a.time, &a.manager, &a.api_version, &a.subresource).cmp(&(
                b.operation,
                &b.time,
                &b.manager,
                &b.api_version,
                &b.subresource,
            ))
        });
        if self.entries.is_empty() {
            object::remove_value(object, "metadata.managedFields");
            return;
        }
        let list: Vec<Value> = self.entries.iter().map(ManagedFieldsEntry::to_json).collect();
        object::set_value(object, "metadata.managedFields", list);
    }

    /// Assigns the content of an object without `managedFields` to the manager `before-first-apply`.
    pub(crate) fn add_before_first_apply(&mut self, set: FieldSet, writer: FieldManager<'_>) {
        let writer = FieldManager { manager: "before-first-apply", subresource: "", ..writer };
        self.entries.push(ManagedFieldsEntry::new(writer, ManagedFieldsOperation::Update, set));
    }

    /// The fields of the writer's last apply.
    pub(crate) fn applied_fields(&self, writer: FieldManager<'_>) -> Option<&FieldSet> {
        self.entries
            .iter()
            .find(|e| e.is_managed_by(writer, ManagedFieldsOperation::Apply))
            .map(|e| &e.fields)
    }

    /// Sets the writer's applied fields to `fields`. An unchanged entry retains its time.
    pub(crate) fn set_applied_fields(&mut self, writer: FieldManager<'_>, set: FieldSet) {
        match self.entries.iter_mut().find(|e| e.is_managed_by(writer, ManagedFieldsOperation::Apply)) {
            Some(entry) if entry.fields == set && entry.api_version == writer.api_version => {}
            Some(entry) => *entry = ManagedFieldsEntry::new(writer, ManagedFieldsOperation::Apply, set),
            None => self.entries.push(ManagedFieldsEntry::new(writer, ManagedFieldsOperation::Apply, set)),
        }
    }

    /// All fields that any manager owns.
    pub(crate) fn owned_fields(&self) -> FieldSet {
        let mut all = FieldSet::default();
        self.entries.iter().for_each(|e| all.extend(&e.fields));
        all
    }

    /// Other managers' fields among `touched`.
    pub(crate) fn apply_conflicts(
        &self,
        writer: FieldManager<'_>,
        touched: &FieldSet,
    ) -> Vec<(ManagedFieldsEntry, FieldSet)> {
        self.overlaps(writer, ManagedFieldsOperation::Apply, touched)
    }

    /// The same for an update, which takes ownership without a conflict.
    pub(crate) fn update_conflicts(
        &self,
        writer: FieldManager<'_>,
        touched: &FieldSet,
    ) -> Vec<(ManagedFieldsEntry, FieldSet)> {
        self.overlaps(writer, ManagedFieldsOperation::Update, touched)
    }

    fn overlaps(
        &self,
        writer: FieldManager<'_>,
        operation: ManagedFieldsOperation,
        touched: &FieldSet,
    ) -> Vec<(ManagedFieldsEntry, FieldSet)> {
        let others = self.entries.iter().filter(|e| !e.is_managed_by(writer, operation));
        others
            .map(|e| (e.clone(), e.fields.intersection(touched)))
            .filter(|(_, overlap)| !overlap.is_empty())
            .collect()
    }

    /// Removes these fields from their owners.
    pub(crate) fn revoke_fields(&mut self, conflicts: &[(ManagedFieldsEntry, FieldSet)]) {
        for (owner, set) in conflicts {
            if let Some(entry) = self.entries.iter_mut().find(|e| e.has_same_manager(owner)) {
                entry.fields = entry.fields.difference(set);
            }
        }
    }

    /// Removes deleted fields from all entries.
    pub(crate) fn remove_fields(&mut self, removed: &FieldSet) {
        if removed.is_empty() {
            return;
        }
        for entry in &mut self.entries {
            entry.fields = entry.fields.difference(removed);
        }
    }

    /// Adds the fields that an update changed to its entry. Like the API server's, the entry of a writer that only removed fields
    /// retains its time.
    pub(crate) fn record_update(&mut self, writer: FieldManager<'_>, changed: &FieldSet, removed: &FieldSet) {
        match self.entries.iter_mut().find(|e| e.is_managed_by(writer, ManagedFieldsOperation::Update)) {
            Some(entry) => {
                entry.fields = entry.fields.difference(removed).union(changed);
                if !changed.is_empty() {
                    entry.time = writer.now.to_owned();
                }
            }
            None => self.entries.push(ManagedFieldsEntry::new(
                writer,
                ManagedFieldsOperation::Update,
                changed.clone(),
            )),
        }
    }
}
