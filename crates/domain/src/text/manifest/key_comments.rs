//! The comments above the keys of a YAML map, as authors of charts describe their values in `values.yaml`.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::location::PositionTree;
use super::{MAX_DOCUMENT_NODES, documents, parser};
use crate::kubernetes::field_path::escape_pointer_token;

/// Longest description, in characters; longer ones are cut.
const MAX_DESCRIPTION_CHARS: usize = 300;
/// Longest JSON pointer of a key that is described, in bytes: a long key is a part of the pointers of all keys below it.
const MAX_POINTER_BYTES: usize = 1_024;
/// Most bytes of the descriptions and their pointers together; the keys after them have none.
const MAX_BYTES: usize = 2 << 20;

/// The description of every key that has one, by JSON pointer. Empty for a text that is not one valid document, which other
/// checks report.
///
/// The comment lines directly above a key belong to it. Where the tools that generate documentation mark the start of a
/// description (`# -- text` of helm-docs, `## @param key text` of readme-generator), the lines before the mark are left out,
/// and otherwise the lines that are values commented out.
pub fn read_key_comments(text: &str) -> BTreeMap<String, String> {
    let documents = documents::split_documents(text);
    let [document] = documents.as_slice() else { return BTreeMap::new() };
    let Ok(located) = parser::parse_document(document, MAX_DOCUMENT_NODES) else { return BTreeMap::new() };
    let mut collector = Collector {
        tree: &located.tree,
        lines: text.lines().collect(),
        by_line: HashMap::new(),
        found: BTreeMap::new(),
        remaining_bytes: MAX_BYTES,
    };
    collector.collect(&located.value, "");
    collector.found
}

struct Collector<'a> {
    tree: &'a PositionTree,
    lines: Vec<&'a str>,
    /// The descriptions by line: one line can have thousands of keys below thousands of lines of comments.
    by_line: HashMap<usize, Option<String>>,
    found: BTreeMap<String, String>,
    remaining_bytes: usize,
}

impl Collector<'_> {
    fn collect(&mut self, value: &Value, parent: &str) {
        let Value::Object(map) = value else { return };
        for (key, child) in map {
            if self.remaining_bytes == 0 {
                return;
            }
            if parent.len() + key.len() >= MAX_POINTER_BYTES {
                continue;
            }
            let pointer = format!("{parent}/{}", escape_pointer_token(key));
            if let Some(position) = self.tree.position_of(&pointer) {
                self.describe(&pointer, position.line as usize);
            }
            self.collect(child, &pointer);
        }
    }

    fn describe(&mut self, pointer: &str, line: usize) {
        let lines = &self.lines;
        let description = self.by_line.entry(line).or_insert_with(|| describe_line(lines, line));
        let Some(description) = description else { return };
        let bytes = pointer.len() + description.len();
        if bytes > self.remaining_bytes {
            self.remaining_bytes = 0;
            return;
        }
        self.remaining_bytes -= bytes;
        self.found.insert(pointer.to_owned(), description.clone());
    }
}

/// The description of the key in this line, counted from 1.
fn describe_line(lines: &[&str], line: usize) -> Option<String> {
    let above = lines.get(..line.checked_sub(1)?)?;
    let is_comment = |line: &&&str| line.trim_start().starts_with('#');
    let mut comments: Vec<&str> = above.iter().rev().take_while(is_comment).map(|line| strip(line)).collect();
    comments.reverse();
    let marked = comments.iter().rposition(|line| line.starts_with("-- ") || line.starts_with("@param "));
    let description = match marked {
        Some(start) => {
            let first = strip_mark(comments[start]);
            std::iter::once(first).chain(comments[start + 1..].iter().copied()).collect::<Vec<_>>()
        }
        // A blank comment line ends what belongs to other keys.
        None => {
            let start = comments.iter().rposition(|line| line.is_empty()).map_or(0, |blank| blank + 1);
            comments[start..].iter().copied().filter(|line| !is_commented_value(line)).collect()
        }
    };
    let description = description.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = description.chars().filter(|c| !c.is_control()).take(MAX_DESCRIPTION_CHARS).collect();
    (!shown.is_empty()).then_some(shown)
}

/// A comment line without its marker.
fn strip(line: &str) -> &str {
    line.trim_start().trim_start_matches('#').trim()
}

/// The text after `-- ` or `@param key [type]`.
fn strip_mark(line: &str) -> &str {
    if let Some(text) = line.strip_prefix("-- ") {
        return text;
    }
    let text = line.strip_prefix("@param ").unwrap_or(line);
    let after_key = text.split_once(' ').map_or("", |(_, rest)| rest).trim_start();
    match after_key.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(after_key, |(_, text)| text.trim_start()),
        None => after_key,
    }
}

/// Whether a comment is a value that is commented out: `key: value` with a key that is one word, or a list item.
fn is_commented_value(line: &str) -> bool {
    let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    line.starts_with("- ")
        || line.strip_suffix(':').is_some_and(is_word)
        || line.split_once(": ").is_some_and(|(key, _)| is_word(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_directly_above_a_key_describe_it() {
        let text = "\
# Number of pods
# on every cluster.
replicaCount: 1

image:
  # -- Where the image is,
  # without a tag
  repository: web
  ## A heading
  # -- unrelated
  ## @param image.tag [string] Tag of the image
  tag: v1
# registry: quay.io
pullPolicy: Always
# Notes on other keys.
#
# Of this one.
last: true # not this
";
        let found = read_key_comments(text);
        let expected = [
            ("/image/repository", "Where the image is, without a tag"),
            ("/image/tag", "Tag of the image"),
            ("/last", "Of this one."),
            ("/replicaCount", "Number of pods on every cluster."),
        ];
        let found: Vec<(&str, &str)> =
            found.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn p19_the_comment_above_a_line_with_many_keys_is_read_once() {
        let keys: Vec<String> = (0..12_000).map(|number| format!("k{number}: 1")).collect();
        let comments = "# text\n".repeat(40_000);
        let found = read_key_comments(&format!("{comments}a: {{{}}}\n", keys.join(", ")));
        assert!(found["/a"].starts_with("text text") && found.contains_key("/a/k0"));
        let bytes: usize = found.iter().map(|(path, text)| path.len() + text.len()).sum();
        assert!(bytes <= MAX_BYTES && found.len() < 12_000, "{bytes} bytes of {} keys", found.len());
    }

    #[test]
    fn p19_keys_below_a_long_key_have_no_descriptions() {
        let long = "K".repeat(2 * MAX_POINTER_BYTES);
        let text = format!("# first\na: 1\n? {long}\n:\n  # below\n  b: 1\n# last\nz: 1\n");
        let found = read_key_comments(&text);
        assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), ["/a", "/z"]);
    }

    #[test]
    fn a_text_that_is_not_one_document_has_no_descriptions() {
        assert!(read_key_comments("# a\na: [\n").is_empty());
        assert!(read_key_comments("a: 1\n---\nb: 1\n").is_empty());
        assert!(read_key_comments("").is_empty());
    }
}
