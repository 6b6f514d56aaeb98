//! The tokens of Rust source text, as far as the rules need them: words, `::` and punctuation, without comments and literals; and the
//! string literals.

/// A word, `::` or one punctuation character; or a string literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub text: &'a str,
    /// Its line, from 1.
    pub line: usize,
}

/// What a part of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyntaxPart {
    Token,
    StringLiteral,
    /// White space, a comment, or a character literal.
    Other,
}

/// Reads the tokens of a text.
pub fn read_tokens(text: &str) -> Vec<Token<'_>> {
    read_parts(text, SyntaxPart::Token)
}

/// Reads the string literals of a text, with their quotes.
pub fn read_string_literals(text: &str) -> Vec<Token<'_>> {
    read_parts(text, SyntaxPart::StringLiteral)
}

/// The parts of a text of one kind.
fn read_parts(text: &str, wanted: SyntaxPart) -> Vec<Token<'_>> {
    let mut parts = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, kind) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), SyntaxPart::Other)
        } else if rest.starts_with("/*") {
            (block_comment_length(rest), SyntaxPart::Other)
        } else if let Some(length) = string_length(rest) {
            (length, SyntaxPart::StringLiteral)
        } else if c == '\'' {
            (quote_length(rest), SyntaxPart::Other)
        } else if rest.starts_with("::") {
            (2, SyntaxPart::Token)
        } else if is_word(c) {
            (rest.find(|c| !is_word(c)).unwrap_or(rest.len()), SyntaxPart::Token)
        } else if c.is_whitespace() {
            (c.len_utf8(), SyntaxPart::Other)
        } else {
            (c.len_utf8(), SyntaxPart::Token)
        };
        if kind == wanted {
            parts.push(Token { text: &rest[..length], line });
        }
        line += rest[..length].matches('\n').count();
        at += length;
    }
    parts
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a block comment, which may contain others.
fn block_comment_length(text: &str) -> usize {
    let (mut at, mut open) = (0, 0_usize);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (at, open) = (at + 2, open + 1);
        } else if text[at..].starts_with("*/") {
            (at, open) = (at + 2, open - 1);
            if open == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a string literal, with its prefix; `None` if none begins here.
fn string_length(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        text.strip_prefix(*prefix).is_some_and(|rest| {
            rest.starts_with('"') || prefix.ends_with('r') && rest.trim_start_matches('#').starts_with('"')
        })
    })?;
    let after = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = after.len() - after.trim_start_matches('#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        let start = prefix.len() + hashes + 1;
        return Some(text[start..].find(&end).map_or(text.len(), |at| start + at + end.len()));
    }
    let mut escaped = false;
    for (at, c) in after.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(prefix.len() + at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

/// The length of a character literal, or of the quote of a lifetime.
fn quote_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            // The character behind the backslash is part of the literal, whatever it is.
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(text.len(), |(at, _)| at + 1)
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_tokens() {
        let text = "a /* b /* c */ d */ ::e \"f \\\" g\" '\\'' 'h' &'i j // k\nb\"l\" r##\"m \"# n\"## o";
        let words: Vec<(&str, usize)> =
            read_tokens(text).into_iter().map(|token| (token.text, token.line)).collect();
        assert_eq!(words, [("a", 1), ("::", 1), ("e", 1), ("&", 1), ("i", 1), ("j", 1), ("o", 2)]);
    }

    #[test]
    fn string_literals_are_read_without_comments_and_code() {
        let text = "f(\"a \\\" b\"); // \"c\"\nlet x = r#\"d \"e\" \"#; '\"'";
        let literals: Vec<(&str, usize)> =
            read_string_literals(text).into_iter().map(|token| (token.text, token.line)).collect();
        assert_eq!(literals, [("\"a \\\" b\"", 1), ("r#\"d \"e\" \"#", 2)]);
    }
}
