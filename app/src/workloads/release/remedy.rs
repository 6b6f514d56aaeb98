//! What a person can do about the state of a release.

use domain::failure_cause::FailureCause;
use domain::health::HealthStatus;
use domain::release::{ReleaseState, ReleaseView, StageState};
use domain::report::ResourceStatus;
use leptos::prelude::*;

use crate::components::{FindingList, icon};
use crate::paths::{self, WorkloadTab};
use crate::workloads::dialogs::SyncButton;
use crate::workloads::wizard::WizardStep;

/// The advice for the cause, and the actions that it needs.
#[component]
pub(super) fn ReleaseRemedy(view: ReleaseView, healthy_revision: Option<u32>) -> impl IntoView {
    let advice = describe_remedy(&view);
    let findings: Vec<_> = view.resources.iter().filter_map(|resource| resource.problem.clone()).collect();
    let (workload, cluster) = (view.workload_name.clone(), view.cluster_name.clone());
    let config = paths::workload_tab(&workload, WorkloadTab::Config);
    let is_failing =
        matches!(view.state, ReleaseState::Degraded | ReleaseState::Failed | ReleaseState::Blocked);
    let roll_back = healthy_revision.filter(|_| is_failing).map(|number| {
        view! {
            <a class="btn btn-sm" href=paths::roll_back(&workload, number)>
                {icon("undo")}
                {format!("Roll back to r{number}")}
            </a>
        }
    });
    let edit = is_failing.then(|| edit_link(&view, config.clone()));
    let elsewhere = [
        ("Events", paths::query(paths::EVENTS, &[("workload", &workload), ("cluster", &cluster)])),
        ("Open the cluster", paths::cluster(&cluster)),
    ];
    view! {
        <section class="stack-sm">
            <h2 class="section">"What to do"</h2>
            <p class="text-2">{advice}</p>
            <FindingList findings=findings editors=config />
            <div class="flex flex-wrap gap-2">
                {roll_back}
                {edit}
                <SyncButton name=workload cluster=cluster.clone() label=sync_label(&view) />
                {other_pages(&cluster, elsewhere)}
            </div>
        </section>
    }
    .into_any()
}

/// The link to what has to be edited: to the field of an image that can't be pulled, else to `config`.
fn edit_link(view: &ReleaseView, config: String) -> AnyView {
    let (label, href) = match first_cause(view).filter(|(_, cause)| cause.is_image_failure()) {
        Some((resource, cause)) => {
            let object = format!("{}/{}", resource.object.kind, resource.object.name);
            let source = WizardStep::Source.path(&view.workload_name);
            let field = [("object", &*object), ("container", &*cause.container)];
            ("Edit the image", paths::query(&source, &field))
        }
        None => ("Edit", config),
    };
    view! { <a class="btn btn-sm" href=href>{label}</a> }.into_any()
}

/// Links to other pages: beside the actions, or in a menu where there is no space for them.
fn other_pages(cluster: &str, pages: [(&'static str, String); 2]) -> AnyView {
    let menu = format!("release-menu-{cluster}");
    let links = |class: &'static str| {
        let link = |(label, href): (&'static str, String)| view! { <a class=class href=href>{label}</a> };
        pages.clone().map(link).collect_view()
    };
    let (buttons, items) = (links("btn btn-sm max-sm:hidden"), links("menu-item"));
    view! {
        {buttons}
        <button
            class="btn btn-sm btn-icon sm:hidden"
            type="button"
            popovertarget=menu.clone()
            aria-label=format!("Other pages about {cluster}")
        >
            {icon("more")}
        </button>
        <div class="popover" id=menu popover="auto">
            {items}
        </div>
    }
    .into_any()
}

/// A sync reverts drift.
fn sync_label(view: &ReleaseView) -> String {
    match view.state {
        ReleaseState::Drifted => format!("Revert on {}", view.cluster_name),
        _ => "Sync now".to_owned(),
    }
}

/// The cause that explains the state, with its object: the worst one.
fn first_cause(view: &ReleaseView) -> Option<(&ResourceStatus, &FailureCause)> {
    let causes = view
        .resources
        .iter()
        .flat_map(|resource| resource.failure_causes.iter().map(move |cause| (resource, cause)));
    causes.max_by_key(|(_, cause)| (cause.status != HealthStatus::Unknown, cause.status))
}

fn describe_remedy(view: &ReleaseView) -> &'static str {
    match view.state {
        ReleaseState::Healthy => {
            "Nothing. The objects are watched, and drift is handled by the drift policy."
        }
        ReleaseState::Unknown => {
            "Nothing here: the agent catches up when the cluster reconnects. If it stays offline, check its agent and its network."
        }
        ReleaseState::Drifted => {
            "Applied objects were changed on the cluster. Revert applies the desired values again on this cluster. To retain a change, make it in the draft, or let the policies ignore the field: both take effect with the next publish."
        }
        ReleaseState::Blocked => {
            "It needs attention: fix the cause shown here. It then continues from this stage automatically."
        }
        ReleaseState::Degraded => first_cause(view).and_then(|(_, cause)| cause.remedy()).unwrap_or(
            "The objects are applied but not healthy. Fix the cause shown here, in the draft or on the cluster; a fix outside the draft needs no publish.",
        ),
        ReleaseState::Failed if view.release.rollback_cause().is_some() => {
            "It was rolled back to what it ran before. Fix the cause shown here, then publish. If its rollout rolls back each cluster by itself, Sync tries the same revision again."
        }
        ReleaseState::Failed => match view.release.stages().current().map(|stage| &stage.state) {
            Some(StageState::Failed(reason)) if reason.next_retry.is_none() => {
                "Fix the cause shown here: another attempt can't succeed before. Then publish, or sync."
            }
            Some(StageState::Failed(_)) => {
                "It is retried automatically, without a limit. Fix the cause and the next attempt continues from this stage; Sync retries now."
            }
            _ => "Fix the cause shown here, then publish, or sync.",
        },
        ReleaseState::Removed | ReleaseState::Orphaned | ReleaseState::Abandoned => {
            "Nothing. It is listed as history."
        }
        ReleaseState::NotAssessed => {
            "Nothing. It is applied, and it is not known whether it works: its kind has no health rule and no readable conditions."
        }
        ReleaseState::Progressing if view.release.health().status == HealthStatus::NotAssessed => {
            "Nothing tells whether its objects work, and the policy waits until they are healthy. If you know that they work, accept what is not assessed in the policies and publish; or let the controller of the kind report conditions."
        }
        ReleaseState::Suspended if view.release.is_suspended() => {
            "Resume it once it may be applied, reverted and deleted again: at the top of the page of the workload or of the cluster, whichever is suspended. Its stage Released shows by whom it is suspended, and why."
        }
        ReleaseState::Suspended => "Nothing. It is suspended: its rollout is paused, aborted or rolled back.",
        ReleaseState::Terminating => {
            "Objects wait for their finalizers. The controllers that set them have to remove them."
        }
        _ => "Nothing. It is in progress; no time limit aborts it.",
    }
}
