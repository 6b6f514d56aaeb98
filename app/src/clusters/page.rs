//! The page of a cluster: connectivity, facts, releases (worst first), nodes, labels, taints.

use domain::Timestamp;
use domain::cluster::{Cluster, ClusterKind, ClusterSummary, ConfirmedFacts};
use domain::page::Page;
use domain::release::ReleaseView;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};
use serde::{Deserialize, Serialize};

use super::cluster_resources::{LimitedNamespaces, NamespaceLimits, Nodes};
use super::conditions::Conditions;
use super::confirmed_facts::{ClusterConfirmFacts, FactsToConfirm, PendingFacts};
use super::demo::{FaultMenu, FaultResult, InjectDemoFault};
use super::labels::{ClusterLabel, LabelEditor};
use crate::components::{
    Age, Empty, Pager, StateCounts, StateLabel, StateStrip, cluster_label, pluralize, render_resource,
};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::resource::create_resource;

/// A cluster with the releases on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterView {
    /// The cluster; without its list of kinds, which `kinds` counts.
    pub summary: ClusterSummary,
    /// Number of kinds its API serves.
    pub kinds: u32,
    /// Its namespaces with limits.
    pub namespaces: LimitedNamespaces,
    /// Its releases, worst first.
    pub releases: Page<ReleaseView>,
    /// When this was read.
    pub at: Timestamp,
}

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "cluster_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn cluster_read(name: String, group: String, cursor: Option<String>) -> AppResult<ClusterView> {
    use crate::components::StateGroup;
    use crate::host;
    use domain::page::ListQuery;
    let hub = host::hub_for_reader()?;
    let query = ListQuery { state: StateGroup::state_filter(&group), cursor, ..ListQuery::default() };
    let (mut summary, releases) = host::into_app_result(hub.get_cluster_with_releases(&name, &query).await)?;
    let kinds = std::mem::take(&mut summary.cluster.facts.apis).len();
    let namespaces = LimitedNamespaces::from_facts(std::mem::take(&mut summary.cluster.facts.namespaces));
    Ok(ClusterView {
        summary,
        kinds: u32::try_from(kinds).unwrap_or(u32::MAX),
        namespaces,
        releases,
        at: hub.clock().now(),
    })
}

/// The page.
#[component]
pub fn ClusterPage() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let group = Memo::new(move |_| query.read().get("state").unwrap_or_default());
    let cursor = move || query.read().get("cursor");
    let actions = ClusterActions {
        label: ServerAction::new(),
        confirm: ServerAction::new(),
        broken: ServerAction::new(),
    };
    let id = RwSignal::new(None);
    let version = live::watch_version(move || id.get().map(Topic::Cluster));
    let data = create_resource(
        move || (name.get(), group.get(), cursor(), version.get(), actions.version()),
        |(name, group, cursor, ..)| cluster_read(name, group, cursor),
    );
    Effect::new(move |_| id.set(data.get().and_then(Result::ok).map(|view| view.summary.cluster.id)));
    view! {
        {move || view! { <Title text=name.get() /> }}
        <div class="stack">
            <FaultResult action=actions.broken />
            {render_resource(data, move |view| show_cluster(view, &group.get(), cursor().is_some(), actions))}
        </div>
    }
    .into_any()
}

/// The actions of the page.
#[derive(Clone, Copy)]
struct ClusterActions {
    label: ServerAction<ClusterLabel>,
    confirm: ServerAction<ClusterConfirmFacts>,
    broken: ServerAction<InjectDemoFault>,
}

impl ClusterActions {
    /// Grows with every use of an action, so that the page is read again.
    fn version(self) -> usize {
        self.label.version().get() + self.confirm.version().get()
    }
}

fn show_cluster(view: ClusterView, group: &str, later: bool, actions: ClusterActions) -> AnyView {
    let ClusterView {
        summary: ClusterSummary { cluster, counts, conditions, pending_facts },
        kinds,
        namespaces,
        releases,
        at,
    } = view;
    let ClusterActions { label, confirm, broken } = actions;
    let facts = FactsToConfirm {
        cluster: cluster.name.clone(),
        revision: cluster.revision,
        pending: pending_facts,
        reported: ConfirmedFacts::from_reported(&cluster.facts),
    };
    let base = paths::cluster(&cluster.name);
    let simulated = cluster.kind == ClusterKind::Simulated;
    let targeted = counts.targeted();
    let strip = counts.clone();
    view! {
        <div class="stack">
            <div class="stack-md">
                <div class="head">
                    <div class="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                        <h1 class="title-mono">{cluster.name.clone()}</h1>
                        {cluster_label((&cluster).into(), at)}
                    </div>
                    <div class="head-actions">
                        {simulated.then(|| view! { <FaultMenu name=cluster.name.clone() action=broken /> })}
                    </div>
                </div>
                <ClusterFactList cluster=cluster.clone() kinds=kinds at=at />
                {(targeted > 0).then(|| view! { <StateStrip counts=strip /> })}
                {(targeted > 0).then(|| view! {
                    <StateCounts counts=counts base=base.clone() active=group note=pluralize(targeted, "release") />
                })}
            </div>
            <div class="split">
                <div class="stack">
                    <section class="stack-sm" aria-labelledby="releases">
                        <h2 class="section" id="releases">
                            "Workloads on this cluster " <span class="meta font-normal">"worst first"</span>
                        </h2>
                        {release_table(releases, &base, group, later, at)}
                    </section>
                    <Nodes pools=cluster.facts.node_pools.clone() />
                    <NamespaceLimits namespaces=namespaces />
                </div>
                <aside class="stack" aria-label="Conditions, labels and taints">
                    <Conditions conditions=conditions at=at />
                    <PendingFacts facts=facts action=confirm />
                    <LabelEditor name=cluster.name.clone() labels=cluster.labels.clone() revision=cluster.revision action=label />
                    <Taints cluster=cluster />
                </aside>
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn ClusterFactList(cluster: Cluster, kinds: u32, at: Timestamp) -> impl IntoView {
    let (facts, confirmed) = (&cluster.facts, &cluster.confirmed_facts);
    let region = if cluster.region().is_empty() { &confirmed.region } else { cluster.region() };
    let managed_by = match cluster.kind {
        ClusterKind::Agent => "agent in the cluster",
        ClusterKind::Kubeconfig => "this server, with a kubeconfig",
        ClusterKind::Simulated => "demo simulator",
    };
    let line = |what: &'static str, value: String, mono: bool| {
        (!value.is_empty()).then(|| {
            view! {
                <div>
                    <dt>{what}</dt>
                    <dd class=if mono { "mono" } else { "" }>{value}</dd>
                </div>
            }
        })
    };
    view! {
        <dl class="facts">
            {line("Kubernetes", facts.kubernetes_version.clone(), true)}
            {line("Provider", confirmed.provider.clone(), false)}
            {line("Region", region.to_owned(), false)}
            {line("Zones", confirmed.zones.join(", "), false)}
            {line("Nodes", facts.nodes.map(|n| n.to_string()).unwrap_or_default(), false)}
            {line("Kinds", if kinds > 0 { kinds.to_string() } else { String::new() }, false)}
            {line("Storage", format_classes(&facts.storage_classes, &facts.default_storage_class), true)}
            {line("Ingress", format_classes(&facts.ingress_classes, &facts.default_ingress_class), true)}
            {line("Managed by", managed_by.to_owned(), false)}
            {line("Schedulable", if cluster.schedulable { "yes".to_owned() } else { "no".to_owned() }, false)}
            <div>
                <dt>"Joined"</dt>
                <dd>
                    <Age since=cluster.created_at at=at suffix=" ago" />
                </dd>
            </div>
        </dl>
    }
    .into_any()
}

/// The names of classes; the default class is marked.
fn format_classes(names: &[String], default: &str) -> String {
    let format_name =
        |name: &String| if name == default { format!("{name} (default)") } else { name.clone() };
    names.iter().map(format_name).collect::<Vec<_>>().join(", ")
}

fn release_table(
    releases: Page<ReleaseView>,
    base: &str,
    group: &str,
    later: bool,
    at: Timestamp,
) -> impl IntoView + use<> {
    if releases.items.is_empty() {
        let text = if group.is_empty() {
            "No workload is placed on this cluster. Placements select clusters by their labels."
        } else {
            "No release on this cluster is in this state."
        };
        return view! { <Empty title="No releases" text=text /> }.into_any();
    }
    let base = paths::query(base, &[("state", group)]);
    let next = releases.next.as_ref().map(|cursor| paths::query(&base, &[("cursor", cursor)]));
    let shown = releases.items.len();
    let row = move |one: ReleaseView| {
        let revision = one.release.revision().map(|n| view! { <span class="tag">{format!("r{n}")}</span> });
        view! {
            <tr data-release=one.release.id().to_string()>
                <th scope="row" class="cell-name name">
                    <a href=paths::release(&one.workload_name, &one.cluster_name)>{one.workload_name.clone()}</a>
                </th>
                <td class="cell-state">
                    <StateLabel state=one.state last_known=one.last_known_state reported_at=one.release.reported_at() at=at />
                </td>
                <td data-label="Desired">{revision}</td>
                <td data-label="Since">
                    <Age since=one.release.state_since() at=at />
                </td>
                <td data-label=(!one.message.is_empty()).then_some("Message")>{one.message.clone()}</td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Workload"</th>
                    <th scope="col">"State"</th>
                    <th scope="col">"Desired"</th>
                    <th scope="col">"Since"</th>
                    <th scope="col">"Message"</th>
                </tr>
            </thead>
            <tbody>{releases.items.into_iter().map(row).collect_view()}</tbody>
        </table>
        <Pager shown=shown total=releases.total noun="releases" first=later.then_some(base) next=next />
    }
    .into_any()
}

#[component]
fn Taints(cluster: Cluster) -> impl IntoView {
    let chips = cluster.taints.iter().map(|taint| {
        view! { <span class="chip mono">{taint.to_string()}</span> }
    });
    let chips = chips.collect_view();
    let none = cluster
        .taints
        .is_empty()
        .then(|| view! { <p class="text-3">"None. Every workload is schedulable here."</p> });
    view! {
        <section class="stack-sm" aria-labelledby="taints">
            <h2 class="section" id="taints">
                "Taints"
            </h2>
            <div class="flex flex-wrap gap-1">{chips}</div>
            {none}
        </section>
    }
    .into_any()
}
