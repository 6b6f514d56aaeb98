//! Parses the files of a source one after the other, within limits that cover all of them.

use serde_saphyr::Error;

use super::document_text::DocumentText;
use super::documents::{self, YamlDocument};
use super::envelope::{self, Contents};
use super::location::{LocatedValue, TextPosition};
use super::{
    MAX_DOCUMENT_NODES, MAX_DOCUMENTS, MAX_NODES, MAX_TEXT_BYTES, Manifest, ParsedManifests, explain,
    foreign, identity, parser,
};
use crate::kubernetes::object::object_ref;
use crate::text::finding::Finding;
use crate::text::null_character;
use crate::text::source_file::SourceFile;

/// Parses every document of every file.
pub(super) fn parse_files(files: &[SourceFile]) -> ParsedManifests {
    let mut reader = SourceReader {
        parsed: ParsedManifests::default(),
        bytes_left: MAX_TEXT_BYTES,
        documents_left: MAX_DOCUMENTS,
        nodes_left: MAX_NODES,
    };
    for file in files {
        if !reader.read_file(file) {
            break;
        }
    }
    reader.parsed
}

/// G109: a text or a name with the character U+0000.
fn check_characters(located: &LocatedValue, file: &SourceFile) -> Option<Finding> {
    let found = null_character::find_in(&located.value)?;
    let position = located.tree.position_of(&found.path).unwrap_or(located.tree.position);
    let mut message = format!("{}: {}.", object_ref(&located.value), found.describe());
    null_character::replace(&mut message);
    let finding = Finding::error("G109", message, null_character::HINT).with_path(found.path);
    Some(finding.with_location(Some(position.in_file(&file.name))))
}

/// The result so far, and the remaining limits.
struct SourceReader {
    parsed: ParsedManifests,
    bytes_left: usize,
    documents_left: usize,
    nodes_left: usize,
}

/// How to continue after a document.
enum ReadFlow {
    Continue,
    NextFile,
    Stop,
}

impl SourceReader {
    /// Parses one file; false when a limit is exceeded and nothing more is parsed.
    fn read_file(&mut self, file: &SourceFile) -> bool {
        let Some(bytes) = self.bytes_left.checked_sub(file.text.len()) else {
            self.report_limit(
                file,
                1,
                &format!("All files together have more than {} MiB", MAX_TEXT_BYTES >> 20),
            );
            return false;
        };
        self.bytes_left = bytes;
        for document in documents::split_documents(&file.text) {
            match self.read_document(file, &document) {
                ReadFlow::Continue => {}
                ReadFlow::NextFile => break,
                ReadFlow::Stop => return false,
            }
        }
        true
    }

    fn read_document(&mut self, file: &SourceFile, document: &YamlDocument<'_>) -> ReadFlow {
        if self.documents_left == 0 {
            return self.stop_at_document_limit(file, document.first_line);
        }
        if self.nodes_left == 0 {
            self.report_limit(file, document.first_line, &format!("There are more than {MAX_NODES} values"));
            return ReadFlow::Stop;
        }
        self.documents_left -= 1;
        match parser::parse_document(document, self.nodes_left) {
            Ok(located) => self.add_document(file, document, located),
            Err(error) => self.reject_invalid(file, document, &error),
        }
    }

    fn add_document(
        &mut self,
        file: &SourceFile,
        document: &YamlDocument<'_>,
        located: LocatedValue,
    ) -> ReadFlow {
        self.nodes_left = self.nodes_left.saturating_sub(located.nodes);
        for duplicate in &located.duplicates {
            self.parsed.findings.push(explain::duplicate_key(duplicate, &file.name));
        }
        if located.value.is_null() {
            return ReadFlow::Continue;
        }
        if !located.value.is_object() {
            return self.reject_non_object(file, &located);
        }
        self.add_object(file, &DocumentText::from_document(document), located)
    }

    /// Adds a map: an object, or an envelope of objects, each of which counts as a document in place of the envelope.
    fn add_object(&mut self, file: &SourceFile, text: &DocumentText, mut located: LocatedValue) -> ReadFlow {
        if let Some(Contents { items, path }) = envelope::take_contents(&mut located.value) {
            self.documents_left += 1;
            let trees = located.tree.take_items(path);
            let text = text.to_shared();
            for (value, tree) in items.into_iter().zip(trees) {
                if self.documents_left == 0 {
                    return self.stop_at_document_limit(file, tree.position.line.max(1));
                }
                self.documents_left -= 1;
                let item = LocatedValue { value, tree, nodes: 0, duplicates: Vec::new() };
                if let ReadFlow::Stop = self.add_object(file, &text, item) {
                    return ReadFlow::Stop;
                }
            }
            return ReadFlow::Continue;
        }
        match identity::check(&located, file).or_else(|| check_characters(&located, file)) {
            None => {
                let place = located.tree.position.in_file(&file.name);
                self.parsed.manifests.push(Manifest {
                    object: located.value,
                    location: place,
                    tree: located.tree.into(),
                    text: text.clone(),
                });
            }
            Some(finding) => self.parsed.findings.push(finding),
        }
        ReadFlow::Continue
    }

    fn stop_at_document_limit(&mut self, file: &SourceFile, line: u32) -> ReadFlow {
        self.report_limit(file, line, &format!("There are more than {MAX_DOCUMENTS} documents"));
        ReadFlow::Stop
    }

    fn reject_non_object(&mut self, file: &SourceFile, located: &LocatedValue) -> ReadFlow {
        if self.report_foreign_file(file) {
            return ReadFlow::NextFile;
        }
        let finding = explain::not_an_object(&located.value)
            .with_location(Some(located.tree.position.in_file(&file.name)));
        self.parsed.findings.push(finding);
        ReadFlow::Continue
    }

    fn reject_invalid(&mut self, file: &SourceFile, document: &YamlDocument<'_>, error: &Error) -> ReadFlow {
        self.nodes_left = self.nodes_left.saturating_sub(parser::cost_of_failure(document.text));
        if self.report_foreign_file(file) {
            return ReadFlow::NextFile;
        }
        let position = error
            .location()
            .map_or(TextPosition { line: document.first_line, column: 1, byte: None }, |location| {
                TextPosition::from_location(location, document.first_line)
            });
        let finding = explain::invalid_yaml(error, document.text, MAX_DOCUMENT_NODES);
        self.parsed.findings.push(finding.with_location(Some(position.in_file(&file.name))));
        ReadFlow::Continue
    }

    /// Adds one finding if the whole file is not YAML; returns whether it does.
    fn report_foreign_file(&mut self, file: &SourceFile) -> bool {
        let found = foreign::check_file(file);
        let is_foreign = found.is_some();
        self.parsed.findings.extend(found);
        is_foreign
    }

    fn report_limit(&mut self, file: &SourceFile, line: u32, what: &str) {
        let finding = Finding::error(
            "G111",
            format!("{what}; the rest, from {:?} on, was not read.", file.name),
            "Split the workload into smaller ones, or move large content into an image or a volume.",
        );
        self.parsed.findings.push(
            finding.with_location(Some(TextPosition { line, column: 1, byte: None }.in_file(&file.name))),
        );
    }
}
