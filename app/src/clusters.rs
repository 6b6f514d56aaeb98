//! Clusters: the list.

use domain::Timestamp;
use domain::authorization::UserAction;
#[cfg(feature = "ssr")]
use domain::cluster::ClusterSummary;
use domain::cluster::Connectivity;
use domain::fleet::ClusterOutages;
use domain::join::Registration;
use domain::labels::Labels;
use domain::page::Page;
use domain::rollup::ReleaseCounts;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use serde::{Deserialize, Serialize};

use crate::components::counts::describe_counts;
use crate::components::{
    Age, ClusterReachability, EmptyPage, FilterForm, Pager, StateStrip, cluster_label, labels_field,
    render_resource, search_field,
};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::permission::PermittedLink;
use crate::resource::create_resource;

mod actions;
mod adoption;
mod agent_access;
mod agent_permissions;
mod annotations;
mod capacity;
mod change;
mod cluster_resources;
mod cluster_view;
mod conditions;
mod confirmed_facts;
mod deletion;
mod demo;
mod dialogs;
mod group_features;
mod groups;
mod head;
mod helm_releases;
mod join;
mod join_tokens;
mod labels;
mod owners;
mod page;
mod registrations;
mod releases;
mod scheduling;
mod stages;
mod tabs;
mod title;
mod values;

use registrations::{ClusterAccept, PendingRegistrations, RegistrationActions, RegistrationDialog};

pub use groups::{GroupPage, GroupsPage, NewGroupPage};
pub use join::JoinPage;
pub use page::ClusterPage;
use title::show_title;

/// A cluster as a row. Without its other facts: they name every kind and namespace of the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterRow {
    /// Its name.
    pub name: String,
    /// Whether it reports.
    pub reachability: ClusterReachability,
    /// Its region; may be empty.
    pub region: String,
    /// The version of Kubernetes; empty if it is not known.
    pub kubernetes_version: String,
    /// Its releases by state.
    pub counts: ReleaseCounts,
    /// Its labels.
    pub labels: Labels,
    /// Whether a user suspended it.
    pub is_suspended: bool,
}

#[cfg(feature = "ssr")]
impl From<ClusterSummary> for ClusterRow {
    fn from(ClusterSummary { cluster, counts, suspension, .. }: ClusterSummary) -> Self {
        Self {
            is_suspended: suspension.is_some(),
            reachability: ClusterReachability::from(&cluster),
            region: cluster.region().to_owned(),
            name: cluster.name,
            kubernetes_version: cluster.facts.kubernetes_version,
            counts,
            labels: cluster.labels,
        }
    }
}

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterList {
    /// The clusters, worst first.
    pub page: Page<ClusterRow>,
    /// Agents that wait for approval, oldest first.
    pub pending: Vec<Registration>,
    /// Those of all clusters that are not online.
    pub outages: ClusterOutages,
    /// When this was read.
    pub at: Timestamp,
}

/// The filter and the page of the list, as in the address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ClusterFilter {
    q: String,
    labels: String,
    connectivity: String,
    cursor: Option<String>,
}

impl ClusterFilter {
    fn from_query(query: &ParamsMap) -> Self {
        let part = |name: &str| query.get(name).unwrap_or_default();
        Self {
            q: part("q"),
            labels: part("labels"),
            connectivity: part("connectivity"),
            cursor: query.get("cursor"),
        }
    }

    /// Whether every cluster matches.
    fn is_empty(&self) -> bool {
        [&self.q, &self.labels, &self.connectivity].iter().all(|part| part.is_empty())
    }

    /// The address of the page of this list that begins after `cursor`.
    fn address(&self, cursor: &str) -> String {
        let (q, labels, connectivity) = (self.q.as_str(), self.labels.as_str(), self.connectivity.as_str());
        let parts = [("q", q), ("labels", labels), ("connectivity", connectivity), ("cursor", cursor)];
        paths::query(paths::CLUSTERS, &parts)
    }
}

/// The page's one query. `connectivity` is the name of one, anything else is all.
#[server(prefix = "/api/fn", endpoint = "clusters_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn clusters_read(
    q: String,
    labels: String,
    connectivity: String,
    cursor: Option<String>,
) -> AppResult<ClusterList> {
    use crate::host;
    use domain::page::ListQuery;
    let hub = host::hub_for_reader()?;
    let query = ListQuery {
        q: q.chars().take(100).collect(),
        label_selector: labels.chars().take(500).collect(),
        cursor,
        ..ListQuery::default()
    };
    let connectivity = Connectivity::parse(&connectivity);
    let page = host::into_app_result(hub.list_clusters_worst_first(&query, connectivity).await)?;
    let page = page.map(ClusterRow::from);
    let outages = host::into_app_result(hub.get_cluster_outages().await)?;
    Ok(ClusterList {
        page,
        pending: registrations::list_pending(&hub).await?,
        outages,
        at: hub.clock().now(),
    })
}

/// The page.
#[component]
pub fn ClustersPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let version = live::watch_version(|| Some(Topic::Fleet));
    let actions = RegistrationActions::new();
    let filter = Memo::new(move |_| query.with(ClusterFilter::from_query));
    let data = create_resource(
        move || (filter.get(), version.get(), actions.version()),
        |(ClusterFilter { q, labels, connectivity, cursor }, ..)| {
            clusters_read(q, labels, connectivity, cursor)
        },
    );
    view! {
        <Title text="Clusters" />
        <div class="stack-md">
            // First: without script, the open dialog is where it is in the page.
            <RegistrationDialog action=actions.reject back=Signal::stored(paths::CLUSTERS.to_owned()) />
            <div class="head">
                <h1 class="title">
                    <Transition fallback=|| "Clusters">
                        {move || data.get().map(|list| match list {
                            Ok(list) => show_title(list.outages, list.at),
                            Err(_) => "Clusters".into_any(),
                        })}
                    </Transition>
                </h1>
                <div class="head-actions">
                    <PermittedLink action=UserAction::JoinCluster class="btn btn-primary" href=paths::JOIN label="Join a cluster" />
                </div>
            </div>
            <FilterForm action=paths::CLUSTERS>
                <div class="filter-bar">
                    {move || search_field("q", "Name", part("q"))}
                    {move || labels_field(part("labels"), "Labels, env=prod")}
                    {move || connectivity_links(&filter.get())}
                    {move || {
                        let connectivity = part("connectivity");
                        (!connectivity.is_empty())
                            .then(|| view! { <input type="hidden" name="connectivity" value=connectivity /> })
                    }}
                    <button class="btn" type="submit">
                        "Filter"
                    </button>
                </div>
            </FilterForm>
            {render_resource(data, move |list| show_list(list, actions.accept, &filter.get()))}
        </div>
    }
    .into_any()
}

/// Links to the other connectivities of the same list.
fn connectivity_links(filter: &ClusterFilter) -> AnyView {
    let choices = [None, Some(Connectivity::Online), Some(Connectivity::Late), Some(Connectivity::Offline)];
    let current = Connectivity::parse(&filter.connectivity);
    let link = |choice: Option<Connectivity>| {
        let word = choice.map(Connectivity::as_str);
        let other = ClusterFilter { connectivity: word.unwrap_or_default().to_owned(), ..filter.clone() };
        let is_current = (choice == current).then_some("page");
        view! { <a href=other.address("") aria-current=is_current>{word.unwrap_or("All")}</a> }
    };
    view! { <nav class="segmented" aria-label="Connectivity">{choices.map(link).collect_view()}</nav> }
        .into_any()
}

fn show_list(list: ClusterList, accept: ServerAction<ClusterAccept>, filter: &ClusterFilter) -> AnyView {
    let (page, at) = (list.page, list.at);
    let pending = view! { <PendingRegistrations waiting=list.pending accept=accept at=at /> };
    let first = filter.cursor.is_some().then(|| filter.address(""));
    if page.items.is_empty() {
        let empty = match first {
            Some(first) => view! { <EmptyPage first=first /> }.into_any(),
            None => show_empty(filter.is_empty()).into_any(),
        };
        return view! { {pending} {empty} }.into_any();
    }
    let next = page.next.as_ref().map(|cursor| filter.address(cursor));
    let shown = page.items.len();
    view! {
        {pending}
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Cluster"</th>
                    <th scope="col">"Connectivity"</th>
                    <th scope="col">"Last seen"</th>
                    <th scope="col">"Region"</th>
                    <th scope="col">"Kubernetes"</th>
                    <th scope="col">"Releases"</th>
                    <th scope="col" class="right">"Healthy"</th>
                    <th scope="col">"Labels"</th>
                </tr>
            </thead>
            <tbody>{page.items.into_iter().map(|one| row(one, at)).collect_view()}</tbody>
        </table>
        <Pager shown=shown total=page.total noun="clusters" first=first next=next />
    }
    .into_any()
}

fn row(cluster: ClusterRow, at: Timestamp) -> impl IntoView {
    let ClusterRow { name, reachability, region, kubernetes_version, counts, labels, is_suspended } = cluster;
    let suspended = is_suspended.then(|| view! { <span class="meta">" suspended"</span> });
    let targeted = counts.targeted();
    let healthy = (targeted > 0).then(|| format!("{} of {targeted}", counts.healthy()));
    let spoken = describe_counts(&counts);
    let strip = match targeted {
        0 => view! { <span class="text-3">"none"</span> }.into_any(),
        _ => view! { <StateStrip counts=counts class="strip strip-row" /> }.into_any(),
    };
    let labels = labels::first_label_chips(&labels);
    // An empty text would be a blank in the page: a cell with only a label.
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    let last_seen = match reachability.last_seen {
        Some(seen) => view! { <Age since=seen at=at suffix=" ago" /> }.into_any(),
        None => "never".into_any(),
    };
    view! {
        <tr>
            <th scope="row" class="cell-name name">
                <a href=paths::cluster(&name)>{name.clone()}</a>
            </th>
            <td class="cell-state">{cluster_label(reachability, at)} {suspended}</td>
            <td data-label="Last seen">{last_seen}</td>
            <td data-label="Region">{text(region)}</td>
            <td class="mono" data-label="Kubernetes">
                {text(kubernetes_version)}
            </td>
            <td class="cell-strip" title=spoken>
                {strip}
            </td>
            <td class="right" data-label="Healthy">
                {healthy}
            </td>
            <td class="max-sm:hidden">{labels}</td>
        </tr>
    }
}

/// The empty list: no match, or how the first cluster joins.
fn show_empty(is_unfiltered: bool) -> impl IntoView {
    if !is_unfiltered {
        return view! {
            <section class="empty">
                <h2>"No cluster matches"</h2>
                <p>"No name contains this text with these labels and this connectivity."</p>
                <div class="empty-actions">
                    <a class="btn" href=paths::CLUSTERS>
                        "Show all"
                    </a>
                </div>
            </section>
        }
        .into_any();
    }
    view! {
        <section class="empty">
            <h2>"Add the first cluster"</h2>
            <p>"An agent runs in the cluster and connects to this server; the server never connects to the cluster."</p>
            <ol class="steps-how">
                <li>"Choose what the agent may do, and generate its manifests."</li>
                <li>"Apply them where kubectl points at the cluster."</li>
                <li>"Accept it here when it appears. There is no time limit."</li>
            </ol>
            // The main action of the page is in its head.
            <div class="empty-actions">
                <PermittedLink action=UserAction::JoinCluster class="btn" href=paths::JOIN label="Join a cluster" />
            </div>
        </section>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::{query, render_html};

    #[test]
    fn a_cluster_that_has_not_reported_has_no_cell_that_is_only_a_label() {
        let render = |region: &str, version: &str| {
            let cluster = ClusterRow {
                name: "eu-1".to_owned(),
                reachability: ClusterReachability {
                    connectivity: Connectivity::Offline,
                    last_seen: None,
                    api_server_down_since: None,
                },
                region: region.to_owned(),
                kubernetes_version: version.to_owned(),
                counts: ReleaseCounts::default(),
                is_suspended: false,
                labels: Labels::default(),
            };
            render_html(move || row(cluster, Timestamp::default()))
        };
        let page = render("eu-west", "v1.33.4");
        assert!(page.contains(">eu-west") && page.contains(">v1.33.4"), "{page}");
        let page = render("", "");
        assert!(page.contains("Region") && !page.contains("> </td>"), "{page}");
    }

    #[test]
    fn the_links_to_a_connectivity_retain_the_filter_and_not_the_page() {
        let address = query(&[("q", "eu"), ("connectivity", "Late"), ("cursor", "0a")]);
        let filter = ClusterFilter::from_query(&address);
        assert!(!filter.is_empty() && ClusterFilter::default().is_empty());
        let page = render_html(move || connectivity_links(&filter));
        assert!(page.contains("q=eu") && !page.contains("cursor"), "{page}");
        assert!(page.contains("connectivity=Offline"), "{page}");
        assert_eq!(page.matches("aria-current").count(), 1, "{page}");
    }
}
