//! An entry of the results: its icon, its label with the words marked, and its detail.

use leptos::prelude::*;

use super::SearchEntry;

/// Icon, label and detail of an entry.
pub fn show_entry(entry: &SearchEntry, words: &[String]) -> impl IntoView + use<> {
    let class = if entry.is_name { "name strong" } else { "strong" };
    let cluster = (!entry.cluster.is_empty()).then(|| {
        view! {
            " on "
            <span class="name">{mark_words(&entry.cluster, words)}</span>
        }
    });
    view! {
        <svg class=format!("icon icon-16 {}", entry.hue) aria-hidden="true">
            <use href=format!("/icons.svg#{}", entry.icon) />
        </svg>
        <span class="palette-main">
            <span class="palette-label">
                <span class=class>{mark_words(&entry.label, words)}</span>
                {cluster}
            </span>
            " "
            <span class="palette-detail">{entry.detail.clone()}</span>
        </span>
    }
}

/// A text with every occurrence of a word marked.
fn mark_words(text: &str, words: &[String]) -> impl IntoView + use<> {
    let part = |(text, is_marked): (String, bool)| match is_marked {
        true => view! { <mark>{text}</mark> }.into_any(),
        false => text.into_any(),
    };
    split_marks(text, words).into_iter().map(part).collect_view()
}

/// The parts of a text, and whether a part is one of the words.
fn split_marks(text: &str, words: &[String]) -> Vec<(String, bool)> {
    // The same length in bytes, so that positions are those of the text.
    let lower = text.to_ascii_lowercase();
    let mut parts = Vec::new();
    let mut from = 0;
    while from < text.len() {
        let found = words
            .iter()
            .filter(|word| !word.is_empty())
            .filter_map(|word| lower[from..].find(word.as_str()).map(|at| (from + at, word.len())));
        let Some((at, length)) = found.min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length))) else {
            break;
        };
        if at > from {
            parts.push((text[from..at].to_owned(), false));
        }
        parts.push((text[at..at + length].to_owned(), true));
        from = at + length;
    }
    if from < text.len() {
        parts.push((text[from..].to_owned(), false));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, q: &[&str]) -> String {
        let words: Vec<String> = q.iter().map(|word| (*word).to_owned()).collect();
        let part = |(text, is_marked): (String, bool)| if is_marked { format!("[{text}]") } else { text };
        split_marks(text, &words).into_iter().map(part).collect()
    }

    #[test]
    fn every_word_is_marked_where_it_occurs() {
        assert_eq!(marked("storefront", &["store"]), "[store]front");
        assert_eq!(marked("object-store", &["store", "ob"]), "[ob]ject-[store]");
        assert_eq!(marked("Sync storefront…", &["sync", "store"]), "[Sync] [store]front…");
        assert_eq!(marked("web", &["x"]), "web");
        assert_eq!(marked("web", &[]), "web");
        assert_eq!(marked("stst", &["s", "st"]), "[st][st]");
        assert_eq!(marked("… é", &["é"]), "… [é]");
    }
}
