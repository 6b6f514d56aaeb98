//! Names in a text as links.

use leptos::prelude::*;

use crate::components::{unbroken, unbroken_durations};

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
enum NamePart {
    /// Words.
    Words(String),
    /// A name with its page.
    Name {
        /// The name.
        name: String,
        /// Its page.
        href: String,
    },
}

/// The text: names are links, and neither names nor durations break across lines.
pub(super) fn link_names(text: &str, names: &[(String, String)]) -> AnyView {
    let part = |part: NamePart| match part {
        NamePart::Words(words) => unbroken(&words),
        NamePart::Name { name, href } => view! { <a class="name ref" href=href>{name}</a> }.into_any(),
    };
    split_names(text, names).into_iter().map(part).collect_view().into_any()
}

fn split_names(text: &str, names: &[(String, String)]) -> Vec<NamePart> {
    let mut parts = Vec::new();
    let mut words = String::new();
    for word in text.split_inclusive(' ') {
        let core = word.trim_end().trim_end_matches([',', '.', ':', ';']);
        match names.iter().find(|(name, _)| name == core) {
            Some((name, href)) => {
                if !words.is_empty() {
                    parts.push(NamePart::Words(unbroken_durations(&std::mem::take(&mut words))));
                }
                parts.push(NamePart::Name { name: name.clone(), href: href.clone() });
                words.push_str(&word[core.len()..]);
            }
            None => words.push_str(word),
        }
    }
    if !words.is_empty() {
        parts.push(NamePart::Words(unbroken_durations(&words)));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_in_a_text_are_links_and_a_number_stays_with_its_unit() {
        let names = [("eu-1".to_owned(), "/clusters/eu-1".to_owned())];
        let words = |text: &str| NamePart::Words(text.to_owned());
        let link = || NamePart::Name { name: "eu-1".to_owned(), href: "/clusters/eu-1".to_owned() };
        assert_eq!(
            split_names("eu-1, eu-12 and eu-1: healthy after 5 s", &names),
            [link(), words(", eu-12 and "), link(), words(": healthy after 5\u{a0}s")]
        );
    }
}
