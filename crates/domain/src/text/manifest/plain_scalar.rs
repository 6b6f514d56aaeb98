//! Plain scalars that `kubectl` reads otherwise than the parser. They are written in a notation that both read alike before a
//! document is parsed.
//!
//! `kubectl` reads YAML as `go.yaml.in/yaml/v2` does (`resolve.go` there): words such as `true` and `null` count in three
//! spellings, underscores in numbers are left out wherever they stand, and what no float can hold is text.

use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle};

/// Words that are truth values or null in lower case, capitalized and in upper case, and text in every other spelling.
const WORDS: [&str; 7] = ["true", "false", "yes", "no", "on", "off", "null"];

/// The text that is parsed.
pub(super) struct ParserText<'a> {
    pub text: Cow<'a, str>,
    pub shifts: TextShifts,
}

/// How much further to the right text stands in what is parsed than in the document: one entry per replacement, in their order.
#[derive(Debug, Default)]
pub(super) struct TextShifts(Vec<TextShift>);

#[derive(Debug)]
struct TextShift {
    /// The end of the replacement, in bytes of the parsed text.
    end: usize,
    /// The line in the document, from 1.
    line: usize,
    /// Bytes and characters that all replacements up to this one added; negative if they became shorter.
    growth: i64,
    /// The same of those in the lines before.
    growth_before_line: i64,
}

impl<'a> ParserText<'a> {
    pub(super) fn from_text(text: &'a str) -> Self {
        if !has_candidate(text) {
            return Self { text: Cow::Borrowed(text), shifts: TextShifts::default() };
        }
        let mut changed = String::with_capacity(text.len() + 16);
        let (mut shifts, mut copied) = (TextShifts::default(), 0);
        let mut parser = Parser::new_from_str(text);
        // The error of an invalid document is reported by the parse that follows.
        while let Some(Ok((event, span))) = parser.next_event() {
            let Event::Scalar(scalar, ScalarStyle::Plain, _, None) = &event else { continue };
            let Some(start) = span.start.byte_offset().filter(|start| *start >= copied) else { continue };
            let Some(replacement) = replacement_of(scalar) else { continue };
            // The text of a scalar on several lines is not its value, and no number or word.
            if !text.get(start..).is_some_and(|rest| rest.starts_with(&**scalar)) {
                continue;
            }
            changed.push_str(&text[copied..start]);
            changed.push_str(&replacement);
            copied = start + scalar.len();
            shifts.push(changed.len(), span.start.line(), to_i64(replacement.len()) - to_i64(scalar.len()));
        }
        if shifts.0.is_empty() {
            return Self { text: Cow::Borrowed(text), shifts };
        }
        changed.push_str(&text[copied..]);
        Self { text: Cow::Owned(changed), shifts }
    }
}

impl TextShifts {
    fn push(&mut self, end: usize, line: usize, growth: i64) {
        let (before, growth_before_line) = match self.0.last() {
            Some(last) if last.line == line => (last.growth, last.growth_before_line),
            Some(last) => (last.growth, last.growth),
            None => (0, 0),
        };
        self.0.push(TextShift { end, line, growth: before + growth, growth_before_line });
    }

    /// By how many bytes and columns what begins at this byte of the parsed text stands further to the right than in the document. `line`
    /// is its line in the document.
    pub(super) fn shift_at(&self, byte: u32, line: u32) -> (i64, i64) {
        let before = self.0.partition_point(|shift| shift.end <= byte as usize);
        let Some(last) = before.checked_sub(1).and_then(|at| self.0.get(at)) else { return (0, 0) };
        let is_same_line = last.line == line as usize;
        (last.growth, if is_same_line { last.growth - last.growth_before_line } else { 0 })
    }
}

fn to_i64(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Whether a scalar may have to be replaced. It is found without parsing, so that the text of nearly all documents is parsed once.
fn has_candidate(text: &str) -> bool {
    text.split(|c: char| c.is_ascii_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}' | ':'))
        .any(|token| replacement_of(token).is_some())
}

/// The notation in which a plain scalar without a tag is written for the parser; `None` if it reads it as `kubectl` does.
fn replacement_of(scalar: &str) -> Option<String> {
    let first = *scalar.as_bytes().first()?;
    let quoted = || Some(format!("'{scalar}'"));
    match first {
        b'a'..=b'z' | b'A'..=b'Z' => has_other_case(scalar).then(quoted)?,
        b'.' | b'0'..=b'9' | b'+' | b'-' if scalar.contains('\'') => None,
        b'.' if scalar.contains('_') => {
            let number = scalar.replace('_', "");
            let separates_digits = scalar
                .as_bytes()
                .windows(3)
                .filter(|bytes| bytes[1] == b'_')
                .all(|bytes| bytes[0].is_ascii_digit() && bytes[2].is_ascii_digit());
            (separates_digits && !scalar.ends_with('_') && is_float(&number)).then_some(number)
        }
        b'.' | b'0'..=b'9' | b'+' | b'-' => {
            if is_infinity_or_nan_in_other_case(scalar) {
                return quoted();
            }
            let has_underscore = scalar.contains('_');
            let plain =
                if has_underscore { Cow::Owned(scalar.replace('_', "")) } else { Cow::Borrowed(scalar) };
            match is_integer_with_base(&plain) {
                Some(true) => has_underscore.then(|| plain.into_owned()),
                Some(false) => quoted(),
                None if is_float(&plain) => has_underscore.then(|| plain.into_owned()),
                None => is_too_large(&plain).then(quoted)?,
            }
        }
        _ => None,
    }
}

/// Whether it is one of the words in a spelling such as `tRue`.
fn has_other_case(scalar: &str) -> bool {
    let is_capitalized = || {
        let (first, rest) = scalar.split_at(1);
        first.chars().all(|c| c.is_ascii_uppercase()) && rest.chars().all(|c| c.is_ascii_lowercase())
    };
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(scalar))
        && !scalar.chars().all(|c| c.is_ascii_lowercase())
        && !scalar.chars().all(|c| c.is_ascii_uppercase())
        && !is_capitalized()
}

/// Whether the parser reads an infinity or no number where `kubectl` reads text, such as `.iNF` and `-.nan`.
fn is_infinity_or_nan_in_other_case(scalar: &str) -> bool {
    let unsigned = scalar.strip_prefix(['+', '-']).unwrap_or(scalar);
    let is_infinity = unsigned.eq_ignore_ascii_case(".inf");
    let is_nan = unsigned.eq_ignore_ascii_case(".nan");
    (is_infinity && ![".inf", ".Inf", ".INF"].contains(&unsigned))
        || (is_nan && ![".nan", ".NaN", ".NAN"].contains(&scalar))
}

/// Whether digits behind `0x`, `0o` or `0b` are an integer of 64 bits; `None` without such a prefix. With a sign it has 63 bits.
fn is_integer_with_base(plain: &str) -> Option<bool> {
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let base = match unsigned.get(..2)? {
        "0x" | "0X" => 16,
        "0o" | "0O" => 8,
        "0b" | "0B" => 2,
        _ => return None,
    };
    let digits = &unsigned[2..];
    let limit = match plain.as_bytes().first() {
        Some(b'-') => 1 << 63,
        Some(b'+') => (1 << 63) - 1,
        _ => u64::MAX,
    };
    let is_integer = digits.starts_with(|c: char| c.is_ascii_alphanumeric())
        && u64::from_str_radix(digits, base).is_ok_and(|number| number <= limit);
    Some(is_integer)
}

/// Whether it is a decimal number that a float can hold.
fn is_float(plain: &str) -> bool {
    is_decimal(plain) && plain.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether it is a decimal number that no float can hold, such as `12e3456`, which a commit id can look like.
fn is_too_large(plain: &str) -> bool {
    is_decimal(plain) && plain.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// A sign, digits with a point, and an exponent: `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_decimal(plain: &str) -> bool {
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    let has_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && is_digits(digits)
    });
    has_digits && is_digits(whole) && is_digits(fraction) && has_exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_read_alike_is_not_changed() {
        for scalar in [
            "true",
            "True",
            "TRUE",
            "yes",
            "Off",
            "NULL",
            "y",
            "1",
            "-1",
            "+1",
            "010",
            "0x1F",
            "0b11",
            "1.5",
            "1e3",
            ".5",
            "5.",
            "~",
            "",
            "tru",
            "1.2.3",
            "1,000",
            "1:30",
            ".inf",
            "-.INF",
            ".nan",
            "v1_2",
            "2001-01-01",
            "nullable",
            "10m",
            "1Gi",
            "+",
            "-",
            ".",
            "truE-ish",
        ] {
            assert_eq!(replacement_of(scalar), None, "{scalar}");
        }
    }

    #[test]
    fn numbers_lose_their_underscores_and_what_is_text_gets_quotes() {
        for (scalar, expected) in [
            ("1_", "1"),
            ("1__0", "10"),
            ("1_0.5", "10.5"),
            ("0_8", "08"),
            ("1e1_0", "1e10"),
            ("0b1_", "0b1"),
            (".5_0", ".50"),
            ("+_1", "+1"),
            ("tRue", "'tRue'"),
            ("nULL", "'nULL'"),
            ("oN", "'oN'"),
            ("12e3456", "'12e3456'"),
            ("1_2e3456", "'1_2e3456'"),
            (".iNF", "'.iNF'"),
            ("-.nan", "'-.nan'"),
            ("0xFFFF_FFFF_FFFF_FFFF_F", "'0xFFFF_FFFF_FFFF_FFFF_F'"),
        ] {
            assert_eq!(replacement_of(scalar).as_deref(), Some(expected), "{scalar}");
        }
        for text in ["._5", ".5_", "1_:30", "2001-01-01_", "_1", "-_"] {
            assert_eq!(replacement_of(text), None, "{text}");
        }
    }

    #[test]
    fn only_plain_scalars_are_changed_and_positions_stay_those_of_the_document() {
        let text = "# tRue\na: 'tRue'\nb: \"1_\"\nc: |\n  1_ tRue\nd: !!str 1_\ne: {f: tRue, g: 1_}\nh: 1\n";
        let parsed = ParserText::from_text(text);
        let expected = text.replace("f: tRue, g: 1_}", "f: 'tRue', g: 1}");
        assert_eq!(parsed.text, expected);
        let find = |text: &str, key: &str| {
            let byte = text.find(key).unwrap();
            let column = byte - text[..byte].rfind('\n').unwrap();
            (i64::try_from(byte).unwrap(), i64::try_from(column).unwrap())
        };
        for (key, line) in [("e: {", 7), ("f: ", 7), ("g: ", 7), ("h: ", 8)] {
            let (byte, column) = find(&parsed.text, key);
            let (bytes, columns) = parsed.shifts.shift_at(u32::try_from(byte).unwrap(), line);
            assert_eq!((byte - bytes, column - columns), find(text, key), "{key}");
        }
    }
}
