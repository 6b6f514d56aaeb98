//! The comments above the keys of a YAML map, as authors of charts describe their values in `values.yaml`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::location::PositionTree;
use super::{MAX_DOCUMENT_NODES, documents, parser};
use crate::kubernetes::field_path::escape_pointer_token;

/// Longest description, in characters; longer ones are cut.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// The description of every key that has one, by JSON pointer. Empty for a text that is not one valid document, which other
/// checks report.
///
/// The comment lines directly above a key belong to it. Where the tools that generate documentation mark the start of a
/// description (`# -- text` of helm-docs, `## @param key text` of readme-generator), the lines before the mark are left out,
/// and otherwise the lines that are values commented out.
pub fn read_key_comments(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let documents = documents::split_documents(text);
    let [document] = documents.as_slice() else { return found };
    let Ok(located) = parser::parse_document(document, MAX_DOCUMENT_NODES) else { return found };
    let lines: Vec<&str> = text.lines().collect();
    collect(&located.value, &located.tree, "", &lines, &mut found);
    found
}

fn collect(
    value: &Value,
    tree: &PositionTree,
    pointer: &str,
    lines: &[&str],
    found: &mut BTreeMap<String, String>,
) {
    let Value::Object(map) = value else { return };
    for (key, child) in map {
        let pointer = format!("{pointer}/{}", escape_pointer_token(key));
        let line = tree.position_of(&pointer).map(|position| position.line as usize);
        if let Some(description) = line.and_then(|line| describe_line(lines, line)) {
            found.insert(pointer.clone(), description);
        }
        collect(child, tree, &pointer, lines, found);
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
    fn a_text_that_is_not_one_document_has_no_descriptions() {
        assert!(read_key_comments("# a\na: [\n").is_empty());
        assert!(read_key_comments("a: 1\n---\nb: 1\n").is_empty());
        assert!(read_key_comments("").is_empty());
    }
}
