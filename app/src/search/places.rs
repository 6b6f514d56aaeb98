//! The places of the console: its pages, and where something is created.

use super::SearchEntry;
use crate::live::keys::GO_TO_KEYS;
use crate::paths::{self, SettingsTab, WorkloadTab};

/// Icon, label, address, further words that find it, and the command that does the same.
const PLACES: [(&str, &str, &str, &str, &str); 17] = [
    ("fleet", "Fleet", paths::FLEET, "home overview matrix failing", "flotilla get workloads"),
    ("workload", "Workloads", paths::WORKLOADS, "apps list", "flotilla get workloads"),
    ("incident", "Incidents", paths::INCIDENTS, "alerts failures", "flotilla incidents"),
    ("drifted", "Drift", paths::DRIFT, "changed by hand inbox revert adopt snooze", "flotilla drift"),
    ("cluster", "Clusters", paths::CLUSTERS, "list", "flotilla get clusters"),
    ("group", "Cluster groups", paths::GROUPS, "sets", "flotilla group list"),
    ("chart", "Charts", paths::CHARTS, "helm repositories git upload", "flotilla chart list"),
    ("activity", "Events", paths::EVENTS, "activity log history", "flotilla events"),
    ("settings", "Settings", paths::SETTINGS, "shortcuts", ""),
    ("people", "People", paths::PEOPLE, "users roles invite accounts", "flotilla user list"),
    ("shield", "Audit log", paths::AUDIT, "history who changed", "flotilla audit list"),
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
        paths::GROUP_NEW,
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

/// Sections of the settings: icon, section, further words that find it, and the command that does the same.
const SECTIONS: [(&str, SettingsTab, &str, &str); 7] = [
    ("person", SettingsTab::Sessions, "signed in browsers sign out", "flotilla session list"),
    ("bell", SettingsTab::Notifications, "channels subscriptions webhook mail", "flotilla channel list"),
    ("shield", SettingsTab::IdentityProviders, "openid connect oidc sso", "flotilla identity-provider list"),
    ("lock", SettingsTab::Project, "locked chart values", "flotilla project get"),
    ("theme", SettingsTab::Appearance, "theme dark light keyboard", ""),
    ("note", SettingsTab::About, "version database", "flotilla server status"),
    ("activity", SettingsTab::Health, "status loops database", "flotilla server status"),
];

/// The places whose label or further words contain all words; without words the pages.
pub fn list_places(words: &[String]) -> Vec<SearchEntry> {
    let matches = |label: &str, more: &str| {
        let text = format!("{} {more}", label.to_lowercase());
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let places = PLACES.iter().filter(|place| matches(place.1, place.3)).map(place_entry);
    let sections = SECTIONS.iter().filter(|section| matches(section.1.label(), section.2));
    places.chain(sections.map(section_entry)).collect()
}

fn section_entry(&(icon, section, _, command): &(&str, SettingsTab, &str, &str)) -> SearchEntry {
    SearchEntry {
        icon: icon.to_owned(),
        label: section.label().to_owned(),
        href: paths::settings_tab(section),
        command: command.to_owned(),
        ..SearchEntry::default()
    }
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
        assert_eq!(labels("audit"), ["Audit log"]);
        assert_eq!(labels("sessions"), ["Sessions"]);
        assert_eq!(labels("webhook"), ["Notifications"]);
        assert_eq!(labels("new wor"), ["New workload"]);
        assert_eq!(labels("").len(), PLACES.len() + SECTIONS.len());
        assert_eq!(labels("locked values"), ["Project"]);
        // Without the first tab, which "Settings" opens.
        for tab in SettingsTab::ALL.iter().skip(1) {
            assert!(SECTIONS.iter().any(|section| section.1 == *tab), "{}", tab.label());
        }
        assert!(labels("zzz").is_empty());
    }

    #[test]
    fn what_creates_something_opens_the_form_and_not_the_list() {
        let href = |q: &str| list_places(&domain::search::parse_words(q))[0].href.clone();
        assert_eq!(href("new cluster group"), paths::GROUP_NEW);
        assert_eq!(href("server health"), "/settings?tab=health");
    }

    #[test]
    fn a_page_shows_the_keys_that_open_it() {
        let keys = |q: &str| list_places(&domain::search::parse_words(q))[0].keys.clone();
        assert_eq!((keys("fleet").as_str(), keys("new workload").as_str()), ("g f", ""));
        assert_eq!(keys("incidents"), "g i");
    }
}
