//! The details of a release: stages, causes, remedies and objects.

use domain::Timestamp;
use domain::health::HealthStatus;
use domain::release::{ReleaseView, StageState};
use domain::report::ResourceStatus;
use leptos::prelude::*;

use super::dialogs::SyncButton;
use crate::components::{Age, FindingList, StatusStyle, Timeline, health_label, icon};
use crate::paths;

/// The details below an open row.
#[component]
pub fn ReleaseDetail(
    /// The release with its resources.
    view: ReleaseView,
    /// The server's time.
    at: Timestamp,
) -> impl IntoView {
    let stages = view.release.stages().clone();
    view! {
        <div class="panel">
            <div class="grid gap-x-12 gap-y-8 lg:grid-cols-[minmax(0,408px)_minmax(0,1fr)]">
                <Timeline stages=stages at=at />
                <div class="stack-md">
                    <ReleaseCauses view=view.clone() at=at />
                    <ReleaseRemedy view=view.clone() />
                </div>
            </div>
            <ReleaseObjects resources=view.resources />
        </div>
    }
    .into_any()
}

/// The chain of causes and the raw message of the cluster.
#[component]
fn ReleaseCauses(view: ReleaseView, at: Timestamp) -> impl IntoView {
    let look = StatusStyle::from_state(view.state);
    let unhealthy: Vec<ResourceStatus> =
        view.resources.iter().filter(|resource| is_unhealthy(resource)).cloned().collect();
    let raw = view.release.stages().current().and_then(|stage| {
        let reason = stage.state.reason()?.clone();
        Some(view! {
            <pre class="raw">
                <span class="text-3">
                    {format!("{}, {}, attempt {}\n", stage.name.label(), reason.reason, reason.attempts.max(1))}
                </span>
                {reason.message}
            </pre>
        })
    });
    let chain = (!unhealthy.is_empty()).then(
        || view! { <ul class="cause">{unhealthy.into_iter().take(6).map(cause_item).collect_view()}</ul> },
    );
    view! {
        <section class="stack-sm">
            <h2 class="section">"Why"</h2>
            <p class="flex flex-wrap items-center gap-1">
                {look.with_label(view.state.label())} <span>"for " <Age since=view.release.state_since() at=at /></span>
                {view
                    .release
                    .reported_at()
                    .map(|reported| view! { <span class="text-3">"· reported " <Age since=reported at=at suffix=" ago" /></span> })}
            </p>
            {(!view.message.is_empty() && raw.is_none()).then(|| view! { <p class="text-2">{view.message.clone()}</p> })}
            {chain}
            {raw}
        </section>
    }
    .into_any()
}

fn is_unhealthy(resource: &ResourceStatus) -> bool {
    matches!(resource.health.status, HealthStatus::Degraded | HealthStatus::Missing)
        || resource.problem.is_some()
        || !resource.causes.is_empty()
}

fn cause_item(resource: ResourceStatus) -> impl IntoView {
    let look = match resource.health.status {
        HealthStatus::Healthy => StatusStyle::from_health(HealthStatus::Progressing),
        status => StatusStyle::from_health(status),
    };
    let causes = resource.causes.into_iter().map(|why| {
        view! {
            <li>
                <span class=format!("cause-line {}", look.hue)>
                    {icon("error")} <span>{why}</span>
                </span>
            </li>
        }
    });
    let name = if resource.object.namespace.is_empty() {
        resource.object.name.clone()
    } else {
        format!("{}/{}", resource.object.namespace, resource.object.name)
    };
    let causes: Vec<_> = causes.collect();
    let below = (!causes.is_empty()).then(|| view! { <ul>{causes}</ul> });
    view! {
        <li>
            <span class=format!("cause-line {}", look.hue)>
                {icon(look.icon)}
                {resource.object.kind.clone()}
                " "
                <b class="name">{name}</b>
                " "
                {resource.health.message.clone()}
            </span>
            {below}
        </li>
    }
}

/// What Flotilla does automatically, and what a person can do.
#[component]
fn ReleaseRemedy(view: ReleaseView) -> impl IntoView {
    let advice = describe_remedy(&view);
    let findings: Vec<_> = view.resources.iter().filter_map(|resource| resource.problem.clone()).collect();
    let (workload, cluster) = (view.workload_name.clone(), view.cluster_name.clone());
    view! {
        <section class="stack-sm">
            <h2 class="section">"What to do"</h2>
            <p class="text-2">{advice}</p>
            <FindingList findings=findings editors=paths::workload_tab(&workload, paths::WorkloadTab::Config) />
            <div class="flex flex-wrap gap-2">
                <SyncButton name=workload cluster=cluster.clone() />
                <a class="btn btn-sm" href=paths::cluster(&cluster)>
                    "Open the cluster"
                </a>
            </div>
        </section>
    }
    .into_any()
}

fn describe_remedy(one: &ReleaseView) -> &'static str {
    use domain::release::ReleaseState;
    match one.state {
        ReleaseState::Healthy => {
            "Nothing. The objects are watched, and drift is handled by the drift policy."
        }
        ReleaseState::Unknown => {
            "Nothing here: the agent catches up when the cluster reconnects. If it stays offline, check its agent and its network."
        }
        ReleaseState::Drifted => {
            "Applied objects were changed on the cluster. The drift policy “revert” reverts them; with “notify” either sync, or copy the change into the draft."
        }
        ReleaseState::Blocked => {
            "It needs attention: fix the cause shown here. It then continues from this stage automatically."
        }
        ReleaseState::Degraded => {
            "The objects are applied but not healthy. Fix the cause shown here, in the draft or on the cluster; a fix outside the draft needs no publish."
        }
        ReleaseState::Failed => match one.release.stages().current().map(|stage| &stage.state) {
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
            "Nothing. It is applied, and nothing says whether it works: its kind has no health rule and no readable conditions."
        }
        ReleaseState::Suspended => "Nothing. It is suspended: its rollout is paused or aborted.",
        ReleaseState::Terminating => {
            "Objects wait for their finalizers. The controllers that set them have to remove them."
        }
        _ => "Nothing. It is in progress; no time limit aborts it.",
    }
}

/// Every object of the release with its health.
#[component]
fn ReleaseObjects(resources: Vec<ResourceStatus>) -> impl IntoView {
    if resources.is_empty() {
        return ().into_any();
    }
    let row = |resource: ResourceStatus| {
        let drift = match resource.drifted.len() {
            0 => "none".to_owned(),
            _ => resource.drifted.join(", "),
        };
        let note = resource.health.message.clone();
        view! {
            <tr>
                <th scope="row" class="cell-name">
                    <span class="text-2">{resource.object.kind.clone()}</span>
                    " "
                    <span class="name">{resource.object.name.clone()}</span>
                </th>
                <td class="mono" data-label="Namespace">
                    {resource.object.namespace.clone()}
                </td>
                <td data-label="Applied">{if resource.applied { "yes" } else { "not yet" }}</td>
                <td class="cell-state">{health_label(resource.health.status)}</td>
                <td class="mono" data-label="Drift">
                    {drift}
                </td>
                <td data-label=(!note.is_empty()).then_some("Note")>{note.clone()}</td>
            </tr>
        }
    };
    view! {
        <section class="stack-sm pt-6">
            <h2 class="section">{format!("Objects {}", resources.len())}</h2>
            <table class="table">
                <thead>
                    <tr>
                        <th scope="col">"Object"</th>
                        <th scope="col">"Namespace"</th>
                        <th scope="col">"Applied"</th>
                        <th scope="col">"Health"</th>
                        <th scope="col">"Drift"</th>
                        <th scope="col">"Note"</th>
                    </tr>
                </thead>
                <tbody>{resources.into_iter().map(row).collect_view()}</tbody>
            </table>
        </section>
    }
    .into_any()
}
