//! The files of a source, one after the other, within limits that hold for all of them.

use serde_json::Value;
use serde_saphyr::Error;

use super::documents::{self, Document};
use super::located::{Located, Spot};
use super::text::Text;
use super::{MAX_DOCUMENTS, MAX_NODES, MAX_TEXT_BYTES, Manifest, Parsed, explain, foreign, identity, read};
use crate::finding::Finding;
use crate::workload::SourceFile;

/// Reads every document of every file.
pub(super) fn read(files: &[SourceFile]) -> Parsed {
    let mut reader = Reader {
        parsed: Parsed::default(),
        bytes: MAX_TEXT_BYTES,
        documents: MAX_DOCUMENTS,
        nodes: MAX_NODES,
    };
    for file in files {
        if !reader.file(file) {
            break;
        }
    }
    reader.parsed
}

/// What was read, and what may still be read.
struct Reader {
    parsed: Parsed,
    bytes: usize,
    documents: usize,
    nodes: usize,
}

/// What is left to do with a file.
enum Go {
    On,
    NextFile,
    Stop,
}

impl Reader {
    /// Reads one file; false when a limit was passed and nothing more is read.
    fn file(&mut self, file: &SourceFile) -> bool {
        let Some(bytes) = self.bytes.checked_sub(file.text.len()) else {
            self.limit(file, 1, &format!("All files together have more than {} MiB", MAX_TEXT_BYTES >> 20));
            return false;
        };
        self.bytes = bytes;
        for document in documents::split(&file.text) {
            match self.document(file, &document) {
                Go::On => {}
                Go::NextFile => break,
                Go::Stop => return false,
            }
        }
        true
    }

    fn document(&mut self, file: &SourceFile, document: &Document<'_>) -> Go {
        if self.documents == 0 {
            self.limit(file, document.first_line, &format!("There are more than {MAX_DOCUMENTS} documents"));
            return Go::Stop;
        }
        if self.nodes == 0 {
            self.limit(file, document.first_line, &format!("There are more than {MAX_NODES} values"));
            return Go::Stop;
        }
        self.documents -= 1;
        match read::read(document, self.nodes) {
            Ok(located) => self.readable(file, document, located),
            Err(error) => self.unreadable(file, document, &error),
        }
    }

    fn readable(&mut self, file: &SourceFile, document: &Document<'_>, located: Located) -> Go {
        self.nodes = self.nodes.saturating_sub(located.nodes);
        for duplicate in &located.duplicates {
            self.parsed.findings.push(explain::duplicate(duplicate, &file.name));
        }
        if located.value.is_null() {
            return Go::On;
        }
        if !located.value.is_object() {
            return self.no_object(file, &located);
        }
        self.object(file, &Text::of(document), located);
        Go::On
    }

    /// Takes a map in: an object, or a list of objects.
    fn object(&mut self, file: &SourceFile, text: &Text, mut located: Located) {
        if let Some(items) = list_items(&mut located.value) {
            let trees = located.tree.take_items("items");
            let text = text.shared();
            for (value, tree) in items.into_iter().zip(trees) {
                self.object(file, &text, Located { value, tree, nodes: 0, duplicates: Vec::new() });
            }
            return;
        }
        match identity::check(&located, file) {
            None => {
                let place = located.tree.spot.in_file(&file.name);
                self.parsed.manifests.push(Manifest {
                    object: located.value,
                    place,
                    tree: located.tree.into(),
                    text: text.clone(),
                });
            }
            Some(finding) => self.parsed.findings.push(finding),
        }
    }

    fn no_object(&mut self, file: &SourceFile, located: &Located) -> Go {
        if self.foreign(file) {
            return Go::NextFile;
        }
        let finding = explain::no_object(&located.value).placed(Some(located.tree.spot.in_file(&file.name)));
        self.parsed.findings.push(finding);
        Go::On
    }

    fn unreadable(&mut self, file: &SourceFile, document: &Document<'_>, error: &Error) -> Go {
        self.nodes = self.nodes.saturating_sub(cost_of_failure(document.text));
        if self.foreign(file) {
            return Go::NextFile;
        }
        let spot =
            error.location().map_or(Spot { line: document.first_line, column: 1, byte: None }, |location| {
                Spot::of(location, document.first_line)
            });
        self.parsed
            .findings
            .push(explain::unreadable(error, document.text).placed(Some(spot.in_file(&file.name))));
        Go::On
    }

    /// Says once if the whole file is something else than YAML.
    fn foreign(&mut self, file: &SourceFile) -> bool {
        let found = foreign::check(file);
        let is_foreign = found.is_some();
        self.parsed.findings.extend(found);
        is_foreign
    }

    fn limit(&mut self, file: &SourceFile, line: u32, what: &str) {
        let finding = Finding::error(
            "G111",
            format!("{what}; the rest, from {:?} on, was not read.", file.name),
            "Split the workload into smaller ones, or move large content into an image or a volume.",
        );
        self.parsed
            .findings
            .push(finding.placed(Some(Spot { line, column: 1, byte: None }.in_file(&file.name))));
    }
}

/// The items of a `List`, taken out.
fn list_items(value: &mut Value) -> Option<Vec<Value>> {
    // A custom kind may end so too; a list has no name.
    let is_list = value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"))
        && value.pointer("/metadata/name").is_none();
    match value.get_mut("items") {
        Some(Value::Array(items)) if is_list => Some(std::mem::take(items)),
        _ => None,
    }
}

/// How many values a document that failed may have cost to read: at most one for two bytes, and what aliases bring.
fn cost_of_failure(text: &str) -> usize {
    let replayed = if text.contains('&') && text.contains('*') { read::MAX_REPLAYED } else { 0 };
    text.len() / 2 + replayed
}
