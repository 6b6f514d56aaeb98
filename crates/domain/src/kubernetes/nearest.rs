//! "Did you mean …?": the known name that is closest to a misspelt one.

/// The candidate with the fewest edits from `text`, at most a third of its characters (at least one).
pub fn find_nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (text.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(text, candidate), candidate))
        .filter(|(edits, _)| *edits <= most)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The number of characters to insert, delete, replace or swap with the next one to get from `a` to `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && (a[i - 1], a[i - 2]) == (b[j - 2], b[j - 1]) {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_no_distant_one() {
        let known = ["gke-demo", "gke-prod", "edge-1"];
        assert_eq!(find_nearest("gke-dmo", known), Some("gke-demo"));
        assert_eq!(find_nearest("gke-pord", known), Some("gke-prod"));
        assert_eq!(find_nearest("kubernetes", known), None);
        assert_eq!(find_nearest("", known), None);
    }
}
