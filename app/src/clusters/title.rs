//! The heading of the list of clusters: how many are not online, and since when.

use domain::Timestamp;
use domain::cluster::Connectivity;
use domain::fleet::{ClusterOutages, NonReportingCluster};
use leptos::prelude::*;

use crate::components::{ClusterReachability, pluralize, unbroken_durations};
use crate::live;

/// The content of the heading.
pub fn show_title(outages: ClusterOutages, at: Timestamp) -> AnyView {
    let now = live::server_now(at);
    let lead = headline(&outages);
    let rest = move || unbroken_durations(&describe_longest(&outages, now.get()));
    view! { {lead} " " <span class="title-rest">{rest}</span> }.into_any()
}

/// How many clusters report, in one sentence.
fn headline(outages: &ClusterOutages) -> String {
    match (outages.clusters_total, outages.not_online) {
        (0, _) => "Clusters".to_owned(),
        (1, 0) => "The one cluster is online.".to_owned(),
        (total, 0) => format!("All {total} clusters are online."),
        (1, _) => "The one cluster is not online.".to_owned(),
        (total, 1) => format!("1 of {} is not online.", pluralize(total, "cluster")),
        (total, some) => format!("{some} of {} are not online.", pluralize(total, "cluster")),
    }
}

/// `us-east-2: API server down for 12 s.`, the longest outage.
fn describe_longest(outages: &ClusterOutages, now: Timestamp) -> String {
    let Some(cluster) = &outages.longest else { return String::new() };
    let state = describe_outage(cluster, now);
    match outages.not_online {
        0 | 1 => format!("{}: {state}.", cluster.name),
        _ => format!("Longest: {}, {state}.", cluster.name),
    }
}

fn describe_outage(cluster: &NonReportingCluster, now: Timestamp) -> String {
    let reachability = ClusterReachability {
        connectivity: cluster.connectivity,
        last_seen: cluster.last_seen,
        api_server_down_since: cluster.api_server_down_since,
    };
    let last_seen = cluster.last_seen.map(|seen| seen.format_age(now));
    match (reachability.api_server_outage(), cluster.connectivity, last_seen) {
        (Some(since), ..) => format!("API server down for {}", since.format_age(now)),
        (None, Connectivity::Offline, None) => "never connected".to_owned(),
        (None, connectivity, None) => connectivity.as_str().to_lowercase(),
        (None, connectivity, Some(age)) => {
            format!("{}, last heartbeat {age} ago", connectivity.as_str().to_lowercase())
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::ClusterId;
    use domain::rollup::ReleaseCounts;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_763_665_200_000);

    fn outage(connectivity: Connectivity, seen: Option<i64>, api_server_down: bool) -> NonReportingCluster {
        NonReportingCluster {
            id: ClusterId::from_parts(1, 1),
            name: "us-2".to_owned(),
            connectivity,
            last_seen: seen.map(|seconds| NOW.plus_millis(-seconds * 1_000)),
            api_server_down_since: api_server_down.then(|| NOW.plus_millis(-12_000)),
            last_known: ReleaseCounts::default(),
        }
    }

    fn outages(clusters_total: u32, not_online: u32, longest: Option<NonReportingCluster>) -> ClusterOutages {
        ClusterOutages { clusters_total, not_online, longest }
    }

    #[test]
    fn the_heading_answers_how_many_clusters_are_not_online() {
        assert_eq!(headline(&outages(5, 0, None)), "All 5 clusters are online.");
        assert_eq!(headline(&outages(5, 1, None)), "1 of 5 clusters is not online.");
        assert_eq!(headline(&outages(5, 2, None)), "2 of 5 clusters are not online.");
        assert_eq!(headline(&outages(1, 1, None)), "The one cluster is not online.");
        assert_eq!(headline(&outages(0, 0, None)), "Clusters");
    }

    #[test]
    fn the_heading_names_the_longest_outage_with_its_cause_and_age() {
        let text = |not_online, cluster| describe_longest(&outages(5, not_online, Some(cluster)), NOW);
        let api_server = outage(Connectivity::Online, Some(1), true);
        assert_eq!(text(1, api_server), "us-2: API server down for 12 s.");
        let offline = outage(Connectivity::Offline, Some(300), true);
        assert_eq!(text(2, offline), "Longest: us-2, offline, last heartbeat 5 min ago.");
        assert_eq!(text(1, outage(Connectivity::Offline, None, false)), "us-2: never connected.");
        assert_eq!(describe_longest(&outages(5, 0, None), NOW), "");
    }
}
