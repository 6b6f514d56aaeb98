//! Every address of the console. Pages, redirects and links use these functions; no path is written by hand.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The fleet at a glance.
pub const FLEET: &str = "/";
/// All workloads.
pub const WORKLOADS: &str = "/workloads";
/// A new workload.
pub const WORKLOAD_NEW: &str = "/workloads/new";
/// All clusters.
pub const CLUSTERS: &str = "/clusters";
/// Named sets of clusters.
pub const GROUPS: &str = "/groups";
/// Join a cluster. Not below [`CLUSTERS`], where every segment may be a cluster's name.
pub const JOIN: &str = "/join";
/// Charts of the project.
pub const CHARTS: &str = "/charts";
/// The event log.
pub const EVENTS: &str = "/events";
/// Settings: API tokens.
pub const SETTINGS: &str = "/settings";
/// Sign in.
pub const SIGN_IN: &str = "/sign-in";
/// The first user signs up.
pub const SETUP: &str = "/setup";

/// The tabs of a workload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorkloadTab {
    /// Its releases.
    #[default]
    Clusters,
    /// Its manifests and policies.
    Config,
    /// Its placement.
    Placement,
    /// Its overrides.
    Overrides,
    /// Its revisions.
    History,
    /// Its events.
    Events,
}

impl WorkloadTab {
    /// All of them, in the order shown.
    pub const ALL: [Self; 6] =
        [Self::Clusters, Self::Config, Self::Placement, Self::Overrides, Self::History, Self::Events];

    /// Its name in addresses.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Clusters => "clusters",
            Self::Config => "config",
            Self::Placement => "placement",
            Self::Overrides => "overrides",
            Self::History => "history",
            Self::Events => "events",
        }
    }

    /// Its name on pages.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Clusters => "Clusters",
            Self::Config => "Config",
            Self::Placement => "Placement",
            Self::Overrides => "Overrides",
            Self::History => "History",
            Self::Events => "Events",
        }
    }

    /// The tab with this slug; the first for anything else.
    pub fn from_slug(slug: &str) -> Self {
        Self::ALL.into_iter().find(|tab| tab.slug() == slug).unwrap_or_default()
    }
}

/// A workload.
pub fn workload(name: &str) -> String {
    format!("{WORKLOADS}/{}", percent_encode(name))
}

/// The review of a workload with this plan, which publishes this override alone or, without a name, the draft.
pub fn review_of_plan(name: &str, plan: &str, override_name: &str) -> String {
    query(&publish(name), &[("plan", plan), ("override", override_name)])
}

/// The review before a publish of one override of the draft.
pub fn publish_override(name: &str, override_name: &str) -> String {
    query(&publish(name), &[("override", override_name)])
}

/// A tab of a workload.
pub fn workload_tab(name: &str, tab: WorkloadTab) -> String {
    match tab {
        WorkloadTab::Clusters => workload(name),
        tab => query(&workload(name), &[("tab", tab.slug())]),
    }
}

/// A workload with the row of one cluster open.
pub fn release(workload_name: &str, cluster: &str) -> String {
    query(&workload(workload_name), &[("open", cluster)])
}

/// A workload with a confirmation dialog open: `unpublish`, `sync` or `delete`.
pub fn workload_dialog(name: &str, question: &str) -> String {
    query(&workload(name), &[("dialog", question)])
}

/// The review before a publish.
pub fn publish(name: &str) -> String {
    format!("{}/publish", workload(name))
}

/// A revision of a workload.
pub fn revision(name: &str, number: u32) -> String {
    format!("{}/revisions/{number}", workload(name))
}

/// A step of the wizard by its slug: `source`, `placement`, `overrides`, `policies`.
pub fn edit(name: &str, step: &str) -> String {
    format!("{}/edit/{}", workload(name), percent_encode(step))
}

/// A cluster.
pub fn cluster(name: &str) -> String {
    format!("{CLUSTERS}/{}", percent_encode(name))
}

/// A cluster group.
pub fn group(name: &str) -> String {
    format!("{GROUPS}/{}", percent_encode(name))
}

/// Sign in, then go on to `next`.
pub fn sign_in(next: &str) -> String {
    query(SIGN_IN, &[("next", next)])
}

/// A path with the given query; empty values are omitted.
pub fn query(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut url = path.to_owned();
    for (key, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(&percent_encode(key));
        url.push('=');
        url.push_str(&percent_encode(value));
    }
    url
}

fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The id of the editor of a file.
pub fn editor_anchor(file: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("file-{}", file.chars().map(safe).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_stable() {
        let map = [
            FLEET.to_owned(),
            WORKLOADS.to_owned(),
            WORKLOAD_NEW.to_owned(),
            workload("web"),
            workload_tab("web", WorkloadTab::Config),
            workload_tab("web", WorkloadTab::Placement),
            workload_tab("web", WorkloadTab::Overrides),
            workload_tab("web", WorkloadTab::History),
            workload_tab("web", WorkloadTab::Events),
            release("web", "edge-1"),
            workload_dialog("web", "delete"),
            publish("web"),
            revision("web", 3),
            edit("web", "source"),
            CLUSTERS.to_owned(),
            cluster("edge-1"),
            GROUPS.to_owned(),
            group("edge"),
            CHARTS.to_owned(),
            EVENTS.to_owned(),
            SETTINGS.to_owned(),
            sign_in("/workloads?state=failing"),
            SETUP.to_owned(),
        ];
        insta::assert_snapshot!(map.join("\n"), @r"
        /
        /workloads
        /workloads/new
        /workloads/web
        /workloads/web?tab=config
        /workloads/web?tab=placement
        /workloads/web?tab=overrides
        /workloads/web?tab=history
        /workloads/web?tab=events
        /workloads/web?open=edge-1
        /workloads/web?dialog=delete
        /workloads/web/publish
        /workloads/web/revisions/3
        /workloads/web/edit/source
        /clusters
        /clusters/edge-1
        /groups
        /groups/edge
        /charts
        /events
        /settings
        /sign-in?next=%2Fworkloads%3Fstate%3Dfailing
        /setup
        ");
    }

    #[test]
    fn a_name_cannot_leave_its_path_segment() {
        assert_eq!(workload("../x?y"), "/workloads/..%2Fx%3Fy");
    }

    #[test]
    fn a_tab_is_parsed_from_its_slug() {
        for tab in WorkloadTab::ALL {
            assert_eq!(WorkloadTab::from_slug(tab.slug()), tab);
        }
        assert_eq!(WorkloadTab::from_slug("nonsense"), WorkloadTab::Clusters);
    }
}
