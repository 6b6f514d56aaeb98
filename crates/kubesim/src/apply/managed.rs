//! `metadata.managedFields`: one entry per manager, operation, version and subresource.

use serde_json::{Value, json};

use super::Writer;
use super::fields::FieldSet;
use crate::object::{self, text};

/// How a manager wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

/// What one manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub manager: String,
    pub operation: Operation,
    pub api_version: String,
    pub subresource: String,
    pub time: String,
    pub set: FieldSet,
}

impl Entry {
    fn new(writer: Writer<'_>, operation: Operation, set: FieldSet) -> Entry {
        Entry {
            manager: writer.manager.to_owned(),
            operation,
            api_version: writer.api_version.to_owned(),
            subresource: writer.subresource.to_owned(),
            time: writer.now.to_owned(),
            set,
        }
    }

    /// An applier is the same in every version, an updater is not.
    fn is(&self, writer: Writer<'_>, operation: Operation) -> bool {
        self.manager == writer.manager
            && self.operation == operation
            && self.subresource == writer.subresource
            && (operation == Operation::Apply || self.api_version == writer.api_version)
    }

    fn same(&self, other: &Entry) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && self.api_version == other.api_version
    }

    fn parse(value: &Value) -> Entry {
        let operation =
            if text(value, "operation") == "Apply" { Operation::Apply } else { Operation::Update };
        Entry {
            manager: text(value, "manager").to_owned(),
            operation,
            api_version: text(value, "apiVersion").to_owned(),
            subresource: text(value, "subresource").to_owned(),
            time: text(value, "time").to_owned(),
            set: value.get("fieldsV1").map(FieldSet::from_json).unwrap_or_default(),
        }
    }

    fn to_json(&self) -> Value {
        let mut out = json!({
            "manager": self.manager,
            "operation": if self.operation == Operation::Apply { "Apply" } else { "Update" },
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.set.to_json(),
        });
        if !self.subresource.is_empty() {
            out["subresource"] = self.subresource.clone().into();
        }
        out
    }
}

/// All entries of one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Managers {
    entries: Vec<Entry>,
}

impl Managers {
    /// Reads an object's entries.
    pub(crate) fn of(object: &Value) -> Managers {
        let entries = object::list(object, "metadata.managedFields").iter().map(Entry::parse);
        Managers { entries: entries.filter(|e| !e.set.is_empty()).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the entries: appliers first, then by time and name.
    pub(crate) fn write(mut self, object: &mut Value) {
        self.entries.retain(|e| !e.set.is_empty());
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
            object::remove(object, "metadata.managedFields");
            return;
        }
        let list: Vec<Value> = self.entries.iter().map(Entry::to_json).collect();
        object::put(object, "metadata.managedFields", list);
    }

    /// Gives the content of an object without bookkeeping to `before-first-apply`.
    pub(crate) fn adopt(&mut self, set: FieldSet, writer: Writer<'_>) {
        let writer = Writer { manager: "before-first-apply", subresource: "", ..writer };
        self.entries.push(Entry::new(writer, Operation::Update, set));
    }

    /// What the writer applied last.
    pub(crate) fn applied(&self, writer: Writer<'_>) -> Option<&FieldSet> {
        self.entries.iter().find(|e| e.is(writer, Operation::Apply)).map(|e| &e.set)
    }

    /// The writer now applies exactly `set`. An unchanged entry keeps its time.
    pub(crate) fn put_applied(&mut self, writer: Writer<'_>, set: FieldSet) {
        match self.entries.iter_mut().find(|e| e.is(writer, Operation::Apply)) {
            Some(entry) if entry.set == set && entry.api_version == writer.api_version => {}
            Some(entry) => *entry = Entry::new(writer, Operation::Apply, set),
            None => self.entries.push(Entry::new(writer, Operation::Apply, set)),
        }
    }

    /// Everything somebody owns.
    pub(crate) fn union(&self) -> FieldSet {
        let mut all = FieldSet::default();
        self.entries.iter().for_each(|e| all.add(&e.set));
        all
    }

    /// Other managers' fields among `touched`.
    pub(crate) fn conflicts(&self, writer: Writer<'_>, touched: &FieldSet) -> Vec<(Entry, FieldSet)> {
        self.overlaps(writer, Operation::Apply, touched)
    }

    /// The same for a plain write, which takes them without asking.
    pub(crate) fn conflicts_of_update(
        &self,
        writer: Writer<'_>,
        touched: &FieldSet,
    ) -> Vec<(Entry, FieldSet)> {
        self.overlaps(writer, Operation::Update, touched)
    }

    fn overlaps(
        &self,
        writer: Writer<'_>,
        operation: Operation,
        touched: &FieldSet,
    ) -> Vec<(Entry, FieldSet)> {
        let others = self.entries.iter().filter(|e| !e.is(writer, operation));
        others
            .map(|e| (e.clone(), e.set.intersection(touched)))
            .filter(|(_, overlap)| !overlap.is_empty())
            .collect()
    }

    /// The owners lose these fields.
    pub(crate) fn take_from(&mut self, conflicts: &[(Entry, FieldSet)]) {
        for (owner, set) in conflicts {
            if let Some(entry) = self.entries.iter_mut().find(|e| e.same(owner)) {
                entry.set = entry.set.difference(set);
            }
        }
    }

    /// Nobody owns fields that are gone.
    pub(crate) fn drop_removed(&mut self, removed: &FieldSet) {
        if removed.is_empty() {
            return;
        }
        for entry in &mut self.entries {
            entry.set = entry.set.difference(removed);
        }
    }

    /// A plain write owns what it changed.
    pub(crate) fn extend_updated(&mut self, writer: Writer<'_>, changed: &FieldSet, removed: &FieldSet) {
        match self.entries.iter_mut().find(|e| e.is(writer, Operation::Update)) {
            Some(entry) => {
                let set = entry.set.difference(removed).union(changed);
                if entry.set != set {
                    entry.set = set;
                    entry.time = writer.now.to_owned();
                }
            }
            None => self.entries.push(Entry::new(writer, Operation::Update, changed.clone())),
        }
    }
}
