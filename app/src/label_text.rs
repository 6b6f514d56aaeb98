//! Labels as text in forms: `key=value`, separated by commas or spaces.

use domain::Finding;
use domain::labels::Labels;

/// Parses a label written as `key=value`.
pub fn parse_label(text: &str) -> Result<(String, String), Finding> {
    let bad = || {
        Finding::error(
            "G215",
            format!("{text:?} is not a label."),
            "Write it as key=value, such as tier=edge.",
        )
    };
    let (key, value) = text.trim().split_once('=').ok_or_else(bad)?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Writes labels as [`parse_labels`] reads them.
pub fn write_labels(labels: &Labels) -> String {
    let words: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    words.join(" ")
}

/// Parses labels separated by commas or spaces.
#[cfg(feature = "ssr")]
pub fn parse_labels(text: &str) -> Result<Labels, Finding> {
    crate::components::split_words(text).map(parse_label).collect()
}
