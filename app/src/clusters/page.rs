//! The page of a cluster: connectivity, facts, releases (worst first), nodes, labels, taints, annotations and values.

use domain::Timestamp;
use domain::cluster::{Cluster, ClusterKind, ClusterSummary, ConfirmedFacts};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};

use super::actions::ClusterActions;
use super::adoption::AdoptionDialog;
use super::annotations::AnnotationEditor;
use super::cluster_resources::{NamespaceLimits, Nodes};
use super::cluster_view::{ClusterView, cluster_read};
use super::conditions::{Conditions, FailedConditions};
use super::confirmed_facts::{FactsToConfirm, PendingFacts};
use super::demo::FaultResult;
use super::dialogs::ClusterDialogs;
use super::head::ClusterHead;
use super::helm_releases::HelmReleaseTable;
use super::labels::LabelEditor;
use super::releases::release_table;
use super::scheduling::Scheduling;
use super::values::ValuesEditor;
use crate::components::{Age, StateCounts, StateStrip, pluralize, render_resource, render_resource_again};
use crate::live::{self, Topic};
use crate::paths;
use crate::resource::create_resource;

/// The page.
#[component]
pub fn ClusterPage() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let group = Memo::new(move |_| query.read().get("state").unwrap_or_default());
    let cursor = move || query.read().get("cursor");
    let actions = ClusterActions::new();
    let id = RwSignal::new(None);
    let version = live::watch_version(move || id.get().map(Topic::Cluster));
    let refreshes = live::count_refreshes();
    let data = create_resource(
        move || (name.get(), group.get(), cursor(), (version.get(), refreshes.get()), actions.version()),
        |(name, group, cursor, ..)| cluster_read(name, group, cursor),
    );
    Effect::new(move |_| id.set(data.get().and_then(Result::ok).map(|view| view.summary.cluster.id)));
    view! {
        {move || view! { <Title text=name.get() /> }}
        <div class="stack">
            // First: without script, the open dialog is where it is in the page.
            <ClusterDialogs name=name actions=actions />
            <AdoptionDialog cluster=name />
            <FaultResult action=actions.broken />
            <div class="stack-md">
                <ClusterHead data=data action=actions.broken />
                {render_resource(data, move |view| show_overview(view, &group.get()))}
            </div>
            <div class="split">
                <div class="stack">
                    {render_resource_again(data, move |view| show_contents(view, &group.get(), cursor().is_some(), actions))}
                    <ValuesEditor name=name />
                </div>
                <aside class="stack" aria-label="Conditions, scheduling, taints and labels">
                    {render_resource_again(data, move |view| show_settings(view, actions))}
                </aside>
            </div>
        </div>
    }
    .into_any()
}

/// What is wrong, facts and the releases by state.
fn show_overview(view: ClusterView, group: &str) -> AnyView {
    let ClusterView { summary: ClusterSummary { cluster, counts, conditions, .. }, kinds, at, .. } = view;
    let base = paths::cluster(&cluster.name);
    let targeted = counts.targeted();
    let strip = counts.clone();
    view! {
        <div class="stack-md">
            <FailedConditions conditions=conditions at=at />
            <ClusterFactList cluster=cluster kinds=kinds at=at />
            {(targeted > 0).then(|| view! { <StateStrip counts=strip /> })}
            {(targeted > 0).then(|| view! {
                <StateCounts counts=counts base=base active=group note=pluralize(targeted, "release") />
            })}
        </div>
    }
    .into_any()
}

/// What is on the cluster: releases, Helm releases, nodes, namespaces; and its annotations.
fn show_contents(view: ClusterView, group: &str, later: bool, actions: ClusterActions) -> AnyView {
    let ClusterView { summary, namespaces, helm_releases, releases, pending_removals, at, .. } = view;
    let cluster = summary.cluster;
    let base = paths::cluster(&cluster.name);
    view! {
        <div class="stack">
            <section class="stack-sm" aria-labelledby="releases">
                <h2 class="section" id="releases">
                    "Workloads on this cluster " <span class="meta font-normal">"worst first"</span>
                </h2>
                {release_table(releases, &pending_removals, (&base, group, later), at)}
            </section>
            <HelmReleaseTable cluster=cluster.name.clone() releases=helm_releases />
            <Nodes pools=cluster.facts.node_pools />
            <NamespaceLimits namespaces=namespaces />
            <AnnotationEditor name=cluster.name annotations=cluster.annotations action=actions.annotate />
        </div>
    }
    .into_any()
}

/// What decides which workloads the cluster gets.
fn show_settings(view: ClusterView, actions: ClusterActions) -> AnyView {
    let ClusterView { summary: ClusterSummary { cluster, conditions, pending_facts, .. }, at, .. } = view;
    let facts = FactsToConfirm {
        cluster: cluster.name.clone(),
        revision: cluster.revision,
        pending: pending_facts,
        reported: ConfirmedFacts::from_reported(&cluster.facts),
    };
    view! {
        <div class="stack">
            <Conditions conditions=conditions at=at />
            <PendingFacts facts=facts action=actions.confirm />
            <Scheduling name=cluster.name.clone() schedulable=cluster.schedulable taints=cluster.taints
                revision=cluster.revision cordon=actions.cordon taint=actions.taint />
            <LabelEditor name=cluster.name labels=cluster.labels revision=cluster.revision action=actions.label />
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
