//! Formatting of numbers and lists.

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
}
