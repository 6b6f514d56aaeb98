//! The ids of elements to which addresses lead.

/// The id of the editor of a file.
pub fn editor_anchor(file: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("file-{}", file.chars().map(safe).collect::<String>())
}
