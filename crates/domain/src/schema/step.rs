//! Where one is in an object while walking through it: as a JSON pointer for machines, with dots for people.

use std::fmt::Write as _;

/// Most characters of one key that are shown.
const LONGEST: usize = 80;

/// One step into a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    /// Into the field of a map.
    Key(&'a str),
    /// Into the item of a list.
    Item(usize),
    /// Into any item of a list, or any value of a map.
    Each,
}

/// The JSON pointer of a place.
pub(super) fn pointer(steps: &[Step<'_>]) -> String {
    let mut pointer = String::new();
    for step in steps {
        pointer.push('/');
        match step {
            Step::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
            // Writing to a String cannot fail.
            Step::Item(at) => drop(write!(pointer, "{at}")),
            Step::Each => pointer.push('*'),
        }
    }
    pointer
}

/// The place as Kubernetes writes it: `spec.containers[0].env`, `metadata.labels[example.com/tier]`.
pub(super) fn shown(steps: &[Step<'_>]) -> String {
    let mut shown = String::new();
    for step in steps {
        match step {
            Step::Key(key) if is_plain(key) => {
                if !shown.is_empty() {
                    shown.push('.');
                }
                shown.push_str(&clipped(key));
            }
            Step::Key(key) => drop(write!(shown, "[{}]", clipped(key))),
            Step::Item(at) => drop(write!(shown, "[{at}]")),
            Step::Each => shown.push_str("[]"),
        }
    }
    shown
}

/// The place with one more field.
pub(super) fn with(steps: &[Step<'_>], field: &str) -> String {
    let steps: Vec<Step<'_>> = steps.iter().copied().chain([Step::Key(field)]).collect();
    shown(&steps)
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'$'))
}

/// Text of unknown length, short enough for a message.
pub(super) fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_to_machines_and_to_people() {
        let steps =
            [Step::Key("metadata"), Step::Key("labels"), Step::Key("example.com/tier~1"), Step::Item(3)];
        assert_eq!(pointer(&steps), "/metadata/labels/example.com~1tier~01/3");
        assert_eq!(shown(&steps), "metadata.labels[example.com/tier~1][3]");
        assert_eq!(with(&steps[..1], "name"), "metadata.name");
        assert_eq!(shown(&[Step::Key(&"ä".repeat(100))]).chars().count(), 2 + LONGEST + 1);
    }
}
