//! Names in a message: the first ones, and the number of the others.

/// `a, b and 3 more`: at most `shown` of the names, in their order. Empty without any.
pub fn join_first<N: AsRef<str>>(names: &[N], shown: usize) -> String {
    let first = names.iter().take(shown).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(shown) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_are_listed_and_the_others_counted() {
        let names = ["a", "b", "c"];
        assert_eq!(join_first(&names, 3), "a, b, c");
        assert_eq!(join_first(&names, 2), "a, b and 1 more");
        assert_eq!(join_first::<&str>(&[], 2), "");
    }
}
