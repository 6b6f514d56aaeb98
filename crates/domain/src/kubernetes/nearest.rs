//! "Did you mean …?": the known name that is closest to a misspelt one.

/// Compared characters of a text, which bounds the time for long keys of a manifest.
const MAX_CHARS: usize = 64;

/// The candidate with the fewest edits from `text`, at most a third of its characters (at least one).
pub fn find_nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (text.chars().count() / 3).max(1);
    let compared = |text: &str| text.chars().take(MAX_CHARS).collect::<String>();
    let start = compared(text);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&start, &compared(candidate)), candidate))
        .filter(|(edits, _)| *edits <= most)
        .min()
        .map(|(_, candidate)| candidate)
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
