//! The generated parts of a text: where they are, and their values in another text of the same form.

use serde::{Deserialize, Serialize};

/// A generated part of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextRange {
    start: usize,
    end: usize,
}

/// The parts in which two texts differ, of the first one. They are compared line by line if both have as many lines. A part is
/// extended to whole words and to lines of base64: two random values may begin or end with equal characters.
pub(super) fn find_ranges(first: &str, second: &str) -> Vec<TextRange> {
    let lines = first.split('\n').count();
    if lines != second.split('\n').count() {
        return whole_pem_blocks(first, vec![difference(first, second)]);
    }
    let mut ranges: Vec<TextRange> = Vec::new();
    let mut start = 0;
    for (one, other) in first.split('\n').zip(second.split('\n')) {
        if one != other {
            let TextRange { start: from, end } = difference(one, other);
            let (from, end) = (start + from, start + end);
            match ranges.last_mut() {
                // Whole lines in sequence are one part: another certificate may have more of them.
                Some(before) if before.end + 1 == from => before.end = end,
                _ => ranges.push(TextRange { start: from, end }),
            }
        }
        start += one.len() + 1;
    }
    whole_pem_blocks(first, ranges)
}

/// Extends every part to the whole of the PEM blocks that it is in: lines that two certificates have in common are elsewhere in a
/// third one.
fn whole_pem_blocks(text: &str, ranges: Vec<TextRange>) -> Vec<TextRange> {
    let mut blocks = Vec::new();
    let (mut at, mut begun) = (0, None);
    for line in text.split('\n') {
        let next = at + line.len() + 1;
        if line.trim_start().starts_with("-----BEGIN ") {
            begun = Some(next);
        } else if line.trim_start().starts_with("-----END ") {
            let body = begun.take().filter(|begun| *begun < at);
            blocks.extend(body.map(|begun| TextRange { start: begun, end: at - 1 }));
        }
        at = next;
    }
    let mut whole: Vec<TextRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let inside = blocks.iter().filter(|block| block.start < range.end && range.start < block.end);
        let TextRange { start, end } = inside.fold(range, |range, block| TextRange {
            start: range.start.min(block.start),
            end: range.end.max(block.end),
        });
        match whole.last_mut() {
            Some(before) if start <= before.end => before.end = before.end.max(end),
            _ => whole.push(TextRange { start, end }),
        }
    }
    whole
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
    whole_base64_lines(first, TextRange { start: prefix - before, end: end + after })
}

/// Shortest line that is taken for one of base64, as keys and certificates are written: such a line has 64 characters.
const BASE64_LINE: usize = 60;

/// Extends a part to the lines of base64 in which it begins and ends, and over the padding at an end: two values may have it in
/// common, and a third one not.
fn whole_base64_lines(text: &str, TextRange { start, end }: TextRange) -> TextRange {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let line_of = |at: usize| {
        let from = text[..at].rfind('\n').map_or(0, |line| line + 1);
        let to = text[at..].find('\n').map_or(text.len(), |line| at + line);
        (from, to, to - from >= BASE64_LINE && text[from..to].bytes().all(is_base64))
    };
    let (first_line, _, begins_in_base64) = line_of(start);
    let (_, last_line, ends_in_base64) = line_of(end);
    let is_padding = text[end..last_line].bytes().all(|byte| byte == b'=');
    TextRange {
        start: if begins_in_base64 { first_line } else { start },
        end: if ends_in_base64 || is_padding { last_line } else { end },
    }
}

/// The values that `current` has in place of the generated parts of `rendered`; `None` if they can't be told.
///
/// The texts may have the same form, or other lines: then each generated part is found by what stands before and behind it in
/// its line, if exactly one line of `current` has that.
pub(super) fn extract_values<'t>(
    rendered: &str,
    ranges: &[TextRange],
    current: &'t str,
) -> Option<Vec<&'t str>> {
    same_form(rendered, ranges, current)
        .or_else(|| ranges.iter().map(|range| by_line(rendered, *range, current)).collect())
}

/// The values if `current` differs in nothing but the generated parts.
fn same_form<'t>(rendered: &str, ranges: &[TextRange], current: &'t str) -> Option<Vec<&'t str>> {
    let (first, last) = (ranges.first()?, ranges.last()?);
    let mut rest = current.strip_prefix(rendered.get(..first.start)?)?;
    let mut values = Vec::with_capacity(ranges.len());
    for pair in ranges.windows(2) {
        let (value, behind) = rest.split_once(rendered.get(pair[0].end..pair[1].start)?)?;
        values.push(value);
        rest = behind;
    }
    values.push(rest.strip_suffix(rendered.get(last.end..)?)?);
    Some(values)
}

fn by_line<'t>(rendered: &str, range: TextRange, current: &'t str) -> Option<&'t str> {
    let before = rendered.get(..range.start)?.rsplit('\n').next().unwrap_or_default();
    let behind = rendered.get(range.end..)?.split('\n').next().unwrap_or_default();
    if before.trim().is_empty() && behind.trim().is_empty()
        || rendered.get(range.start..range.end)?.contains('\n')
    {
        return None;
    }
    let value = |line: &'t str| line.strip_prefix(before)?.strip_suffix(behind);
    let mut found = current.split('\n').filter_map(value);
    found.next().filter(|_| found.next().is_none())
}

/// `rendered` with these values in place of its generated parts.
pub(super) fn insert_values(rendered: &str, ranges: &[TextRange], values: &[&str]) -> Option<String> {
    let mut text = String::with_capacity(rendered.len());
    let mut at = 0;
    for (range, value) in ranges.iter().zip(values) {
        text.push_str(rendered.get(at..range.start)?);
        text.push_str(value);
        at = range.end;
    }
    text.push_str(rendered.get(at..)?);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retain(first: &str, second: &str, rendered: &str, current: &str) -> Option<String> {
        let ranges = find_ranges(first, second);
        // The form of a later run is that of the first one.
        assert_eq!(first.len(), rendered.len());
        insert_values(rendered, &ranges, &extract_values(rendered, &ranges, current)?)
    }

    #[test]
    fn a_value_that_is_random_as_a_whole_stays() {
        assert_eq!(retain("aXk2", "aYq2", "bZZ9", "old-1").as_deref(), Some("old-1"));
    }

    #[test]
    fn the_text_around_a_random_value_follows_the_rendering() {
        let run = |password: &str| format!("size: l\npassword: {password}\nport: 80\n");
        let retained = retain(&run("aab"), &run("abb"), &run("xyz"), "size: s\npassword: old\n");
        assert_eq!(retained.as_deref(), Some("size: l\npassword: old\nport: 80\n"));
        let address = |password: &str, host: &str| format!("db://app:{password}@{host}/shop");
        let (first, second) = (address("aab", "east"), address("abb", "east"));
        assert_eq!(retain(&first, &second, &first, &address("old", "east")), Some(address("old", "east")));
        assert_eq!(retain(&first, &second, &first, &address("old", "west")), None, "the host changed");
    }

    #[test]
    fn a_certificate_of_several_lines_stays_whole_and_beside_other_changes_not_at_all() {
        let pem = |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
        let (first, second) = (pem("MIIa\nbcd"), pem("MIIx\nyzw"));
        for current in [pem("MIIo\nold"), pem("MIIo"), pem("MIIo\nold\nmore")] {
            assert_eq!(retain(&first, &second, &first, &current), Some(current));
        }
        let (longer, current) = (pem("MIIx\nyzw\nv"), pem("MIIo\nold\nolder\nstill"));
        assert_eq!(retain(&first, &longer, &first, &current), Some(current));
        let ranges = find_ranges(&first, &second);
        assert_eq!(extract_values(&first, &ranges, "other: text"), None);
    }

    #[test]
    fn lines_that_two_certificates_have_in_common_are_no_part_of_the_form() {
        let pem = |lines: [&str; 3]| {
            format!(
                "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\nname: web\n",
                lines.join("\n")
            )
        };
        let (first, second) = (pem(["a1", "same", "b1"]), pem(["a2", "same", "b2"]));
        let current = pem(["a3", "sam", "eb3"]);
        assert_eq!(retain(&first, &second, &first, &current), Some(current));
    }

    #[test]
    fn padding_and_symbols_that_two_keys_have_in_common_are_no_part_of_the_form() {
        let key =
            |line: &str, last: &str| format!("-----BEGIN KEY-----\n{line}\n{last}\n-----END KEY-----\n");
        let line = |from: &str, to: &str| format!("{from}{}{to}", "a".repeat(56));
        let (first, second) = (key(&line("+/xx", "+yyy"), "M20="), key(&line("+/zz", "+yyy"), "Q2l="));
        let current = key(&line("abcd", "efgh"), "x7");
        assert_eq!(retain(&first, &second, &first, &current), Some(current));
    }

    #[test]
    fn two_lines_that_could_hold_the_value_are_ambiguous() {
        let (first, second) = ("key=aab\nmode: x", "key=abb\nmode: x");
        assert_eq!(retain(first, second, first, "key=one\nkey=two"), None);
    }
}
