//! Every address of the console. Pages, redirects and links use these functions; no path is written by hand.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

mod anchors;
mod cluster_page;
mod draft;
mod drift;
mod identity;
mod settings;

pub use anchors::editor_anchor;
pub use cluster_page::{
    ClusterTab, adoption_dialog, below_cluster_dialog, cluster, cluster_dialog, cluster_labels,
    cluster_scheduling, cluster_tab,
};
pub use draft::{edit, unwrap_dialog};
pub use drift::{DRIFT, drift_of};
pub use identity::{identity_sign_in, user_elevation, user_identity};
pub use settings::{
    SettingsTab, channel_dialog, identity_provider_change, identity_provider_removal, session_dialog,
    settings_tab, subscription_dialog, token_dialog,
};

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
/// A new group. Not below [`GROUPS`], where every segment may be a group's name.
pub const GROUP_NEW: &str = "/new-group";
/// Join a cluster. Not below [`CLUSTERS`], where every segment may be a cluster's name.
pub const JOIN: &str = "/join";
/// Charts of the project.
pub const CHARTS: &str = "/charts";
/// The search.
pub const SEARCH: &str = "/search";
/// The event log.
pub const EVENTS: &str = "/events";
/// Incidents.
pub const INCIDENTS: &str = "/incidents";
/// Settings.
pub const SETTINGS: &str = "/settings";
/// Users and their roles.
pub const PEOPLE: &str = "/people";
/// The audit log, a tab of the settings.
pub const AUDIT: &str = "/audit";
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
    /// Its manifests, namespace and labels.
    Config,
    /// Its placement.
    Placement,
    /// Its overrides.
    Overrides,
    /// Its policies and owners.
    Policies,
    /// Its revisions.
    History,
    /// Its events.
    Events,
}

impl WorkloadTab {
    /// All of them, in the order shown.
    pub const ALL: [Self; 7] = [
        Self::Clusters,
        Self::Config,
        Self::Placement,
        Self::Overrides,
        Self::Policies,
        Self::History,
        Self::Events,
    ];

    /// Its name in addresses.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Clusters => "clusters",
            Self::Config => "config",
            Self::Placement => "placement",
            Self::Overrides => "overrides",
            Self::Policies => "policies",
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
            Self::Policies => "Policies",
            Self::History => "History",
            Self::Events => "Events",
        }
    }

    /// The tab with this slug; the first without a slug, none for a name that is not that of a tab.
    pub fn from_slug(slug: &str) -> Option<Self> {
        match slug {
            "" => Some(Self::default()),
            slug => Self::ALL.into_iter().find(|tab| tab.slug() == slug),
        }
    }
}

/// A workload.
pub fn workload(name: &str) -> String {
    format!("{WORKLOADS}/{}", percent_encode(name))
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

/// A workload with a confirmation dialog open: `unpublish`, `sync`, `abort` or `delete`.
pub fn workload_dialog(name: &str, question: &str) -> String {
    query(&workload(name), &[("dialog", question)])
}

/// The review of a rollback to this revision.
pub fn roll_back(name: &str, number: u32) -> String {
    query(&publish(name), &[("revision", &number.to_string())])
}

/// The dialog that copies this revision to the draft.
pub fn copy_to_draft(name: &str, number: u32) -> String {
    let number = number.to_string();
    query(&workload_tab(name, WorkloadTab::History), &[("dialog", "copy"), ("revision", &number)])
}

/// The review before a publish.
pub fn publish(name: &str) -> String {
    format!("{}/publish", workload(name))
}

/// The clusters of a rollout, by default of the published revision.
pub fn rollout(name: &str) -> String {
    format!("{}/rollout", workload(name))
}

/// The report of a rollout in this format, of the REST API.
pub fn rollout_report(name: &str, number: u32, format: &str) -> String {
    let path = format!("/api/v1/projects/default/workloads/{}/rollout/report", percent_encode(name));
    query(&path, &[("revision", &number.to_string()), ("format", format)])
}

/// A revision of a workload.
pub fn revision(name: &str, number: u32) -> String {
    format!("{}/revisions/{number}", workload(name))
}

/// A revision of a workload beside another one.
pub fn compare_revisions(name: &str, number: u32, other: u32) -> String {
    query(&revision(name, number), &[("against", &other.to_string())])
}

/// An incident.
pub fn incident(id: &str) -> String {
    format!("{INCIDENTS}/{}", percent_encode(id))
}

/// The users, with the question whether to disable this one.
pub fn user_dialog(name: &str) -> String {
    query(PEOPLE, &[("disable", name)])
}

/// The page `back` with the question whether to reject the agent that waits to join as this cluster.
pub fn rejection_dialog(back: &str, cluster: &str) -> String {
    query(back, &[("reject", cluster)])
}

/// The page that joins clusters, with the question whether to revoke this join token.
pub fn join_token_dialog(token: &str) -> String {
    query(JOIN, &[("revoke", token)])
}

/// The page that follows a cluster of this name until it is online.
pub fn join_cluster(name: &str) -> String {
    query(JOIN, &[("cluster", name)])
}

/// The manifests of an agent, which the server sends for a join token. Not a page.
pub fn install_manifests(cluster: &str) -> String {
    format!("/install/{}", percent_encode(cluster))
}

/// A cluster group with the question whether to disable this feature.
pub fn group_feature_dialog(name: &str, feature: &str) -> String {
    query(&group(name), &[("disable", feature)])
}

/// A cluster group with the question whether it is deleted.
pub fn group_deletion(name: &str) -> String {
    query(&group(name), &[("dialog", "delete")])
}

/// A cluster group.
pub fn group(name: &str) -> String {
    format!("{GROUPS}/{}", percent_encode(name))
}

/// A version of a chart, which is named as `repository/name`; the newest one if `version` is empty.
pub fn chart(reference: &str, version: &str) -> String {
    let parts: Vec<String> = reference.split('/').map(percent_encode).collect();
    query(&format!("{CHARTS}/{}", parts.join("/")), &[("version", version)])
}

/// A chart with the question whether this version is deleted.
pub fn chart_deletion(reference: &str, version: &str) -> String {
    query(&chart(reference, version), &[("dialog", "delete")])
}

/// The charts with the question whether this repository is removed.
pub fn chart_repository_removal(name: &str) -> String {
    query(CHARTS, &[("dialog", "remove-repository"), ("name", name)])
}

/// The charts with the question whether this Git repository is removed.
pub fn git_repository_removal(name: &str) -> String {
    query(CHARTS, &[("dialog", "remove-git-repository"), ("name", name)])
}

/// A new workload from a version of a chart.
pub fn workload_from_chart(reference: &str, version: &str) -> String {
    query(WORKLOAD_NEW, &[("chart", reference), ("version", version)])
}

/// The search for these words.
pub fn search(q: &str) -> String {
    query(SEARCH, &[("q", q)])
}

/// The search for a workload whose tab with this slug is opened.
pub fn switch_workload(tab: &str) -> String {
    query(SEARCH, &[("switch", tab)])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_the_fleet_and_its_workloads_is_stable() {
        let map = [
            FLEET.to_owned(),
            WORKLOADS.to_owned(),
            WORKLOAD_NEW.to_owned(),
            workload("web"),
            workload_tab("web", WorkloadTab::Config),
            workload_tab("web", WorkloadTab::Placement),
            workload_tab("web", WorkloadTab::Overrides),
            workload_tab("web", WorkloadTab::Policies),
            workload_tab("web", WorkloadTab::History),
            workload_tab("web", WorkloadTab::Events),
            release("web", "edge-1"),
            workload_dialog("web", "delete"),
            publish("web"),
            revision("web", 3),
            rollout("web"),
            rollout_report("web", 3, "csv"),
            edit("web", "source"),
            unwrap_dialog("web"),
        ];
        insta::assert_snapshot!(map.join("\n"), @r"
        /
        /workloads
        /workloads/new
        /workloads/web
        /workloads/web?tab=config
        /workloads/web?tab=placement
        /workloads/web?tab=overrides
        /workloads/web?tab=policies
        /workloads/web?tab=history
        /workloads/web?tab=events
        /workloads/web?open=edge-1
        /workloads/web?dialog=delete
        /workloads/web/publish
        /workloads/web/revisions/3
        /workloads/web/rollout
        /api/v1/projects/default/workloads/web/rollout/report?revision=3&format=csv
        /workloads/web/edit/source
        /workloads/web/edit/source?dialog=unwrap
        ");
    }

    #[test]
    fn every_other_address_is_stable() {
        let map = [
            CLUSTERS.to_owned(),
            cluster("edge-1"),
            join_token_dialog("01K"),
            rejection_dialog(CLUSTERS, "edge-1"),
            join_cluster("edge-1"),
            group_feature_dialog("edge", "deployment"),
            GROUPS.to_owned(),
            GROUP_NEW.to_owned(),
            group("edge"),
            group_deletion("edge"),
            CHARTS.to_owned(),
            chart("local/web", "1.0.0"),
            chart_deletion("local/web", "1.0.0+a"),
            workload_from_chart("local/web", "1.0.0"),
            search("web"),
            switch_workload("history"),
            EVENTS.to_owned(),
            INCIDENTS.to_owned(),
            incident("01K"),
            channel_dialog("ops"),
            subscription_dialog("01K"),
            SETTINGS.to_owned(),
            PEOPLE.to_owned(),
            AUDIT.to_owned(),
            user_dialog("ada"),
            settings_tab(SettingsTab::Health),
            session_dialog("others"),
            sign_in("/workloads?state=failing"),
            SETUP.to_owned(),
        ];
        insta::assert_snapshot!(map.join("\n"), @r"
        /clusters
        /clusters/edge-1
        /join?revoke=01K
        /clusters?reject=edge-1
        /join?cluster=edge-1
        /groups/edge?disable=deployment
        /groups
        /new-group
        /groups/edge
        /groups/edge?dialog=delete
        /charts
        /charts/local/web?version=1.0.0
        /charts/local/web?version=1.0.0%2Ba&dialog=delete
        /workloads/new?chart=local%2Fweb&version=1.0.0
        /search?q=web
        /search?switch=history
        /events
        /incidents
        /incidents/01K
        /settings?tab=notifications&delete=ops
        /settings?tab=notifications&unsubscribe=01K
        /settings
        /people
        /audit
        /people?disable=ada
        /settings?tab=health
        /settings?tab=sessions&revoke=others
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
            assert_eq!(WorkloadTab::from_slug(tab.slug()), Some(tab));
        }
        for tab in SettingsTab::ALL {
            assert_eq!(SettingsTab::from_slug(tab.slug()), Some(tab));
        }
        assert_eq!(WorkloadTab::from_slug(""), Some(WorkloadTab::Clusters));
        assert_eq!(WorkloadTab::from_slug("nonsense"), None);
        assert_eq!(SettingsTab::from_slug("people"), None);
    }
}
