//! The places of the console: its pages, and where something is created.

use super::SearchEntry;
use crate::live::keys::GO_TO_KEYS;
use crate::paths::{self, WorkloadTab};

/// Icon, label, address, further words that find it, and the command that does the same.
const PLACES: [(&str, &str, &str, &str, &str); 14] = [
    ("fleet", "Fleet", paths::FLEET, "home overview matrix failing", "flotilla get workloads"),
    ("workload", "Workloads", paths::WORKLOADS, "apps list", "flotilla get workloads"),
    ("incident", "Incidents", paths::INCIDENTS, "alerts failures notifications", "flotilla incidents"),
    ("cluster", "Clusters", paths::CLUSTERS, "list", "flotilla get clusters"),
    ("group", "Cluster groups", paths::GROUPS, "sets", "flotilla group list"),
    ("chart", "Charts", paths::CHARTS, "helm repositories git upload", "flotilla chart list"),
    ("activity", "Events", paths::EVENTS, "activity log audit history", "flotilla events"),
    ("settings", "Settings", paths::SETTINGS, "shortcuts", ""),
    (
        "plus",
        "New workload",
        paths::WORKLOAD_NEW,
        "create add app",
        "flotilla apply --name NAME -f DIR --clusters A,B",
    ),
    (
        "plus",
        "Join a cluster",
        paths::JOIN,
        "add register agent token",
        "flotilla cluster install-manifest NAME",
    ),
    (
        "plus",
        "New cluster group",
        paths::GROUPS,
        "create add set",
        "flotilla group set NAME --selector KEY=VALUE",
    ),
    ("upload", "Upload a chart", paths::CHARTS, "add helm push", "flotilla chart push FILE.tgz"),
    (
        "plus",
        "Add a chart repository",
        paths::CHARTS,
        "helm oci registry",
        "flotilla chart repo add NAME URL",
    ),
    ("token", "Create an API token", paths::SETTINGS, "ci secret cli", "flotilla token create NAME"),
];

/// The places whose label or further words contain all words; without words the pages.
pub fn list_places(words: &[String]) -> Vec<SearchEntry> {
    let matches = |place: &(&str, &str, &str, &str, &str)| {
        let text = format!("{} {}", place.1.to_lowercase(), place.3);
        words.iter().all(|word| text.contains(word.as_str()))
    };
    PLACES.iter().filter(|place| matches(place)).map(place_entry).collect()
}

fn place_entry(&(icon, label, href, _, command): &(&str, &str, &str, &str, &str)) -> SearchEntry {
    let key = GO_TO_KEYS
        .iter()
        .find(|(_, _, path)| *path == href)
        .filter(|_| !matches!(icon, "plus" | "upload" | "token"));
    SearchEntry {
        icon: icon.to_owned(),
        label: label.to_owned(),
        href: href.to_owned(),
        command: command.to_owned(),
        keys: key.map(|(key, ..)| format!("g {key}")).unwrap_or_default(),
        ..SearchEntry::default()
    }
}

/// The parts of a workload, without the first one, which its name opens.
pub fn list_workload_places(name: &str) -> Vec<SearchEntry> {
    let entry = |tab: &WorkloadTab| SearchEntry {
        icon: "arrow-right".to_owned(),
        label: format!("{name}, {}", tab.label()),
        href: paths::workload_tab(name, *tab),
        ..SearchEntry::default()
    };
    WorkloadTab::ALL[1..].iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(q: &str) -> Vec<String> {
        list_places(&domain::search::parse_words(q)).into_iter().map(|entry| entry.label).collect()
    }

    #[test]
    fn a_page_is_found_by_its_name_and_by_what_it_is_for() {
        assert_eq!(labels("sett"), ["Settings"]);
        assert_eq!(labels("audit"), ["Events"]);
        assert_eq!(labels("new wor"), ["New workload"]);
        assert_eq!(labels("").len(), PLACES.len());
        assert!(labels("zzz").is_empty());
    }

    #[test]
    fn a_page_shows_the_keys_that_open_it() {
        let keys = |q: &str| list_places(&domain::search::parse_words(q))[0].keys.clone();
        assert_eq!((keys("fleet").as_str(), keys("new workload").as_str()), ("g f", ""));
    }
}
