//! "Did you mean …?": the name that is nearest to a mistyped one.

/// Longest name compared; names of workloads and clusters are at most 63 characters.
const LONGEST: usize = 80;

/// The candidate that differs least from `name`, if it differs little enough to be a slip.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let slips = (name.chars().count() / 3).clamp(1, 3);
    let compared =
        candidates.into_iter().filter(|candidate| candidate.len() <= LONGEST && name.len() <= LONGEST);
    let (distance, best) = compared
        .map(|candidate| (distance(name, candidate), candidate))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= slips).then_some(best)
}

/// How many characters have to be added, removed or replaced (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != *y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_something_else_finds_none() {
        let names = ["guestbook", "podinfo", "cassandra"];
        assert_eq!(nearest("gestbook", names), Some("guestbook"));
        assert_eq!(nearest("pod-info", names), Some("podinfo"));
        assert_eq!(nearest("web", names), None);
        assert_eq!(nearest("", names), None);
    }
}
