//! One release, opened: stages left, why and what to do right, its objects below.

use domain::Timestamp;
use domain::health::HealthStatus;
use domain::release::{ReleaseView, StageState};
use domain::report::ResourceStatus;
use leptos::prelude::*;

use super::dialogs::SyncNow;
use crate::components::{Age, FindingList, Look, Timeline, health_word, icon};
use crate::paths;

/// The open row.
#[component]
pub fn ReleaseDetail(
    /// The release with its resources.
    one: ReleaseView,
    /// The server's time.
    at: Timestamp,
) -> impl IntoView {
    let stages = one.release.stages.clone();
    view! {
        <div class="panel">
            <div class="grid gap-x-12 gap-y-8 lg:grid-cols-[minmax(0,408px)_minmax(0,1fr)]">
                <Timeline stages=stages at=at />
                <div class="stack-md">
                    <Why one=one.clone() at=at />
                    <WhatToDo one=one.clone() />
                </div>
            </div>
            <Resources resources=one.resources />
        </div>
    }
    .into_any()
}

/// The cause chain and the raw words of the cluster.
#[component]
fn Why(one: ReleaseView, at: Timestamp) -> impl IntoView {
    let look = Look::of_state(one.state);
    let sick: Vec<ResourceStatus> =
        one.resources.iter().filter(|resource| is_sick(resource)).cloned().collect();
    let raw = one.release.stages.current().and_then(|stage| {
        let trouble = stage.state.trouble()?.clone();
        Some(view! {
            <pre class="raw">
                <span class="text-3">
                    {format!("{}, {}, attempt {}\n", stage.name.word(), trouble.reason, trouble.attempts.max(1))}
                </span>
                {trouble.message}
            </pre>
        })
    });
    let chain = (!sick.is_empty())
        .then(|| view! { <ul class="cause">{sick.into_iter().take(6).map(cause).collect_view()}</ul> });
    view! {
        <section class="stack-sm">
            <h2 class="section">"Why"</h2>
            <p class="flex flex-wrap items-center gap-1">
                {look.with_word(one.state.word())} <span>"for " <Age since=one.release.state_since at=at /></span>
                {one
                    .release
                    .reported_at
                    .map(|reported| view! { <span class="text-3">"· reported " <Age since=reported at=at suffix=" ago" /></span> })}
            </p>
            {(!one.message.is_empty() && raw.is_none()).then(|| view! { <p class="text-2">{one.message.clone()}</p> })}
            {chain}
            {raw}
        </section>
    }
    .into_any()
}

fn is_sick(resource: &ResourceStatus) -> bool {
    matches!(resource.health.status, HealthStatus::Degraded | HealthStatus::Missing)
        || resource.problem.is_some()
        || !resource.causes.is_empty()
}

fn cause(resource: ResourceStatus) -> impl IntoView {
    let look = match resource.health.status {
        HealthStatus::Healthy => Look::of_health(HealthStatus::Progressing),
        status => Look::of_health(status),
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

/// What Flotilla does by itself, and what a person can do.
#[component]
fn WhatToDo(one: ReleaseView) -> impl IntoView {
    let advice = advice(&one);
    let findings: Vec<_> = one.resources.iter().filter_map(|resource| resource.problem.clone()).collect();
    let (workload, cluster) = (one.workload_name.clone(), one.cluster_name.clone());
    view! {
        <section class="stack-sm">
            <h2 class="section">"What to do"</h2>
            <p class="text-2">{advice}</p>
            <FindingList findings=findings editors=paths::workload_tab(&workload, paths::Tab::Config) />
            <div class="flex flex-wrap gap-2">
                <SyncNow name=workload cluster=cluster.clone() />
                <a class="btn btn-sm" href=paths::cluster(&cluster)>
                    "Open the cluster"
                </a>
            </div>
        </section>
    }
    .into_any()
}

fn advice(one: &ReleaseView) -> &'static str {
    use domain::release::State;
    match one.state {
        State::Healthy => "Nothing. It is watched and put right if somebody changes it.",
        State::Unknown => {
            "Nothing here: the agent catches up by itself when the cluster is back. If it stays away, look at its agent and its network."
        }
        State::Drifted => {
            "Somebody changed applied objects. With the policy “revert” they are put back; with “notify” that is your decision: sync, or take the change into the draft."
        }
        State::Blocked => {
            "It waits for a person: remove the cause named here. It goes on from this stage by itself."
        }
        State::Degraded => {
            "The objects are applied and do not get healthy. Fix the cause named here, in the draft or on the cluster; nothing has to be published again if it lies outside."
        }
        State::Failed => match one.release.stages.current().map(|stage| &stage.state) {
            Some(StageState::Failed(_)) => {
                "It is tried again by itself, for ever. Fix the cause and the next try goes on from this stage; Sync tries now."
            }
            _ => "It is tried again by itself, for ever.",
        },
        State::Removed | State::Orphaned | State::Abandoned => "Nothing. It is kept here as history.",
        State::Suspended => "It is paused on purpose.",
        State::Terminating => "Objects wait for their finalizers. Whoever set them has to let go.",
        _ => "Nothing. It is on its way; no time limit will end it.",
    }
}

/// Every object of the release with its health.
#[component]
fn Resources(resources: Vec<ResourceStatus>) -> impl IntoView {
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
                <td class="cell-state">{health_word(resource.health.status)}</td>
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
