//! The releases on a cluster: worst first, with the time that is left to those about to be removed.

use domain::page::Page;
use domain::placement::PendingRemoval;
use domain::release::ReleaseView;
use domain::{Timestamp, WorkloadId};
use leptos::prelude::*;

use crate::components::{Age, Empty, EmptyPage, MissedDeadline, Pager, StateLabel, unbroken_durations};
use crate::{live, paths};

/// The table; `page` is the address of the cluster, the filter by state, and whether it is not the first page.
pub fn release_table(
    releases: Page<ReleaseView>,
    pending_removals: &[(WorkloadId, PendingRemoval)],
    (base, group, later): (&str, &str, bool),
    at: Timestamp,
) -> impl IntoView + use<> {
    let base = paths::query(base, &[("state", group)]);
    if releases.items.is_empty() && later {
        return view! { <EmptyPage first=base /> }.into_any();
    }
    if releases.items.is_empty() {
        let text = if group.is_empty() {
            "No workload is placed on this cluster. Placements select clusters by their labels."
        } else {
            "No release on this cluster is in this state."
        };
        return view! { <Empty title="No releases" text=text /> }.into_any();
    }
    let next = releases.next.as_ref().map(|cursor| paths::query(&base, &[("cursor", cursor)]));
    let shown = releases.items.len();
    let row = |one: ReleaseView| {
        let revision = one.release.revision().map(|n| view! { <span class="tag">{format!("r{n}")}</span> });
        let applied = one.release.applied_revision();
        let applied_label = applied.map(|_| "Applied");
        let class = if applied == one.release.revision() { "mono text-ink" } else { "mono text-3" };
        let applied = applied.map(|number| view! { <span class=class>{format!("r{number}")}</span> });
        let leaving = pending_removals
            .iter()
            .find(|(workload, removal)| *workload == one.release.workload() && removal.retained_by.is_none())
            .map(|(_, removal)| describe_removal(&one.workload_name, removal, at));
        let has_message = !one.message.is_empty() || leaving.is_some() || one.release.deadline_at().is_some();
        view! {
            <tr data-release=one.release.id().to_string()>
                <th scope="row" class="cell-name name">
                    <a href=paths::release(&one.workload_name, &one.cluster_name)>{one.workload_name.clone()}</a>
                </th>
                <td class="cell-state">
                    <StateLabel state=one.state last_known=one.last_known_state reported_at=one.release.reported_at() at=at />
                </td>
                <td data-label="Desired">{revision}</td>
                <td data-label=applied_label>{applied}</td>
                <td data-label="Since">
                    <Age since=one.release.state_since() at=at />
                </td>
                <td data-label=has_message.then_some("Message")>
                    {leaving}
                    <MissedDeadline deadline_at=one.release.deadline_at() at=at />
                    {one.message.clone()}
                </td>
            </tr>
        }
    };
    let rows = releases.items.into_iter().map(row).collect_view();
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Workload"</th>
                    <th scope="col">"State"</th>
                    <th scope="col">"Desired"</th>
                    <th scope="col">"Applied"</th>
                    <th scope="col">"Since"</th>
                    <th scope="col">"Message"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
        <Pager shown=shown total=releases.total noun="releases" first=later.then_some(base) next=next />
    }
    .into_any()
}

/// `leaves in 14 min`, with a link to the page that cancels it.
fn describe_removal(workload: &str, removal: &PendingRemoval, at: Timestamp) -> AnyView {
    let (due_at, waiting) = (removal.remove_after, removal.waiting_for);
    let now = live::server_now(at);
    let text = move || match waiting {
        Some(waiting) => format!("leaves: {}", waiting.description()),
        None if due_at.millis_since(now.get()) > 0 => {
            unbroken_durations(&format!("leaves in {}", now.get().format_age(due_at)))
        }
        None => "leaves now".to_owned(),
    };
    view! {
        <a class="link" href=paths::workload(workload) title="Cancel the removal on the page of the workload">{text}</a>
        " "
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn an_empty_later_page_does_not_say_that_no_workload_is_placed_on_the_cluster() {
        let render = |is_later: bool| {
            let releases = Page { items: Vec::new(), next: None, total: 60 };
            render_html(move || {
                release_table(
                    releases,
                    &[],
                    ("/clusters/eu-1?tab=workloads", "", is_later),
                    Timestamp::default(),
                )
            })
        };
        let page = render(true);
        assert!(page.contains("Back to the start") && !page.contains("No workload is placed"), "{page}");
        assert!(render(false).contains("No workload is placed on this cluster."));
    }
}
