//! The details of a release: stages, causes, remedies, drifted fields and objects.

use domain::Timestamp;
use domain::release::ReleaseDetails;
use domain::report::ResourceStatus;
use leptos::prelude::*;

mod causes;
mod drift;
mod remedy;

use causes::{ReleaseCauses, is_unhealthy};
use drift::DriftedFields;
use remedy::ReleaseRemedy;

use crate::components::{Timeline, health_label};
use crate::suspension::SuspendWorkload;

/// The details below an open row.
#[component]
pub fn ReleaseDetail(
    /// The release.
    details: ReleaseDetails,
    /// The server's time.
    at: Timestamp,
) -> impl IntoView {
    let ReleaseDetails { view, healthy_revision, desired_values } = details;
    let stages = view.release.stages().clone();
    let facts_notice = view.release.facts_notice().to_owned();
    let can_suspend = !view.state.is_gone() && !view.release.is_suspended();
    let suspend = can_suspend.then(|| {
        let (name, cluster) = (view.workload_name.clone(), view.cluster_name.clone());
        view! { <SuspendWorkload name=name cluster=cluster /> }
    });
    view! {
        <div class="panel">
            {(!facts_notice.is_empty()).then(|| view! { <p class="banner hue-paused">{facts_notice}</p> })}
            <div class="grid gap-x-12 gap-y-8 lg:grid-cols-[minmax(0,408px)_minmax(0,1fr)]">
                <div class="stack-md">
                    <ReleaseCauses view=view.clone() at=at />
                    <ReleaseRemedy view=view.clone() healthy_revision=healthy_revision />
                </div>
                <div class="lg:order-first">
                    <Timeline stages=stages at=at folded=true />
                </div>
            </div>
            <DriftedFields view=view.clone() desired=desired_values />
            <ReleaseObjects resources=view.resources />
            {suspend}
        </div>
    }
    .into_any()
}

/// Every object of the release with its health.
#[component]
fn ReleaseObjects(resources: Vec<ResourceStatus>) -> impl IntoView {
    if resources.is_empty() {
        return ().into_any();
    }
    // What explains a failure is in the section above.
    let note = |resource: &ResourceStatus| {
        if is_unhealthy(resource) { String::new() } else { resource.health.message.clone() }
    };
    let has_notes = resources.iter().any(|resource| !note(resource).is_empty());
    let row = |resource: ResourceStatus| {
        let drift = match resource.drifted.len() {
            0 => "none".to_owned(),
            _ => resource.drifted.join(", "),
        };
        let note = note(&resource);
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
                {has_notes.then(|| view! { <td>{note}</td> })}
            </tr>
        }
    };
    view! {
        <section class="stack-sm pt-6">
            <h2 class="section">
                "Objects " <span class="text-3">{resources.len()}</span>
            </h2>
            <table class="table">
                <thead>
                    <tr>
                        <th scope="col">"Object"</th>
                        <th scope="col">"Namespace"</th>
                        <th scope="col">"Applied"</th>
                        <th scope="col">"Health"</th>
                        <th scope="col">"Drift"</th>
                        {has_notes.then(|| view! { <th scope="col">"Message"</th> })}
                    </tr>
                </thead>
                <tbody>{resources.into_iter().map(row).collect_view()}</tbody>
            </table>
        </section>
    }
    .into_any()
}
