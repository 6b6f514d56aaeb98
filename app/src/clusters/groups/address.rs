//! A change of the members of a group that is not saved yet. It is in the address: so it survives a search, the next page of
//! the list and a reload, and works without script.

use std::collections::BTreeSet;

use domain::labels::{LabelSelector, LabelTerm};
use domain::placement::GroupMembersChange;
use leptos_router::params::ParamsMap;
use serde::{Deserialize, Serialize};

use crate::components::split_words;
use crate::paths;

/// The text in the address for "no selector": an empty text is not in it.
const NO_SELECTOR: &str = "-";

/// What the address of a group says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MembersAddress {
    /// The search in the list.
    pub q: String,
    /// Where the page of the list begins.
    pub cursor: String,
    /// Names of clusters to add, separated by commas.
    pub add: String,
    /// Names of clusters to remove, separated by commas.
    pub remove: String,
    /// The new selector; empty to keep it, `-` for none.
    pub selector: String,
}

impl MembersAddress {
    /// Reads the query. A browser without script sends the boxes of the list with it: what is shown as member or not, and
    /// which boxes are ticked.
    pub fn from_query(query: &ParamsMap) -> Self {
        let part = |name: &str| query.get(name).unwrap_or_default();
        let address = Self {
            q: part("q"),
            cursor: part("cursor"),
            add: part("add"),
            remove: part("remove"),
            selector: query.get("selector").map(|text| Self::selector_text(&text)).unwrap_or_default(),
        };
        let (members, others) = (part("members"), part("others"));
        let ticked: BTreeSet<String> = query.get_all("pick").unwrap_or_default().into_iter().collect();
        let shown = words(&members).into_iter().map(|name| (name, true));
        let shown = shown.chain(words(&others).into_iter().map(|name| (name, false)));
        shown.fold(address, |address, (name, is_member)| {
            let is_ticked = ticked.contains(&name);
            address.with_tick(&name, is_member, is_ticked)
        })
    }

    /// The selector in the address for this text of the field.
    pub fn selector_text(text: &str) -> String {
        match text.trim() {
            "" => NO_SELECTOR.to_owned(),
            text => text.to_owned(),
        }
    }

    /// The same with this box ticked or not; a box as it was changes nothing.
    pub fn with_tick(self, name: &str, is_member: bool, is_ticked: bool) -> Self {
        let (mut add, mut remove) = (words(&self.add), words(&self.remove));
        add.remove(name);
        remove.remove(name);
        match (is_member, is_ticked) {
            (false, true) => drop(add.insert(name.to_owned())),
            (true, false) => drop(remove.insert(name.to_owned())),
            _ => {}
        }
        Self { add: join(&add), remove: join(&remove), ..self }
    }

    /// Whether the box of this cluster is ticked.
    pub fn is_ticked(&self, name: &str, is_member: bool) -> bool {
        let has = |list: &str| split_words(list).any(|word| word == name);
        if is_member { !has(&self.remove) } else { has(&self.add) }
    }

    /// The change.
    pub fn change(&self) -> GroupMembersChange {
        GroupMembersChange {
            add: words(&self.add).into_iter().collect(),
            remove: words(&self.remove).into_iter().collect(),
            selector: match self.selector.as_str() {
                "" => None,
                NO_SELECTOR => Some(String::new()),
                text => Some(text.to_owned()),
            },
        }
    }

    /// The same without search and page: what the preview depends on.
    pub fn change_only(&self) -> Self {
        Self { q: String::new(), cursor: String::new(), ..self.clone() }
    }

    /// The page of this group with this address.
    pub fn to_path(&self, group: &str) -> String {
        self.add_to(&paths::group(group))
    }

    /// The same with the question whether the group is deleted.
    pub fn to_deletion_path(&self, group: &str) -> String {
        self.add_to(&paths::group_deletion(group))
    }

    fn add_to(&self, path: &str) -> String {
        let parts = [
            ("q", &*self.q),
            ("cursor", &*self.cursor),
            ("add", &*self.add),
            ("remove", &*self.remove),
            ("selector", &*self.selector),
        ];
        paths::query(path, &parts)
    }
}

fn words(list: &str) -> BTreeSet<String> {
    split_words(list).map(str::to_owned).collect()
}

fn join(words: &BTreeSet<String>) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}

/// The selector with this label added, or removed if it is in it. A second value of a key is an alternative.
pub fn toggle_label(selector: &str, key: &str, value: &str) -> String {
    let mut terms = selector.parse::<LabelSelector>().unwrap_or_default().terms;
    let found = terms.iter_mut().find_map(|term| match term {
        LabelTerm::In(found, values) if found == key => Some(values),
        _ => None,
    });
    match found {
        Some(values) if values.iter().any(|one| one == value) => values.retain(|one| one != value),
        Some(values) => values.push(value.to_owned()),
        None => terms.push(LabelTerm::In(key.to_owned(), vec![value.to_owned()])),
    }
    terms.retain(|term| !matches!(term, LabelTerm::In(_, values) if values.is_empty()));
    match terms.is_empty() {
        true => NO_SELECTOR.to_owned(),
        false => LabelSelector { terms }.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render_tests::query;

    #[test]
    fn without_script_the_ticked_boxes_of_a_page_become_the_change() {
        let sent = [
            ("q", "eu"),
            ("add", "us-1"),
            ("members", "eu-1,eu-2"),
            ("others", "eu-3,eu-4"),
            ("pick", "eu-1"),
            ("pick", "eu-3"),
            ("selector", ""),
        ];
        let address = MembersAddress::from_query(&query(&sent));
        assert_eq!((&*address.add, &*address.remove), ("eu-3,us-1", "eu-2"));
        assert_eq!(address.change().selector.as_deref(), Some(""), "the field was emptied");
        assert!(address.is_ticked("eu-1", true) && !address.is_ticked("eu-2", true));
        assert!(address.is_ticked("eu-3", false) && !address.is_ticked("eu-4", false));
        let path = address.to_path("edge");
        assert_eq!(path, "/groups/edge?q=eu&add=eu-3%2Cus-1&remove=eu-2&selector=-");
        let again = query(&[("q", "eu"), ("add", "eu-3,us-1"), ("remove", "eu-2"), ("selector", "-")]);
        assert_eq!(MembersAddress::from_query(&again), address);
    }

    #[test]
    fn the_question_whether_the_group_is_deleted_retains_the_change() {
        let address = MembersAddress::default().with_tick("eu-1", false, true);
        assert_eq!(address.to_deletion_path("edge"), "/groups/edge?dialog=delete&add=eu-1");
    }

    #[test]
    fn a_box_that_is_ticked_again_leaves_no_change() {
        let address = MembersAddress::default().with_tick("eu-1", true, false).with_tick("eu-1", true, true);
        assert_eq!(address, MembersAddress::default());
    }

    #[test]
    fn a_label_of_the_fleet_is_added_to_the_selector_and_taken_out_again() {
        assert_eq!(toggle_label("", "env", "prod"), "env=prod");
        assert_eq!(toggle_label("env=prod", "env", "dev"), "env in (prod,dev)");
        assert_eq!(toggle_label("env=prod,!old", "region", "eu"), "env=prod,!old,region=eu");
        assert_eq!(toggle_label("env=prod", "env", "prod"), "-");
    }
}
