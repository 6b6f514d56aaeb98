//! Parses one document with limits.

use std::borrow::Cow;

use serde_saphyr::{DuplicateKeyPolicy, Error, Options, Spanned, alias_limits, budget, options};

use super::documents::YamlDocument;
use super::location::{LocatedValue, ParsedNode};
use super::plain_scalar::ParserText;
use super::{MAX_DEPTH, MAX_DOCUMENT_NODES};

/// Most bytes of text in the values of one document, aliases written out.
const MAX_SCALAR_BYTES: usize = 8 << 20;
/// Most parser events that aliases may replay: the limit against YAML bombs.
pub(super) const MAX_ALIAS_EVENTS: usize = 20_000;

/// Reads one document of at most `nodes` values.
pub(super) fn parse_document(document: &YamlDocument<'_>, nodes: usize) -> Result<LocatedValue, Error> {
    let escaped = escape_for_yaml(document.text);
    let parsed = ParserText::from_text(&escaped);
    let node: Spanned<ParsedNode> = serde_saphyr::from_str_with_options(&parsed.text, limits(nodes))?;
    Ok(LocatedValue::build(node, document.first_line, &parsed.shifts))
}

/// Upper bound of the values parsed from a document that failed: one per two bytes, and the replay limit of aliases.
pub(super) fn cost_of_failure(text: &str) -> usize {
    let replayed = if text.contains('&') && text.contains('*') { MAX_ALIAS_EVENTS } else { 0 };
    text.len() / 2 + replayed
}

fn limits(nodes: usize) -> Options {
    options! {
        budget: budget! {
            max_nodes: nodes.min(MAX_DOCUMENT_NODES),
            max_total_scalar_bytes: MAX_SCALAR_BYTES,
            max_depth: MAX_DEPTH,
            max_documents: 1,
        },
        alias_limits: alias_limits! { max_total_replayed_events: MAX_ALIAS_EVENTS },
        // Both locations of a duplicate are reported, so the parser passes every entry; `LocatedValue` finds duplicates.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        emit_comments: false,
        with_snippet: false,
    }
}

/// Escapes characters that JSON allows in strings and YAML does not; outside of strings JSON has none of them.
fn escape_for_yaml(text: &str) -> Cow<'_, str> {
    if !text.trim_start().starts_with(['{', '[']) || !text.contains(is_not_yaml) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if is_not_yaml(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

fn is_not_yaml(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
