//! Makes foreign text safe for a terminal.

/// Removes control characters (C0, C1) and characters that change the writing direction: a message from a cluster must not
/// move the cursor, hide text or imitate another message. Line breaks and tabs become spaces.
pub fn sanitize(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' => Some(' '),
            c if c.is_control() || is_direction_mark(c) => None,
            c => Some(c),
        })
        .collect()
}

const fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_direction_characters_are_removed() {
        assert_eq!(sanitize("a\u{1b}[2Jb\u{9b}31mc"), "a[2Jb31mc");
        assert_eq!(sanitize("user\u{202e}gpj.exe\u{2066}x\u{200f}"), "usergpj.exex");
        assert_eq!(sanitize("one\ntwo\r\n\tthree"), "one two  three");
        assert_eq!(sanitize("Grüße 東京 🚢"), "Grüße 東京 🚢");
    }
}
