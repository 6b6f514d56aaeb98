//! Formatting of numbers, lists and names.

use leptos::prelude::*;

/// `1 cluster`, `3 clusters`.
pub fn pluralize(n: u32, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `a`, `a and b`, `a, b and 3 more`: at most `shown` names.
pub fn join_names(names: &[String], total: usize, shown: usize) -> String {
    let total = total.max(names.len());
    let head: Vec<&str> = names.iter().take(shown).map(String::as_str).collect();
    match (head.as_slice(), total - head.len()) {
        ([], 0) => "none".to_owned(),
        ([only], 0) => (*only).to_owned(),
        ([most @ .., last], 0) => format!("{} and {last}", most.join(", ")),
        (some, more) => format!("{} and {more} more", some.join(", ")),
    }
}

/// Splits text at commas and spaces.
pub fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty())
}

/// The units of durations.
const UNITS: [&str; 5] = ["ms", "s", "min", "h", "d"];

/// The text; no line breaks between a number and its unit of time.
pub fn unbroken_durations(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        let core = word.trim_end().trim_end_matches([',', '.', ':', ';']);
        if UNITS.contains(&core) && ends_with_number(&joined) {
            joined.pop();
            joined.push('\u{a0}');
        }
        joined.push_str(word);
    }
    joined
}

fn ends_with_number(words: &str) -> bool {
    words.ends_with(' ') && words.trim_end().ends_with(|last: char| last.is_ascii_digit())
}

/// Text as HTML, also in an attribute.
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The content of a textarea as HTML. The HTML parser drops one leading line break, so one is added.
pub fn textarea_html(text: &str) -> String {
    let html = escape_html(text);
    if html.starts_with('\n') { format!("\n{html}") } else { html }
}

/// A part of a text for [`unbroken`].
#[derive(Debug, PartialEq, Eq)]
enum TextPart {
    /// Plain words.
    Words(String),
    /// A word that a browser could break, such as the name of a cluster.
    Name(String),
}

fn split_names(text: &str) -> Vec<TextPart> {
    let mut parts = Vec::new();
    for word in text.split_inclusive(' ') {
        match parts.last_mut() {
            _ if word.contains(['-', '/']) => parts.push(TextPart::Name(word.to_owned())),
            Some(TextPart::Words(words)) => words.push_str(word),
            _ => parts.push(TextPart::Words(word.to_owned())),
        }
    }
    parts
}

/// The text; names in it do not break across lines.
pub fn unbroken(text: &str) -> AnyView {
    let part = |part: TextPart| match part {
        TextPart::Words(words) => words.into_any(),
        TextPart::Name(name) => {
            let space = name.ends_with(' ').then_some(" ");
            view! { <span class="unbroken">{name.trim_end().to_owned()}</span> {space} }.into_any()
        }
    };
    split_names(text).into_iter().map(part).collect_view().into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_ends_with_the_number_of_omitted_names() {
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(join_names(&names, 3, 5), "a, b and c");
        assert_eq!(join_names(&names, 9, 2), "a, b and 7 more");
        assert_eq!(join_names(&names[..1], 1, 3), "a");
        assert_eq!(join_names(&[], 0, 3), "none");
    }

    #[test]
    fn a_text_closes_neither_its_element_nor_its_attribute() {
        assert_eq!(escape_html("</textarea><script>"), "&lt;/textarea&gt;&lt;script&gt;");
        assert_eq!(escape_html("\" onfocus=\"&lt;"), "&quot; onfocus=&quot;&amp;lt;");
    }

    #[test]
    fn a_textarea_keeps_a_leading_line_break() {
        assert_eq!(textarea_html("\na: <1>"), "\n\na: &lt;1&gt;");
        assert_eq!(textarea_html("a: 1"), "a: 1");
    }

    #[test]
    fn a_number_stays_beside_its_unit_of_time() {
        assert_eq!(unbroken_durations("leaves in 14 min"), "leaves in 14\u{a0}min");
        assert_eq!(
            unbroken_durations("2 failing, the oldest for 5 h."),
            "2 failing, the oldest for 5\u{a0}h."
        );
        assert_eq!(unbroken_durations("a min of 3 releases"), "a min of 3 releases");
    }

    #[test]
    fn names_in_a_text_are_parts_of_their_own() {
        let (words, name) =
            (|text: &str| TextPart::Words(text.into()), |text: &str| TextPart::Name(text.into()));
        assert_eq!(
            split_names("add eu-west-3 to the names"),
            [words("add "), name("eu-west-3 "), words("to the names")]
        );
    }
}
