//! "Did you mean …?": finds the name that is nearest to a mistyped one.

/// Longest name that is compared, in bytes; names of workloads and clusters have at most 63 characters.
const MAX_NAME_BYTES: usize = 80;

/// The candidate with the smallest edit distance, if the distance is at most a third of the name's length (1 to 3).
pub fn find_nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let slips = (name.chars().count() / 3).clamp(1, 3);
    let compared = candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_NAME_BYTES && name.len() <= MAX_NAME_BYTES);
    let (distance, best) = compared
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= slips).then_some(best)
}

/// Levenshtein distance in characters.
fn edit_distance(a: &str, b: &str) -> usize {
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
    fn a_mistyped_name_finds_its_name_and_another_name_finds_none() {
        let names = ["guestbook", "podinfo", "cassandra"];
        assert_eq!(find_nearest("gestbook", names), Some("guestbook"));
        assert_eq!(find_nearest("pod-info", names), Some("podinfo"));
        assert_eq!(find_nearest("web", names), None);
        assert_eq!(find_nearest("", names), None);
    }
}
