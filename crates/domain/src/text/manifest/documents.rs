//! The documents of a file.
//!
//! Splitting before parsing prevents an error in one document from hiding the next. This is safe in YAML: a line that
//! begins with `---` or `...` ends any open scalar.

/// One document: its text, markers included, where that begins in the file, in bytes, and the number of its first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct YamlDocument<'a> {
    pub text: &'a str,
    pub start: usize,
    pub first_line: u32,
}

/// The documents of `text` that hold anything but comments.
pub(crate) fn split_documents(text: &str) -> Vec<YamlDocument<'_>> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut splitter =
        Splitter { text, documents: Vec::new(), start, first_line: 1, started: false, full: false };
    let (mut at, mut line) = (start, 1_u32);
    for row in text[start..].split_inclusive('\n') {
        splitter.push_line(row, at, line);
        at += row.len();
        line = line.saturating_add(1);
    }
    splitter.finish_document(at, line);
    splitter.documents
}

struct Splitter<'a> {
    text: &'a str,
    documents: Vec<YamlDocument<'a>>,
    start: usize,
    first_line: u32,
    /// Whether the document has its `---` already.
    started: bool,
    /// Whether it holds anything but comments, directives and markers.
    full: bool,
}

impl Splitter<'_> {
    fn push_line(&mut self, row: &str, at: usize, line: u32) {
        if is_marker(row, "---") {
            if self.started || self.full {
                self.finish_document(at, line);
            }
            self.started = true;
            self.full |= has_content(&row[3..]);
        } else if is_marker(row, "...") {
            self.finish_document(at + row.len(), line.saturating_add(1));
        } else {
            self.full |= has_content(row) && (self.started || !row.starts_with('%'));
        }
    }

    fn finish_document(&mut self, end: usize, next_line: u32) {
        if self.full {
            let text = &self.text[self.start..end];
            self.documents.push(YamlDocument { text, start: self.start, first_line: self.first_line });
        }
        (self.start, self.first_line, self.started, self.full) = (end, next_line, false, false);
    }
}

fn is_marker(row: &str, marker: &str) -> bool {
    row.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn has_content(row: &str) -> bool {
    let row = row.trim();
    !row.is_empty() && !row.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_keep_the_number_of_their_first_line() {
        let text = "\u{feff}# head\n---\na: 1\n---\n# only a comment\n--- # b\nb: 2\n...\nc: 3\n";
        let found = split_documents(text);
        let lines: Vec<_> = found.iter().map(|document| (document.first_line, document.text)).collect();
        assert_eq!(lines, [(1, "# head\n---\na: 1\n"), (6, "--- # b\nb: 2\n...\n"), (9, "c: 3\n")]);
        assert!(found.iter().all(|document| text[document.start..].starts_with(document.text)));
    }

    #[test]
    fn a_directive_belongs_to_the_document_after_it() {
        assert_eq!(split_documents("%YAML 1.1\n---\na: 1\n").len(), 1);
    }

    #[test]
    fn a_marker_in_the_middle_of_a_line_or_a_longer_one_splits_nothing() {
        assert_eq!(split_documents("a: ---\nb: |\n  ---\n-----BEGIN\n").len(), 1);
        assert_eq!(split_documents("").len(), 0);
        assert_eq!(split_documents("a: 1\r\n---\r\nb: 2\r\n").len(), 2);
    }
}
