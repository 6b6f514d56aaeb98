//! The head of the page of a cluster: its name, whether it reports, and the actions on it as a whole.

use domain::cluster::ClusterKind;
use domain::release::ReleaseState;
use leptos::prelude::*;

use super::cluster_view::ClusterView;
use super::demo::{FaultMenu, InjectDemoFault, choose_workload};
use crate::components::{
    ClusterReachability, StateGroup, StatusStyle, cluster_label, icon, pluralize, render_selected,
};
use crate::live;
use crate::paths::{self, ClusterTab};
use crate::resource::PageResource;

/// The head. Its menus are rendered once, so that an update of the page does not close them.
#[component]
pub fn ClusterHead(
    /// The cluster.
    data: PageResource<ClusterView>,
    /// Injects a fault into a simulated cluster.
    action: ServerAction<InjectDemoFault>,
) -> impl IntoView {
    view! {
        <Transition>
            <div class="head">
                <div class="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                    {render_selected(data, |view| view.summary.cluster.name, show_name)}
                    {render_selected(data, |view| view, |view| show_status(&view))}
                </div>
                {render_selected(
                    data,
                    |view| (view.summary.cluster.name, view.summary.cluster.kind),
                    move |(name, kind)| show_actions(name, kind, data, action),
                )}
            </div>
        </Transition>
    }
    .into_any()
}

fn show_name(name: String) -> AnyView {
    view! { <h1 class="title-mono">{name}</h1> }.into_any()
}

fn show_status(view: &ClusterView) -> AnyView {
    let cluster = &view.summary.cluster;
    let cordoned = (!cluster.schedulable).then(|| view! { <span class="tag">"cordoned"</span> });
    let (failing, targeted) = (view.summary.counts.failing(), view.summary.counts.targeted());
    let failing = (failing > 0).then(|| {
        let base = paths::cluster_tab(&cluster.name, ClusterTab::Workloads);
        let label = format!("{failing} of {} failing", pluralize(targeted, "release"));
        view! {
            <a href=paths::query(&base, &[("state", StateGroup::Failing.slug())])>
                {StatusStyle::from_state(ReleaseState::Failed).with_label(label)}
            </a>
        }
    });
    view! {
        {cluster_label(ClusterReachability::from(cluster), view.at)}
        {failing}
        {cordoned}
    }
    .into_any()
}

fn show_actions(
    name: String,
    kind: ClusterKind,
    data: PageResource<ClusterView>,
    action: ServerAction<InjectDemoFault>,
) -> AnyView {
    let revoke = (kind == ClusterKind::Agent).then(|| {
        view! { <a class="menu-item" href=paths::cluster_dialog(&name, "revoke", &[])>"Revoke certificates…"</a> }
    });
    let faults = (kind == ClusterKind::Simulated).then(|| {
        view! {
            <FaultMenu name=name.clone() action=action>
                {render_selected(data, list_workloads, choose_workload)}
            </FaultMenu>
        }
    });
    let section = |label: &'static str, href: String| {
        view! { <a class="menu-item" href=href on:click=move |_| live::page::close_menu("cluster-menu")>{label}</a> }
    };
    view! {
        <div class="head-actions">
            {faults}
            <button class="btn btn-icon" type="button" popovertarget="cluster-menu" aria-label="More actions">
                {icon("more")}
            </button>
            <div class="popover" id="cluster-menu" popover="auto">
                {section("Cordon or uncordon", paths::cluster_scheduling(&name))}
                {section("Edit labels", paths::cluster_labels(&name))}
                {revoke}
                <a class="menu-item" href=paths::cluster_dialog(&name, "delete", &[])>"Delete…"</a>
            </div>
        </div>
    }
    .into_any()
}

/// The names of the workloads on the cluster. Sorted: the releases are listed worst first, and a list would move while one of its
/// items is selected.
fn list_workloads(view: ClusterView) -> Vec<String> {
    let mut names: Vec<String> =
        view.releases.items.into_iter().map(|release| release.workload_name).collect();
    names.sort();
    names
}
