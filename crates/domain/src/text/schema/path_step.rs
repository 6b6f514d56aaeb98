//! Paths in an object during a check: as JSON pointers, and in dotted form for messages.

use std::fmt::Write as _;

use crate::kubernetes::field_path::escape_pointer_token;

/// Maximum number of characters of a text in a message.
const MAX_CHARS: usize = 80;

/// One segment of a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldPathStep<'a> {
    /// A field of a map.
    Key(&'a str),
    /// An item of a list.
    Item(usize),
    /// Any item of a list.
    Each,
}

/// The JSON pointer of a path.
pub(super) fn json_pointer(steps: &[FieldPathStep<'_>]) -> String {
    let mut pointer = String::new();
    for step in steps {
        pointer.push('/');
        match step {
            FieldPathStep::Key(key) => pointer.push_str(&escape_pointer_token(key)),
            // Writing to a String cannot fail.
            FieldPathStep::Item(at) => drop(write!(pointer, "{at}")),
            FieldPathStep::Each => pointer.push('*'),
        }
    }
    pointer
}

/// The path in the form of Kubernetes' messages: `spec.containers[0].env`, `metadata.labels[example.com/tier]`.
pub(super) fn format_path(steps: &[FieldPathStep<'_>]) -> String {
    let mut shown = String::new();
    for step in steps {
        match step {
            FieldPathStep::Key(key) if is_plain(key) => {
                if !shown.is_empty() {
                    shown.push('.');
                }
                shown.push_str(&clip_text(key));
            }
            FieldPathStep::Key(key) => drop(write!(shown, "[{}]", clip_text(key))),
            FieldPathStep::Item(at) => drop(write!(shown, "[{at}]")),
            FieldPathStep::Each => shown.push_str("[]"),
        }
    }
    shown
}

/// The path of a field below `steps`, in the form of Kubernetes' messages.
pub(super) fn format_field_path(steps: &[FieldPathStep<'_>], field: &str) -> String {
    let steps: Vec<FieldPathStep<'_>> = steps.iter().copied().chain([FieldPathStep::Key(field)]).collect();
    format_path(&steps)
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'$'))
}

/// The text, truncated for a message.
pub(super) fn clip_text(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_json_pointer_and_a_dotted_form() {
        let steps = [
            FieldPathStep::Key("metadata"),
            FieldPathStep::Key("labels"),
            FieldPathStep::Key("example.com/tier~1"),
            FieldPathStep::Item(3),
        ];
        assert_eq!(json_pointer(&steps), "/metadata/labels/example.com~1tier~01/3");
        assert_eq!(format_path(&steps), "metadata.labels[example.com/tier~1][3]");
        assert_eq!(format_field_path(&steps[..1], "name"), "metadata.name");
        assert_eq!(format_path(&[FieldPathStep::Key(&"ä".repeat(100))]).chars().count(), 2 + MAX_CHARS + 1);
    }
}
