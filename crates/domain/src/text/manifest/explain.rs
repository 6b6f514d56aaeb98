//! Findings about documents that cannot be parsed: what is wrong, why, and what to do (G109, G111).

use serde_json::Value;
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

use super::foreign;
use super::location::{DuplicateKey, INVALID_KEY, LONG_KEY};
use crate::text::finding::Finding;
use crate::text::name_list::join_first;

/// The code of a text that can't be parsed.
pub(super) const INVALID_TEXT: &str = "G109";

/// A duplicate key: one of its two values would be lost.
pub(super) fn duplicate_key(duplicate: &DuplicateKey, file: &str) -> Finding {
    let message = format!(
        "Key {:?} appears twice in the same map, at line {} and at line {}; one of the two values would silently be lost.",
        truncate_text(&duplicate.key),
        duplicate.first.line,
        duplicate.second.line
    );
    Finding::error("G109", message, "Keep one of them.").with_location(Some(duplicate.second.in_file(file)))
}

/// A document that is valid YAML but not an object.
pub(super) fn not_an_object(value: &Value) -> Finding {
    let what = match value {
        Value::Array(_) => "a list",
        Value::String(_) => "plain text",
        _ => "a single value",
    };
    Finding::error(
        "G109",
        format!("This document is {what}, not a Kubernetes object."),
        "Write a map with apiVersion, kind and metadata; several objects are separated by a line with only \"---\".",
    )
}

/// A document that the parser rejected, which could have so many values.
pub(super) fn invalid_yaml(error: &Error, text: &str, max_values: usize) -> Finding {
    let error = innermost_error(error);
    if let Some(finding) = too_large(error, max_values) {
        return finding;
    }
    let (why, hint) = explain_error(error, text);
    Finding::error(INVALID_TEXT, format!("This is not valid YAML: {why}."), hint)
}

/// The innermost error, without the context of aliases and source lines.
fn innermost_error(error: &Error) -> &Error {
    match error.without_snippet() {
        Error::AliasError { error, .. } => innermost_error(error),
        other => other,
    }
}

fn too_large(error: &Error, max_values: usize) -> Option<Finding> {
    if first_line(error).contains(LONG_KEY) {
        let message =
            format!("This document was not read: {LONG_KEY}, because paths to the fields below repeat it.");
        return Some(Finding::error("G111", message, "Shorten the key, or move its text into the value."));
    }
    let what = match error {
        Error::ExternalMessage { msg, .. } if msg.contains("nesting") || msg.contains("recursion") => {
            "is nested too deeply".to_owned()
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => "is nested too deeply".to_owned(),
        Error::Budget { breach: BudgetBreach::ScalarBytes { .. }, .. } => "holds too much text".to_owned(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            format!("holds more than {max_values} values, or aliases that repeat too many of them")
        }
        _ => return None,
    };
    Some(Finding::error(
        "G111",
        format!("This document {what}; it was not read, because reading it could exhaust the memory."),
        "Write the values out instead of repeating them with aliases, or split the document.",
    ))
}

fn explain_error(error: &Error, text: &str) -> (String, String) {
    let (why, hint) = match error {
        Error::UnknownAnchor { .. } => (
            "a value begins with \"*\", which refers to an anchor that does not exist",
            "Put the value in quotes, such as \"*.example.com\", or define the anchor.",
        ),
        Error::NonFiniteFloat { .. } => (
            "infinity and \"not a number\" do not exist in JSON, which Kubernetes uses",
            "Put the value in quotes if it is text.",
        ),
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            ("an alias refers to a value that contains it", "Write the value out.")
        }
        Error::MultipleDocuments { .. } => (
            "something follows after the end of the document",
            "Separate objects by a line with only \"---\".",
        ),
        _ => return explain_syntax_error(&first_line(error), text),
    };
    (why.to_owned(), hint.to_owned())
}

/// Syntax errors with the message of the parser, and the usual cause as the hint.
fn explain_syntax_error(message: &str, text: &str) -> (String, String) {
    let hint = if foreign::has_template(text) {
        foreign::TEMPLATE_HINT
    } else if message.contains("tab") {
        "Indent with spaces; YAML does not allow tabs."
    } else if message.contains("mapping values are not allowed") {
        "Put a value that contains \": \" in quotes, and check that the line is indented as the one above."
    } else if message.contains("document start") {
        "Separate objects by a line with only \"---\"."
    } else if message.contains(INVALID_KEY) {
        "Put the key in quotes; a value that begins with \"{\" needs quotes too."
    } else if message.contains("unexpected character") {
        "Remove the character, or write the text in double quotes with an escape such as \"\\u0007\"."
    } else {
        "Check the indentation, the quotes and the brackets at this line and just above it."
    };
    (message.to_owned(), hint.to_owned())
}

/// The first line of the parser's message, without the location.
fn first_line(error: &Error) -> String {
    let message = error.to_string();
    let line = message.lines().next().unwrap_or_default();
    let line = line.split(" at line ").next().unwrap_or(line);
    truncate_text(line.trim_end_matches('.'))
}

/// At most 160 characters of a text, for a message.
pub(super) fn truncate_text(text: &str) -> String {
    text.chars().take(160).collect()
}

/// Files in a message that names many.
const MAX_NAMES: usize = 5;

/// The files that are left out, because they hold no object.
pub(super) fn left_out(names: &[&str]) -> Finding {
    let quoted: Vec<String> = names.iter().map(|name| format!("{:?}", truncate_text(name))).collect();
    let (are, they) = if names.len() == 1 { ("is", "it has") } else { ("are", "they have") };
    Finding::warning(
        "G109",
        format!("{} {are} left out: {they} no apiVersion and no kind.", join_first(&quoted, MAX_NAMES)),
        "If one should be an object, add both fields; if not, this needs nothing.",
    )
}
