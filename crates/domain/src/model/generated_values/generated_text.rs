//! The generated parts of a text: where they are, and their values in another text of the same form.

use serde::{Deserialize, Serialize};

/// A generated part of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextRange {
    start: usize,
    end: usize,
}

/// The parts in which two texts differ, of the first one. They are compared line by line if both have as many lines. A part is
/// extended to whole words: two random values may begin or end with equal characters.
pub(super) fn find_ranges(first: &str, second: &str) -> Vec<TextRange> {
    let lines = first.split('\n').count();
    if lines != second.split('\n').count() {
        return vec![difference(first, second)];
    }
    let mut ranges = Vec::new();
    let mut start = 0;
    for (one, other) in first.split('\n').zip(second.split('\n')) {
        if one != other {
            let TextRange { start: from, end } = difference(one, other);
            ranges.push(TextRange { start: start + from, end: start + end });
        }
        start += one.len() + 1;
    }
    ranges
}

/// The one part in which two different texts differ.
fn difference(first: &str, second: &str) -> TextRange {
    let equal = |(a, b): &(char, char)| a == b;
    let prefix: usize = first.chars().zip(second.chars()).take_while(equal).map(|(c, _)| c.len_utf8()).sum();
    let (rest, other) = (&first[prefix..], &second[prefix..]);
    let suffix: usize =
        rest.chars().rev().zip(other.chars().rev()).take_while(equal).map(|(c, _)| c.len_utf8()).sum();
    let is_word = |c: &char| c.is_alphanumeric();
    let before: usize = first[..prefix].chars().rev().take_while(is_word).map(char::len_utf8).sum();
    let end = first.len() - suffix;
    let after: usize = first[end..].chars().take_while(is_word).map(char::len_utf8).sum();
    TextRange { start: prefix - before, end: end + after }
}

/// The values that `current` has in place of the generated parts of `fresh`; `None` if they can't be told.
///
/// The texts may have the same form, or other lines: then each generated part is found by what stands before and behind it in
/// its line, if exactly one line of `current` has that.
pub(super) fn extract_values<'t>(
    fresh: &str,
    ranges: &[TextRange],
    current: &'t str,
) -> Option<Vec<&'t str>> {
    same_form(fresh, ranges, current)
        .or_else(|| ranges.iter().map(|range| by_line(fresh, *range, current)).collect())
}

/// The values if `current` differs in nothing but the generated parts.
fn same_form<'t>(fresh: &str, ranges: &[TextRange], current: &'t str) -> Option<Vec<&'t str>> {
    let (first, last) = (ranges.first()?, ranges.last()?);
    let mut rest = current.strip_prefix(fresh.get(..first.start)?)?;
    let mut values = Vec::with_capacity(ranges.len());
    for pair in ranges.windows(2) {
        let (value, behind) = rest.split_once(fresh.get(pair[0].end..pair[1].start)?)?;
        values.push(value);
        rest = behind;
    }
    values.push(rest.strip_suffix(fresh.get(last.end..)?)?);
    Some(values)
}

fn by_line<'t>(fresh: &str, range: TextRange, current: &'t str) -> Option<&'t str> {
    let before = fresh.get(..range.start)?.rsplit('\n').next().unwrap_or_default();
    let behind = fresh.get(range.end..)?.split('\n').next().unwrap_or_default();
    if before.trim().is_empty() && behind.trim().is_empty()
        || fresh.get(range.start..range.end)?.contains('\n')
    {
        return None;
    }
    let value = |line: &'t str| line.strip_prefix(before)?.strip_suffix(behind);
    let mut found = current.split('\n').filter_map(value);
    found.next().filter(|_| found.next().is_none())
}

/// `fresh` with these values in place of its generated parts.
pub(super) fn insert_values(fresh: &str, ranges: &[TextRange], values: &[&str]) -> Option<String> {
    let mut text = String::with_capacity(fresh.len());
    let mut at = 0;
    for (range, value) in ranges.iter().zip(values) {
        text.push_str(fresh.get(at..range.start)?);
        text.push_str(value);
        at = range.end;
    }
    text.push_str(fresh.get(at..)?);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(first: &str, second: &str, fresh: &str, current: &str) -> Option<String> {
        let ranges = find_ranges(first, second);
        // The form of a later run is that of the first one.
        assert_eq!(first.len(), fresh.len());
        insert_values(fresh, &ranges, &extract_values(fresh, &ranges, current)?)
    }

    #[test]
    fn a_value_that_is_random_as_a_whole_is_kept() {
        assert_eq!(keep("aXk2", "aYq2", "bZZ9", "old-1").as_deref(), Some("old-1"));
    }

    #[test]
    fn the_text_around_a_random_value_follows_the_rendering() {
        let run = |password: &str| format!("size: l\npassword: {password}\nport: 80\n");
        let kept = keep(&run("aab"), &run("abb"), &run("xyz"), "size: s\npassword: old\n");
        assert_eq!(kept.as_deref(), Some("size: l\npassword: old\nport: 80\n"));
        let address = |password: &str, host: &str| format!("db://app:{password}@{host}/shop");
        let (first, second) = (address("aab", "east"), address("abb", "east"));
        assert_eq!(keep(&first, &second, &first, &address("old", "east")), Some(address("old", "east")));
        assert_eq!(keep(&first, &second, &first, &address("old", "west")), None, "the host changed");
    }

    #[test]
    fn a_certificate_of_several_lines_is_kept_whole_and_beside_other_changes_not_at_all() {
        let pem = |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
        let (first, second) = (pem("MIIa\nbcd"), pem("MIIx\nyzw"));
        assert_eq!(keep(&first, &second, &first, &pem("MIIo\nold")), Some(pem("MIIo\nold")));
        let (longer, current) = (pem("MIIx\nyzw\nv"), pem("MIIo\nold\nolder\nstill"));
        assert_eq!(keep(&first, &longer, &first, &current), Some(current));
        let ranges = find_ranges(&first, &second);
        assert_eq!(extract_values(&first, &ranges, "other: text"), None);
    }

    #[test]
    fn two_lines_that_could_hold_the_value_are_ambiguous() {
        let (first, second) = ("key=aab\nmode: x", "key=abb\nmode: x");
        assert_eq!(keep(first, second, first, "key=one\nkey=two"), None);
    }
}
