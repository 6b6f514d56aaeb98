//! The YAML text as model of the form: parsed when typing pauses, edited on every input of the form.

use std::time::Duration;

use domain::Finding;
use domain::field_path::FieldPath;
use domain::workload::SourceFile;
use domain::yaml_edit::{self, EditError};
use leptos::prelude::*;
use serde_json::Value;

use super::objects::{self, ObjectLocation, SourceObject};
use crate::parsing::parse_text;
use crate::workloads::source::fields::FileDrafts;

/// Pause in typing after which the form is updated from the text.
const PAUSE: Duration = Duration::from_millis(200);

type KeyedFiles = Vec<(u32, SourceFile)>;

/// The files, their parsed objects and their findings.
#[derive(Debug, Clone, Copy)]
pub struct SourceText {
    drafts: FileDrafts,
    parsed_files: RwSignal<KeyedFiles>,
    objects: Memo<(Vec<SourceObject>, bool)>,
    findings: Memo<Vec<Finding>>,
    rejected_edit: RwSignal<Option<EditError>>,
}

impl SourceText {
    /// The model of the text of `drafts`.
    pub fn new(drafts: FileDrafts, findings: Memo<Vec<Finding>>) -> Self {
        let parsed_files = RwSignal::new(untrack(|| keyed_files(drafts)));
        let mut refresh = debounce(PAUSE, move |now: KeyedFiles| parsed_files.set(now));
        Effect::new(move |before: Option<()>| {
            let now = keyed_files(drafts);
            if before.is_some() {
                refresh(now);
            }
        });
        // While the text is invalid, the form shows the last valid objects.
        let objects = Memo::new(move |before: Option<&(Vec<SourceObject>, bool)>| {
            match (parsed_files.with(|files| parse_text(|| objects::parse_objects(files))), before) {
                (Some(objects), _) => (objects, true),
                (None, Some((objects, _))) => (objects.clone(), false),
                (None, None) => (Vec::new(), false),
            }
        });
        Self { drafts, parsed_files, objects, findings, rejected_edit: RwSignal::new(None) }
    }

    /// Key and text of each file.
    pub fn texts(self) -> Vec<(u32, String)> {
        self.drafts.texts().into_iter().map(|(key, _, text)| (key, text)).collect()
    }

    /// Every object of the text.
    pub fn objects(self) -> Vec<SourceObject> {
        self.objects.with(|(objects, _)| objects.clone())
    }

    /// The first object that satisfies `holds`.
    pub fn find(self, holds: impl Fn(&Value) -> bool) -> Option<SourceObject> {
        self.objects.with(|(objects, _)| objects.iter().find(|object| holds(&object.value)).cloned())
    }

    /// Why the text can't be parsed, or why the last edit was rejected.
    pub fn error(self) -> Option<String> {
        if !self.objects.with(|(_, readable)| *readable) {
            return Some("The YAML is invalid: fix it in the editor, then the form is updated.".to_owned());
        }
        self.rejected_edit.get().map(|why| why.to_string())
    }

    /// The object at a location.
    pub fn object(self, at: ObjectLocation) -> Option<Value> {
        self.with_object(at, |value| value.clone())
    }

    /// The value at a JSON pointer of an object.
    pub fn value(self, at: ObjectLocation, path: &str) -> Option<Value> {
        self.with_object(at, |value| value.pointer(path).cloned()).flatten()
    }

    /// The scalar at a JSON pointer as text; empty if there is none.
    pub fn scalar(self, at: ObjectLocation, path: &str) -> String {
        let text = |value: &Value| domain::field_path::scalar_text(value).map(std::borrow::Cow::into_owned);
        self.with_object(at, |value| value.pointer(path).and_then(text)).flatten().unwrap_or_default()
    }

    /// The number of items of a list.
    pub fn count(self, at: ObjectLocation, path: &str) -> usize {
        self.with_object(at, |value| value.pointer(path).and_then(Value::as_array).map_or(0, Vec::len))
            .unwrap_or(0)
    }

    fn with_object<T>(self, at: ObjectLocation, look: impl Fn(&Value) -> T) -> Option<T> {
        self.objects.with(|(objects, _)| {
            objects.iter().find(|object| object.location == at).map(|object| look(&object.value))
        })
    }

    /// The findings about a field of an object; with `below`, also about what is in it.
    pub fn findings(self, at: ObjectLocation, path: &str, below: bool) -> Vec<Finding> {
        let about = self.with_object(at, |value| format!("{} ", objects::kind(value))).unwrap_or_default();
        let name = self.with_object(at, |value| objects::name(value).to_owned()).unwrap_or_default();
        let here = |finding: &Finding| {
            let object = finding
                .object
                .strip_prefix(&about)
                .is_some_and(|rest| rest.rsplit('/').next() == Some(&name));
            let inside = || finding.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
            object && (finding.path == path || (below && inside()))
        };
        self.findings.with(|all| all.iter().filter(|finding| here(finding)).cloned().collect())
    }

    /// Changes the text of one file. A rejected edit leaves it unchanged and is reported by [`Self::error`].
    pub fn edit_file(self, file: u32, change: impl Fn(&str) -> Result<String, EditError>) {
        let Some(text) = self.drafts.text_signal(file) else { return };
        match change(&text.get_untracked()) {
            Ok(new) => {
                self.rejected_edit.set(None);
                if text.with_untracked(|old| *old != new) {
                    text.set(new);
                    self.parsed_files.set(untrack(|| keyed_files(self.drafts)));
                }
            }
            Err(why) => self.rejected_edit.set(Some(why)),
        }
    }

    /// Sets a value.
    pub fn set_value(self, at: ObjectLocation, path: &str, value: &Value) {
        self.edit_file(at.file, |text| yaml_edit::set(text, at.document, &parse_path(path), value));
    }

    /// Removes a field and the maps and lists above it that are empty then.
    pub fn remove_value(self, at: ObjectLocation, path: &str) {
        self.edit_file(at.file, |text| remove_field(text, at.document, path));
    }

    /// Stores the input of a field; in a number field as a number, if it is one.
    pub fn set_input(self, at: ObjectLocation, path: &str, typed: &str, number: bool) {
        match typed.parse::<u32>() {
            Ok(n) if number => self.set_value(at, path, &Value::from(n)),
            _ => self.set_value(at, path, &Value::from(typed)),
        }
    }

    /// Appends a document to the first file.
    pub fn append_object(self, object: &Value) {
        let first = self.drafts.texts().first().map(|(key, ..)| *key);
        if let Some(file) = first {
            self.edit_file(file, |text| Ok(yaml_edit::add_document(text, object)));
        }
    }

    /// Appends a document to the file of `at`.
    pub fn append_object_to_file(self, at: ObjectLocation, object: &Value) {
        self.edit_file(at.file, |text| Ok(yaml_edit::add_document(text, object)));
    }

    /// Removes a document.
    pub fn remove_object(self, at: ObjectLocation) {
        self.edit_file(at.file, |text| yaml_edit::remove_document(text, at.document));
    }

    /// This name, or with a numeric suffix if an object has it already.
    pub fn find_free_name(self, name: &str) -> String {
        let is_taken = |name: &str| {
            self.find(|value| objects::is_workload(value) && objects::name(value) == name).is_some()
        };
        let numbered = || (2..).map(|n| format!("{name}-{n}")).find(|name| !is_taken(name));
        if is_taken(name) { numbered().unwrap_or_default() } else { name.to_owned() }
    }
}

fn keyed_files(drafts: FileDrafts) -> KeyedFiles {
    drafts.texts().into_iter().map(|(key, name, text)| (key, SourceFile { name, text })).collect()
}

/// Parses a path. All paths here consist of constants and numbers and are valid.
fn parse_path(path: &str) -> FieldPath {
    path.parse().unwrap_or_default()
}

/// Removes a field from the text, with the maps and lists above it that are empty then; except the structural ones.
pub fn remove_field(text: &str, document: usize, path: &str) -> Result<String, EditError> {
    const STRUCTURAL_FIELDS: [&str; 4] = ["spec", "metadata", "containers", "template"];
    let mut text = yaml_edit::remove(text, document, &parse_path(path))?;
    let mut path = path;
    while let Some((above, _)) = path.rsplit_once('/') {
        let last = above.rsplit('/').next().unwrap_or_default();
        if above.is_empty() || STRUCTURAL_FIELDS.contains(&last) || last.parse::<usize>().is_ok() {
            break;
        }
        let value = yaml_edit::parse_documents(&text).into_iter().nth(document).flatten();
        let empty = |value: &Value| {
            value.as_object().is_some_and(serde_json::Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty)
        };
        if !value.as_ref().and_then(|value| value.pointer(above)).is_some_and(empty) {
            break;
        }
        text = yaml_edit::remove(&text, document, &parse_path(above))?;
        path = above;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_a_field_removes_the_maps_that_are_empty_then() {
        let text = "spec:\n  replicas: 1\n  template:\n    resources:\n      limits:\n        memory: 1Gi\n";
        let left = remove_field(text, 0, "/spec/template/resources/limits/memory").unwrap();
        assert_eq!(left, "spec:\n  replicas: 1\n  template: {}\n");
        let two = "resources:\n  limits:\n    memory: 1Gi\n  requests: {cpu: 1}\n";
        assert_eq!(
            remove_field(two, 0, "/resources/limits/memory").unwrap(),
            "resources:\n  requests: {cpu: 1}\n"
        );
    }
}
