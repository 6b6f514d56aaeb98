//! The clusters that do not report, in the right column, with what is known of their releases.

use domain::Timestamp;
use domain::cluster::Connectivity;
use domain::fleet::NonReportingCluster;
use domain::release::ReleaseState;
use domain::rollup::ReleaseCounts;
use leptos::prelude::*;

use crate::components::{Age, ClusterReachability, StatusStyle, icon, icon_sized, pluralize};
use crate::paths;

/// Clusters that are late or offline, or have an API server that does not respond; the longest outage first.
#[component]
pub fn NonReportingClusters(
    /// The listed ones.
    clusters: Vec<NonReportingCluster>,
    /// Number of all of them.
    total: u32,
    /// When this was read.
    at: Timestamp,
) -> impl IntoView {
    if clusters.is_empty() {
        return ().into_any();
    }
    let shown = clusters.len();
    let more = usize::try_from(total).is_ok_and(|total| total > shown).then(|| {
        view! {
            <p class="table-foot">
                <span>{format!("{shown} of {total}, the longest outage first.")}</span>
                <a class="link" href=paths::CLUSTERS>
                    "All clusters"
                </a>
            </p>
        }
    });
    view! {
        <section class="stack-sm" aria-labelledby="silent">
            <h2 class="section" id="silent">
                "Clusters not reporting"
            </h2>
            <div class="list">{clusters.into_iter().map(|one| cluster_row(one, at)).collect_view()}</div>
            {more}
        </section>
    }
    .into_any()
}

fn cluster_row(cluster: NonReportingCluster, at: Timestamp) -> impl IntoView {
    let reachability = ClusterReachability {
        connectivity: cluster.connectivity,
        last_seen: cluster.last_seen,
        api_server_down_since: cluster.api_server_down_since,
    };
    let (connectivity, word, since) = match reachability.api_server_outage() {
        Some(since) => (Connectivity::Offline, "API server down", Some(since)),
        None => (cluster.connectivity, cluster.connectivity.as_str(), cluster.last_seen),
    };
    let look = StatusStyle::from_connectivity(connectivity);
    let age = match since {
        Some(since) => view! { <Age since=since at=at /> }.into_any(),
        None => "never connected".into_any(),
    };
    let mark = worst_last_known(&cluster.last_known).map(|state| {
        let last = StatusStyle::from_last_known(state);
        view! { <span class=last.hue>{icon(last.icon)}</span> }
    });
    view! {
        <a class=format!("list-row items-start py-2 {}", look.hue) href=paths::cluster(&cluster.name)>
            {icon_sized(look.icon, "icon icon-16")}
            <span class="grid min-w-0">
                <span class="list-main">
                    <b class="name strong">{cluster.name.clone()}</b>
                    <span>{word}</span>
                </span>
                <span class="meta">{mark} " " {describe_last_known(&cluster.last_known)}</span>
            </span>
            <span class="list-end">{age}</span>
        </a>
    }
}

/// The worst last known state of the releases that the cluster should have.
fn worst_last_known(counts: &ReleaseCounts) -> Option<ReleaseState> {
    counts.worst().filter(|_| counts.targeted() > 0)
}

/// How many releases the cluster should have, and how many of them are in the worst last known state. A state that can't be read is
/// named unknown.
fn describe_last_known(counts: &ReleaseCounts) -> String {
    let Some(worst) = worst_last_known(counts) else {
        return "No releases".to_owned();
    };
    let (all, number) = (counts.targeted(), counts.count(worst));
    let releases = pluralize(all, "release");
    let word = worst.label().to_lowercase();
    match number {
        _ if all == 1 => format!("{releases}, last known: {word}"),
        number if number == all => format!("{releases}, last known: all {word}"),
        number => format!("{releases}, last known: {number} {word}"),
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::ClusterId;

    use super::*;
    use crate::render_tests::render_html;

    const AT: Timestamp = Timestamp::from_millis(1_763_665_200_000);

    fn describe(states: &[ReleaseState]) -> String {
        describe_last_known(&states.iter().copied().collect())
    }

    fn cluster(connectivity: Connectivity, states: &[ReleaseState]) -> NonReportingCluster {
        NonReportingCluster {
            id: ClusterId::from_parts(1, 1),
            name: "edge-1".to_owned(),
            connectivity,
            last_seen: Some(AT.plus_millis(-26 * 60_000)),
            api_server_down_since: None,
            last_known: states.iter().copied().collect(),
        }
    }

    fn render(cluster: NonReportingCluster, total: u32) -> String {
        render_html(move || view! { <NonReportingClusters clusters=vec![cluster] total=total at=AT /> })
    }

    #[test]
    fn the_releases_of_a_cluster_are_described_by_the_worst_last_known_state() {
        use ReleaseState::{Degraded, Failed, Healthy, Removed, Unknown};
        assert_eq!(describe(&[Healthy, Healthy]), "2 releases, last known: all healthy");
        assert_eq!(describe(&[Healthy, Degraded, Degraded]), "3 releases, last known: 2 degraded");
        assert_eq!(describe(&[Failed]), "1 release, last known: failed");
        assert_eq!(describe(&[Healthy, Removed]), "1 release, last known: healthy");
        assert_eq!(describe(&[Healthy, Unknown]), "2 releases, last known: 1 unknown", "never all healthy");
        assert_eq!(describe(&[]), "No releases");
        assert_eq!(describe(&[Removed]), "No releases");
    }

    #[test]
    fn a_cluster_that_does_not_report_shows_its_outage_and_the_outlined_state_of_its_releases() {
        let page =
            render(cluster(Connectivity::Offline, &[ReleaseState::Healthy, ReleaseState::Degraded]), 1);
        for part in ["Offline", "26 min", "degraded-last", "2 releases, last known: 1 degraded"] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(!page.contains("All clusters"), "{page}");
        let page = render(cluster(Connectivity::Offline, &[]), 30);
        assert!(
            page.contains("1 of 30, the longest outage first.") && page.contains("All clusters"),
            "{page}"
        );
    }

    #[test]
    fn a_cluster_whose_api_server_is_down_is_listed_with_its_outage_and_not_as_online() {
        let down = NonReportingCluster {
            api_server_down_since: Some(AT.plus_millis(-5 * 60_000)),
            ..cluster(Connectivity::Online, &[ReleaseState::Healthy])
        };
        let page = render(down, 1);
        assert!(page.contains("API server down") && page.contains("5 min"), "{page}");
        assert!(!page.contains("Online"), "{page}");
    }
}
