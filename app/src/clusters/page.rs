//! The page of a cluster: what is wrong, its facts, and tabs with everything else. The tab is part of the address.

use domain::Timestamp;
use domain::cluster::{Cluster, ClusterKind, ClusterSummary};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};

use super::actions::ClusterActions;
use super::adoption::AdoptionDialog;
use super::agent_access::show_access;
use super::cluster_view::{ClusterView, cluster_read};
use super::conditions::FailedConditions;
use super::demo::FaultResult;
use super::dialogs::ClusterDialogs;
use super::head::ClusterHead;
use super::tabs::{ClusterConfigTab, ClusterTabs, show_overview, show_resources, show_workloads};
use crate::address::defer_change;
use crate::components::{Age, UnknownTab, render_resource, render_resource_again};
use crate::events::{EventScope, EventsTab};
use crate::live::{self, Topic};
use crate::paths::{self, ClusterTab};
use crate::resource::create_resource;
use crate::suspension::ClusterSuspension;

/// The page.
#[component]
pub fn ClusterPage() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let tab = Memo::new(move |_| ClusterTab::from_slug(&query.read().get("tab").unwrap_or_default()));
    let shown_tab = defer_change(tab);
    // Only the tab of the workloads has a filter and pages.
    let list = Memo::new(move |_| match tab.get() {
        Some(ClusterTab::Workloads) => {
            let query = query.read();
            (query.get("state").unwrap_or_default(), query.get("cursor"))
        }
        _ => (String::new(), None),
    });
    let actions = ClusterActions::new();
    let id = RwSignal::new(None);
    let version = live::watch_version(move || id.get().map(Topic::Cluster));
    let refreshes = live::count_refreshes();
    let data = create_resource(
        move || (name.get(), list.get(), (version.get(), refreshes.get()), actions.version()),
        |(name, (group, cursor), ..)| cluster_read(name, group, cursor),
    );
    Effect::new(move |_| id.set(data.get().and_then(Result::ok).map(|view| view.summary.cluster.id)));
    // A link to a part of the first tab may have been followed on another tab.
    Effect::new(move |former: Option<()>| {
        shown_tab.track();
        if former.is_some() {
            live::page::show_fragment();
        }
    });
    view! {
        {move || view! { <Title text=name.get() /> }}
        <div class="stack">
            // First: without script, the open dialog is where it is in the page.
            <ClusterDialogs name=name actions=actions />
            <AdoptionDialog cluster=name />
            <FaultResult action=actions.broken />
            <div class="stack-md">
                <ClusterHead data=data action=actions.broken />
                {render_resource(data, move |view| show_summary(view, tab))}
            </div>
            {move || match shown_tab.get() {
                Some(ClusterTab::Overview) => {
                    render_resource_again(data, move |view| show_overview(view, actions)).into_any()
                }
                Some(ClusterTab::Workloads) => render_resource_again(data, show_workloads).into_any(),
                Some(ClusterTab::Resources) => render_resource_again(data, show_resources).into_any(),
                Some(ClusterTab::Config) => view! { <ClusterConfigTab name=name data=data actions=actions /> }.into_any(),
                Some(ClusterTab::Access) => render_resource_again(data, show_access).into_any(),
                None => view! { <UnknownTab first=paths::cluster(&name.get_untracked()) /> }.into_any(),
                Some(ClusterTab::Events) => view! { <EventsTab scope=EventScope::Cluster name=name version=version /> }.into_any(),
            }}
        </div>
    }
    .into_any()
}

/// What is wrong, the facts in a line, and the tabs.
fn show_summary(view: ClusterView, tab: Memo<Option<ClusterTab>>) -> AnyView {
    let ClusterView { summary, suspension, at, .. } = view;
    let ClusterSummary { cluster, counts, conditions, agent, .. } = summary;
    let name = cluster.name.clone();
    let agent_version = agent.map(|agent| agent.version).unwrap_or_default();
    view! {
        <div class="stack-md">
            <FailedConditions conditions=conditions at=at />
            <ClusterSuspension name=name.clone() details=suspension />
            <ClusterFactList cluster=cluster agent_version=agent_version at=at />
            <ClusterTabs name=name workloads=counts.targeted() tab=tab />
        </div>
    }
    .into_any()
}

#[component]
fn ClusterFactList(cluster: Cluster, agent_version: String, at: Timestamp) -> impl IntoView {
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
            {line("Nodes", facts.nodes.map(|n| n.to_string()).unwrap_or_default(), false)}
            {line("Agent", agent_version, true)}
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
