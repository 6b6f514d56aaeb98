//! Numbers and lists as people read them.

/// `1 cluster`, `3 clusters`.
pub fn count_of(n: u32, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `a`, `a and b`, `a, b and 3 more`: at most `shown` names.
pub fn joined(names: &[String], total: usize, shown: usize) -> String {
    let total = total.max(names.len());
    let head: Vec<&str> = names.iter().take(shown).map(String::as_str).collect();
    match (head.as_slice(), total - head.len()) {
        ([], 0) => "none".to_owned(),
        ([only], 0) => (*only).to_owned(),
        ([most @ .., last], 0) => format!("{} and {last}", most.join(", ")),
        (some, more) => format!("{} and {more} more", some.join(", ")),
    }
}

/// What a person wrote between commas or spaces.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_says_how_many_are_left_out() {
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(joined(&names, 3, 5), "a, b and c");
        assert_eq!(joined(&names, 9, 2), "a, b and 7 more");
        assert_eq!(joined(&names[..1], 1, 3), "a");
        assert_eq!(joined(&[], 0, 3), "none");
    }
}
