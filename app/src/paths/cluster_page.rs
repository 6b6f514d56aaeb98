//! Addresses of the page of a cluster: its tabs and its dialogs.

use super::{CLUSTERS, percent_encode, query};

/// The tabs of a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClusterTab {
    /// Its conditions, its releases, its capacity, its agent, its labels and taints.
    #[default]
    Overview,
    /// Its releases, and the Helm releases on it.
    Workloads,
    /// Its nodes, quotas and classes.
    Resources,
    /// Its annotations and values.
    Config,
    /// How its agent joined, its certificate and its permissions.
    Access,
    /// Its events.
    Events,
}

impl ClusterTab {
    /// All of them, in the order shown.
    pub const ALL: [Self; 6] =
        [Self::Overview, Self::Workloads, Self::Resources, Self::Config, Self::Access, Self::Events];

    /// Its name in addresses.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Workloads => "workloads",
            Self::Resources => "resources",
            Self::Config => "config",
            Self::Access => "access",
            Self::Events => "events",
        }
    }

    /// Its name on pages.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Workloads => "Workloads",
            Self::Resources => "Resources",
            Self::Config => "Config",
            Self::Access => "Access",
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

/// A cluster.
pub fn cluster(name: &str) -> String {
    format!("{CLUSTERS}/{}", percent_encode(name))
}

/// A tab of a cluster.
pub fn cluster_tab(name: &str, tab: ClusterTab) -> String {
    match tab {
        ClusterTab::Overview => cluster(name),
        tab => query(&cluster(name), &[("tab", tab.slug())]),
    }
}

/// A cluster with the dialog that adopts an installed Helm release.
pub fn adoption_dialog(cluster: &str, namespace: &str, release: &str) -> String {
    cluster_dialog(cluster, "adopt", &[("namespace", namespace), ("release", release)])
}

/// A cluster with a confirmation dialog open: `revoke` or `delete`; `label` or `taint` with the change to confirm.
pub fn cluster_dialog(name: &str, question: &str, change: &[(&str, &str)]) -> String {
    query(&query(&below_cluster_dialog(name, question), &[("dialog", question)]), change)
}

/// The page below a dialog of a cluster: the tab of what the dialog changes.
pub fn below_cluster_dialog(name: &str, question: &str) -> String {
    let tab = match question {
        "adopt" => ClusterTab::Workloads,
        "revoke" => ClusterTab::Access,
        _ => ClusterTab::Overview,
    };
    cluster_tab(name, tab)
}

/// The cluster, at the part of its page about cordon and taints.
pub fn cluster_scheduling(name: &str) -> String {
    format!("{}#scheduling", cluster(name))
}

/// The cluster, at the part of its page about labels.
pub fn cluster_labels(name: &str) -> String {
    format!("{}#labels", cluster(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_a_cluster_is_stable() {
        let dialogs = [
            cluster_dialog("edge-1", "delete", &[]),
            cluster_dialog("edge-1", "label", &[("set", "env=dev"), ("remove", "")]),
            cluster_dialog("edge-1", "revoke", &[]),
            adoption_dialog("edge-1", "shop", "web"),
            cluster_scheduling("edge-1"),
            cluster_labels("edge-1"),
        ];
        let map = ClusterTab::ALL.map(|tab| cluster_tab("edge-1", tab)).into_iter().chain(dialogs);
        insta::assert_snapshot!(map.collect::<Vec<_>>().join("\n"), @r"
        /clusters/edge-1
        /clusters/edge-1?tab=workloads
        /clusters/edge-1?tab=resources
        /clusters/edge-1?tab=config
        /clusters/edge-1?tab=access
        /clusters/edge-1?tab=events
        /clusters/edge-1?dialog=delete
        /clusters/edge-1?dialog=label&set=env%3Ddev
        /clusters/edge-1?tab=access&dialog=revoke
        /clusters/edge-1?tab=workloads&dialog=adopt&namespace=shop&release=web
        /clusters/edge-1#scheduling
        /clusters/edge-1#labels
        ");
    }

    #[test]
    fn a_tab_is_parsed_from_its_slug() {
        for tab in ClusterTab::ALL {
            assert_eq!(ClusterTab::from_slug(tab.slug()), Some(tab));
        }
        assert_eq!(ClusterTab::from_slug(""), Some(ClusterTab::Overview));
        assert_eq!(ClusterTab::from_slug("nonsense"), None);
    }
}
