//! The tabs of the page of a cluster.

use domain::cluster::{ClusterSummary, ConfirmedFacts};
use domain::rollup::ReleaseCounts;
use leptos::prelude::*;

use super::actions::ClusterActions;
use super::agent_access::{AgentCredentials, JoinStages};
use super::annotations::AnnotationEditor;
use super::capacity::{Capacity, CapacityDetails};
use super::cluster_resources::{NamespaceLimits, Nodes, ServedClasses};
use super::cluster_view::ClusterView;
use super::conditions::Conditions;
use super::confirmed_facts::{FactsToConfirm, PendingFacts};
use super::helm_releases::HelmReleaseTable;
use super::labels::LabelEditor;
use super::owners::ClusterOwners;
use super::releases::release_table;
use super::scheduling::Scheduling;
use super::values::ValuesEditor;
use crate::components::{PageTabs, StateCounts, StateStrip, pluralize, render_resource_again};
use crate::paths::{self, ClusterTab};
use crate::resource::PageResource;
use crate::suspension::SuspendCluster;

/// Number of releases on the first tab.
const OVERVIEW_RELEASES: usize = 12;

/// The row of tabs.
#[component]
pub fn ClusterTabs(
    /// The name of the cluster.
    name: String,
    /// Number of its workloads.
    workloads: u32,
    /// The current tab; none if the address names no tab.
    tab: Memo<Option<ClusterTab>>,
) -> impl IntoView {
    let link = move |one: ClusterTab| {
        let number = (one == ClusterTab::Workloads && workloads > 0)
            .then(|| view! { <span class="tab-count">{workloads}</span> });
        view! {
            <a href=paths::cluster_tab(&name, one) aria-current=move || (tab.get() == Some(one)).then_some("page")>
                {one.label()}
                " "
                {number}
            </a>
        }
    };
    view! {
        <PageTabs label="Parts of this cluster" current=Signal::derive(move || tab.get().map_or("", ClusterTab::label))>
            {ClusterTab::ALL.map(link).collect_view()}
        </PageTabs>
    }
    .into_any()
}

/// The first tab: conditions, the worst releases, labels and taints; beside them capacity, onboarding and credentials.
pub fn show_overview(view: ClusterView, actions: ClusterActions) -> AnyView {
    let ClusterView {
        summary, quotas, groups, groups_total, mut releases, pending_removals, group, at, ..
    } = view;
    let ClusterSummary { cluster, conditions, pending_facts, agent, suspension, .. } = summary;
    let facts = FactsToConfirm {
        cluster: cluster.name.clone(),
        revision: cluster.revision,
        pending: pending_facts,
        reported: ConfirmedFacts::from_reported(&cluster.facts),
    };
    let workloads = paths::cluster_tab(&cluster.name, ClusterTab::Workloads);
    releases.items.truncate(OVERVIEW_RELEASES);
    releases.next = None;
    let all = (releases.total as usize > releases.items.len()).then(|| {
        let text = format!("All {} workloads", releases.total);
        view! { <p class="meta"><a class="link" href=workloads.clone()>{text}</a></p> }
    });
    let stages = agent.as_ref().map(|agent| agent.stages.clone());
    let name = cluster.name;
    let suspend = suspension.is_none().then(|| view! { <SuspendCluster name=name.clone() /> });
    view! {
        <div class="split">
            <div class="stack">
                <PendingFacts facts=facts action=actions.confirm />
                <Conditions conditions=conditions at=at />
                <section class="stack-sm" aria-labelledby="releases">
                    <h2 class="section" id="releases">
                        "Workloads on this cluster " <span class="meta font-normal">"worst first"</span>
                    </h2>
                    {release_table(releases, &pending_removals, (&workloads, &group, false), at)}
                    {all}
                </section>
                <div class="grid grid-cols-1 gap-8 lg:grid-cols-2">
                    <LabelEditor name=name.clone() labels=cluster.labels revision=cluster.revision action=actions.label />
                    <div class="stack">
                        <Scheduling name=name.clone() schedulable=cluster.schedulable taints=cluster.taints
                            revision=cluster.revision cordon=actions.cordon taint=actions.taint />
                        {suspend}
                        <ClusterOwners name=name.clone() owners=cluster.owners revision=cluster.revision action=actions.owners />
                        {show_groups(groups, groups_total)}
                    </div>
                </div>
            </div>
            <aside class="stack" aria-label="Capacity, onboarding and credentials">
                <Capacity name=name.clone() facts=cluster.facts quotas=quotas />
                {stages.map(|stages| view! { <JoinStages stages=stages at=at /> })}
                <AgentCredentials name=name kind=cluster.kind agent=agent at=at />
            </aside>
        </div>
    }
    .into_any()
}

/// The groups that the cluster is in: the first of `total`.
fn show_groups(groups: Vec<String>, total: u32) -> AnyView {
    let more = usize::try_from(total).is_ok_and(|total| total > groups.len()).then(|| {
        let text = format!("{} of {total}, by name. ", groups.len());
        view! { <p class="meta">{text} <a class="link" href=paths::GROUPS>"All groups"</a></p> }
    });
    let content = if groups.is_empty() {
        view! { <p class="text-3">"In no group."</p> }.into_any()
    } else {
        let link = |name: String| view! { <a class="link name" href=paths::group(&name)>{name.clone()}</a> };
        view! { <p class="flex flex-wrap gap-3">{groups.into_iter().map(link).collect_view()}</p> }.into_any()
    };
    view! {
        <section class="stack-sm" aria-labelledby="groups">
            <h2 class="section" id="groups">
                "Groups"
            </h2>
            {content}
            {more}
        </section>
    }
    .into_any()
}

/// The tab with all releases, filtered by state, and with the Helm releases.
pub fn show_workloads(view: ClusterView) -> AnyView {
    let ClusterView { summary, helm_releases, group, is_later_page, releases, pending_removals, at, .. } =
        view;
    let ClusterSummary { cluster, counts, .. } = summary;
    let base = paths::cluster_tab(&cluster.name, ClusterTab::Workloads);
    view! {
        <div class="stack">
            <section class="stack-md" aria-labelledby="releases">
                <h2 class="section" id="releases">
                    "Workloads on this cluster " <span class="meta font-normal">"worst first"</span>
                </h2>
                {show_counts(counts, base.clone(), &group)}
                {release_table(releases, &pending_removals, (&base, &group, is_later_page), at)}
            </section>
            <HelmReleaseTable cluster=cluster.name releases=helm_releases />
        </div>
    }
    .into_any()
}

/// The releases by state, each a filter.
fn show_counts(counts: ReleaseCounts, base: String, group: &str) -> Option<AnyView> {
    let targeted = counts.targeted();
    let strip = counts.clone();
    let active = group.to_owned();
    (targeted > 0).then(|| {
        view! {
            <StateStrip counts=strip />
            <StateCounts counts=counts base=base active=active note=pluralize(targeted, "release") />
        }
        .into_any()
    })
}

/// The tab with nodes, quotas and classes.
pub fn show_resources(view: ClusterView) -> AnyView {
    let ClusterView { summary, permissions, namespaces, quotas, .. } = view;
    let cluster = summary.cluster;
    let pools = cluster.facts.node_pools.clone();
    view! {
        <div class="split">
            <div class="stack">
                <Nodes pools=pools />
                <NamespaceLimits namespaces=namespaces />
                <ServedClasses facts=cluster.facts.clone() kinds=permissions.kinds zones=cluster.confirmed_facts.zones />
            </div>
            <aside class="stack" aria-label="Capacity">
                <CapacityDetails facts=cluster.facts quotas=quotas />
            </aside>
        </div>
    }
    .into_any()
}

/// The tab with what templates read: annotations and values.
#[component]
pub fn ClusterConfigTab(
    name: Memo<String>,
    data: PageResource<ClusterView>,
    actions: ClusterActions,
) -> impl IntoView {
    view! {
        <div class="stack">
            {render_resource_again(data, move |view| {
                let cluster = view.summary.cluster;
                view! { <AnnotationEditor name=cluster.name annotations=cluster.annotations action=actions.annotate /> }
                    .into_any()
            })}
            <ValuesEditor name=name />
        </div>
    }
    .into_any()
}
