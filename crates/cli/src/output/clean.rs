//! Text from elsewhere, made harmless for a terminal.

/// The text without control characters (C0, C1) and without those that turn the writing direction: a message of a
/// cluster must not be able to move the cursor, to hide text, or to look like another one. Line ends become spaces.
pub fn clean(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' => Some(' '),
            c if c.is_control() || turns_direction(c) => None,
            c => Some(c),
        })
        .collect()
}

const fn turns_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_fool_a_terminal_is_taken_out() {
        assert_eq!(clean("a\u{1b}[2Jb\u{9b}31mc"), "a[2Jb31mc");
        assert_eq!(clean("user\u{202e}gpj.exe\u{2066}x\u{200f}"), "usergpj.exex");
        assert_eq!(clean("one\ntwo\r\n\tthree"), "one two  three");
        assert_eq!(clean("Grüße 東京 🚢"), "Grüße 東京 🚢");
    }
}
