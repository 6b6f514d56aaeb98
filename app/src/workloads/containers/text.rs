//! The text as the form sees it: read when typing pauses, changed at once.

use std::time::Duration;

use domain::Finding;
use domain::edit::{self, Refused};
use domain::path::Path;
use domain::workload::SourceFile;
use leptos::prelude::*;
use serde_json::Value;

use super::objects::{self, At, Object};
use crate::workloads::files::Drafts;

/// A person stops typing for this long before the form follows the text.
const PAUSE: Duration = Duration::from_millis(200);

type Files = Vec<(u32, SourceFile)>;

/// The files, what they say, and what the guard rails say of it.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    drafts: Drafts,
    seen: RwSignal<Files>,
    objects: Memo<(Vec<Object>, bool)>,
    findings: Memo<Vec<Finding>>,
    refused: RwSignal<Option<Refused>>,
}

impl Text {
    /// The text of these files.
    pub fn new(drafts: Drafts, findings: Memo<Vec<Finding>>) -> Self {
        let seen = RwSignal::new(untrack(|| files(drafts)));
        let mut look = debounce(PAUSE, move |now: Files| seen.set(now));
        Effect::new(move |before: Option<()>| {
            let now = files(drafts);
            if before.is_some() {
                look(now);
            }
        });
        // While the text has a mistake, the form shows what it said before.
        let objects = Memo::new(move |before: Option<&(Vec<Object>, bool)>| {
            match (seen.with(|files| objects::read(files)), before) {
                (Some(objects), _) => (objects, true),
                (None, Some((objects, _))) => (objects.clone(), false),
                (None, None) => (Vec::new(), false),
            }
        });
        Self { drafts, seen, objects, findings, refused: RwSignal::new(None) }
    }

    /// Every object of the text.
    pub fn objects(self) -> Vec<Object> {
        self.objects.with(|(objects, _)| objects.clone())
    }

    /// The first object for which this holds.
    pub fn find(self, holds: impl Fn(&Value) -> bool) -> Option<Object> {
        self.objects.with(|(objects, _)| objects.iter().find(|object| holds(&object.value)).cloned())
    }

    /// Why the form can't follow the text, or why the last change was not made.
    pub fn trouble(self) -> Option<String> {
        if !self.objects.with(|(_, readable)| *readable) {
            return Some("The text has a mistake; the form waits until it is mended there.".to_owned());
        }
        self.refused.get().map(|why| why.to_string())
    }

    /// The object at a place.
    pub fn object(self, at: At) -> Option<Value> {
        self.find_at(at, |value| value.clone())
    }

    /// The value at a JSON pointer of an object.
    pub fn value(self, at: At, path: &str) -> Option<Value> {
        self.find_at(at, |value| value.pointer(path).cloned()).flatten()
    }

    /// The same as text; empty when there is none, or when it is no scalar.
    pub fn scalar(self, at: At, path: &str) -> String {
        let text = |value: &Value| domain::path::scalar(value).map(std::borrow::Cow::into_owned);
        self.find_at(at, |value| value.pointer(path).and_then(text)).flatten().unwrap_or_default()
    }

    /// How many items a list has.
    pub fn count(self, at: At, path: &str) -> usize {
        self.find_at(at, |value| value.pointer(path).and_then(Value::as_array).map_or(0, Vec::len))
            .unwrap_or(0)
    }

    fn find_at<T>(self, at: At, look: impl Fn(&Value) -> T) -> Option<T> {
        self.objects.with(|(objects, _)| {
            objects.iter().find(|object| object.at == at).map(|object| look(&object.value))
        })
    }

    /// The findings about a field of an object; with `below`, also about what is in it.
    pub fn findings(self, at: At, path: &str, below: bool) -> Vec<Finding> {
        let about = self.find_at(at, |value| format!("{} ", objects::kind(value))).unwrap_or_default();
        let name = self.find_at(at, |value| objects::name(value).to_owned()).unwrap_or_default();
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

    /// Changes one file's text; what can't be changed is said and left alone.
    pub fn change(self, file: u32, change: impl Fn(&str) -> Result<String, Refused>) {
        let Some(text) = self.drafts.text(file) else { return };
        match change(&text.get_untracked()) {
            Ok(new) => {
                self.refused.set(None);
                if text.with_untracked(|old| *old != new) {
                    text.set(new);
                    self.seen.set(untrack(|| files(self.drafts)));
                }
            }
            Err(why) => self.refused.set(Some(why)),
        }
    }

    /// Sets a value.
    pub fn set(self, at: At, path: &str, value: &Value) {
        self.change(at.file, |text| edit::set(text, at.document, &parsed(path), value));
    }

    /// Removes a field with the maps and lists above it that held nothing else.
    pub fn remove(self, at: At, path: &str) {
        self.change(at.file, |text| pruned(text, at.document, path));
    }

    /// What was typed into a field; a number becomes one if the field wants numbers.
    pub fn typed(self, at: At, path: &str, typed: &str, number: bool) {
        match typed.parse::<u32>() {
            Ok(n) if number => self.set(at, path, &Value::from(n)),
            _ => self.set(at, path, &Value::from(typed)),
        }
    }

    /// Puts a document behind the others of the first file.
    pub fn add(self, object: &Value) {
        let first = self.drafts.texts().first().map(|(key, ..)| *key);
        if let Some(file) = first {
            self.change(file, |text| Ok(edit::add_document(text, object)));
        }
    }

    /// Puts a document behind the others of a file.
    pub fn add_beside(self, at: At, object: &Value) {
        self.change(at.file, |text| Ok(edit::add_document(text, object)));
    }

    /// Removes a document.
    pub fn remove_object(self, at: At) {
        self.change(at.file, |text| edit::remove_document(text, at.document));
    }

    /// This name, or with a number behind it if an object has it already.
    pub fn free_name(self, name: &str) -> String {
        let taken = |name: &str| {
            self.find(|value| objects::is_workload(value) && objects::name(value) == name).is_some()
        };
        let numbered = || (2..).map(|n| format!("{name}-{n}")).find(|name| !taken(name));
        if taken(name) { numbered().unwrap_or_default() } else { name.to_owned() }
    }
}

fn files(drafts: Drafts) -> Files {
    drafts.texts().into_iter().map(|(key, name, text)| (key, SourceFile { name, text })).collect()
}

/// A path of ours; it is made from constants and numbers.
fn parsed(path: &str) -> Path {
    path.parse().unwrap_or_default()
}

/// The text without a field, and without what held only it. The bones of an object stay.
pub fn pruned(text: &str, document: usize, path: &str) -> Result<String, Refused> {
    const BONES: [&str; 4] = ["spec", "metadata", "containers", "template"];
    let mut text = edit::remove(text, document, &parsed(path))?;
    let mut path = path;
    while let Some((above, _)) = path.rsplit_once('/') {
        let last = above.rsplit('/').next().unwrap_or_default();
        if above.is_empty() || BONES.contains(&last) || last.parse::<usize>().is_ok() {
            break;
        }
        let value = edit::documents(&text).into_iter().nth(document).flatten();
        let empty = |value: &Value| {
            value.as_object().is_some_and(serde_json::Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty)
        };
        if !value.as_ref().and_then(|value| value.pointer(above)).is_some_and(empty) {
            break;
        }
        text = edit::remove(&text, document, &parsed(above))?;
        path = above;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_emptied_goes_with_what_held_only_it() {
        let text = "spec:\n  replicas: 1\n  template:\n    resources:\n      limits:\n        memory: 1Gi\n";
        let left = pruned(text, 0, "/spec/template/resources/limits/memory").unwrap();
        assert_eq!(left, "spec:\n  replicas: 1\n  template: {}\n");
        let two = "resources:\n  limits:\n    memory: 1Gi\n  requests: {cpu: 1}\n";
        assert_eq!(pruned(two, 0, "/resources/limits/memory").unwrap(), "resources:\n  requests: {cpu: 1}\n");
    }
}
