//! Clusters that lose the workload after the removal notice without a publish, and the button that cancels it (E-6).

use std::collections::BTreeSet;

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::placement::PendingRemoval;
use leptos::prelude::*;

use crate::components::age::format_time_of_day;
use crate::components::{Banner, ErrorBanner, StatusStyle, join_names, unbroken_durations};
use crate::errors::AppResult;
use crate::live;
use crate::permission::Permission;

/// Retains the workload on `cluster` until the next publish; on all clusters with a pending removal if `cluster` is empty.
#[server(prefix = "/api/fn", endpoint = "workload_retain")]
pub async fn workload_retain(name: String, #[server(default)] cluster: String) -> AppResult<()> {
    use crate::{host, paths};
    let clusters: Vec<String> = if cluster.is_empty() { Vec::new() } else { vec![cluster] };
    host::into_app_result(host::hub()?.retain_workload(&host::actor()?, &name, &clusters).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// A banner with a line for each of the first pending removals; empty if there are none.
#[component]
pub fn PendingRemovals(
    /// The workload.
    name: String,
    /// The pending removals of the last decision.
    removals: Vec<PendingRemoval>,
    /// The server's time when the page was rendered.
    at: Timestamp,
) -> impl IntoView {
    /// Lines shown at most; one button covers all.
    const LINES: usize = 5;
    let (retained, pending): (Vec<PendingRemoval>, Vec<PendingRemoval>) =
        removals.into_iter().partition(|one| one.retained_by.is_some());
    let action = ServerAction::<WorkloadRetain>::new();
    let error =
        move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> });
    let many = pending.len();
    let lines = pending.iter().take(LINES).map(|one| removal_row(&name, one, at, action)).collect_view();
    let text = format!(
        "The placement no longer selects these clusters. Cancel the removal of {name}, or revert the change of labels, taints or \
         placement."
    );
    let all = (many > 1).then(|| {
        let words = format!("Cancel all {many} removals");
        view! {
            <ActionForm action=action>
                <Permission action=UserAction::Retain>
                    <input type="hidden" name="name" value=name />
                    <button class="btn btn-sm" type="submit">{words}</button>
                </Permission>
            </ActionForm>
        }
    });
    let banner = (many > 0).then(|| {
        view! {
            <Banner look=StatusStyle { icon: "warning", hue: "hue-drifted", emphasis: "state-loud" }>
                <div class="stack-sm grow">
                    <p>{text}</p>
                    <ul class="stack-sm">{lines}</ul>
                    {(many > LINES).then(|| view! { <p class="meta">{format!("and {} more", many - LINES)}</p> })}
                    {all}
                    {error}
                </div>
            </Banner>
        }
    });
    view! { {banner} {retained_line(&retained)} }.into_any()
}

fn removal_row(
    name: &str,
    one: &PendingRemoval,
    at: Timestamp,
    action: ServerAction<WorkloadRetain>,
) -> impl IntoView + use<> {
    let (name, cluster, due_at) = (name.to_owned(), one.name.clone(), one.remove_after);
    let now = live::server_now(at);
    let waiting = one.waiting_for;
    let when = move || {
        if let Some(waiting) = waiting {
            return waiting.description().to_owned();
        }
        let left = due_at.millis_since(now.get());
        if left > 0 {
            unbroken_durations(&format!("removal in {}", now.get().format_age(due_at)))
        } else {
            "removal due".to_owned()
        }
    };
    let words = format!("Cancel removal of {name} from {cluster}");
    view! {
        <li class="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span class="name">{cluster.clone()}</span>
            <span title=format!("{} UTC", format_time_of_day(due_at))>{when}</span>
            <ActionForm action=action>
                <Permission action=UserAction::Retain quiet=true>
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="cluster" value=cluster />
                    <button class="btn btn-sm" type="submit" aria-label=words>"Cancel removal"</button>
                </Permission>
            </ActionForm>
        </li>
    }
}

fn retained_line(retained: &[PendingRemoval]) -> Option<AnyView> {
    let names: Vec<String> = retained.iter().map(|one| one.name.clone()).collect();
    let people: BTreeSet<String> = retained.iter().filter_map(|one| one.retained_by.clone()).collect();
    let people: Vec<String> = people.into_iter().collect();
    let text = format!(
        "Retained by {} although the placement no longer matches: {}. The next publish removes it there.",
        join_names(&people, people.len(), 3),
        join_names(&names, names.len(), 6)
    );
    (!retained.is_empty()).then(|| view! { <p class="meta">{text}</p> }.into_any())
}
