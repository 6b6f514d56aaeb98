//! What needs attention: one cause on one workload, over all its clusters.

use domain::Timestamp;
use domain::fleet::{AttentionItem, MAX_ATTENTION};
use leptos::prelude::*;

use crate::components::{Age, StatusStyle, icon_sized, pluralize};
use crate::paths;

/// The id of the list.
pub(super) const LIST: &str = "attention";

/// The list, worst and oldest first. Without anything in it, it has the place of one row: what needs attention next moves nothing below.
#[component]
pub fn NeedsAttention(
    attention: Vec<AttentionItem>,
    at: Timestamp,
    /// Its height in pixels while it is fixed.
    height: RwSignal<Option<i32>>,
) -> impl IntoView {
    // With a fixed height, not all of them may be in view.
    let number = (!attention.is_empty()).then(|| format_number(&attention));
    let none = attention.is_empty().then(|| {
        view! {
            <p class="list-row text-2">
                <span class="col-span-full">"No release or rollout needs attention."</span>
            </p>
        }
    });
    view! {
        <section class="stack-sm" aria-labelledby="needs">
            <div class="flex items-baseline justify-between">
                <h2 class="section">
                    <span id="needs">"Needs attention"</span>
                    " "
                    <span class="meta font-normal">{number}</span>
                </h2>
                <span class="flex gap-4">
                    <a class="link meta" href=paths::DRIFT>
                        "All drift"
                    </a>
                    <a class="link meta" href=paths::INCIDENTS>
                        "All incidents"
                    </a>
                </span>
            </div>
            <div
                class="list attention-list"
                id=LIST
                style:block-size=move || height.try_get().flatten().map(|pixels| format!("{pixels}px"))
            >
                {none}
                {attention.into_iter().map(|one| attention_row(one, at)).collect_view()}
            </div>
        </section>
    }
    .into_any()
}

/// The number of rows, as `20+` if the server may have left out more releases or more rollouts.
fn format_number(attention: &[AttentionItem]) -> String {
    let limit = MAX_ATTENTION as usize;
    // Only a row of a rollout names no cluster.
    let rollouts = attention.iter().filter(|one| one.clusters.is_empty()).count();
    let releases = attention.len() - rollouts;
    let more = if rollouts >= limit || releases >= limit { "+" } else { "" };
    format!("{}{more}", attention.len())
}

fn attention_row(one: AttentionItem, at: Timestamp) -> impl IntoView {
    let look = StatusStyle::from_state(one.state);
    let href = match one.clusters.as_slice() {
        [only] => paths::release(&one.workload_name, only),
        _ => paths::workload(&one.workload_name),
    };
    let place = match one.clusters.as_slice() {
        [only] if one.count <= 1 => view! { <span class="name">{only.clone()}</span> }.into_any(),
        _ => pluralize(one.count, "cluster").into_any(),
    };
    view! {
        <a class=format!("list-row {}", look.hue) href=href>
            {icon_sized(look.icon, "icon icon-16")}
            <span class="attention-main">
                <span class="sr-only">{format!("{}: ", one.state.as_str())}</span>
                <span>
                    <b class="name strong">{one.workload_name}</b>
                    " on "
                    {place}
                </span>
                <span>{one.message}</span>
            </span>
            <span class="list-end">
                <Age since=one.since at=at />
            </span>
        </a>
    }
}

#[cfg(test)]
mod tests {
    use domain::WorkloadId;
    use domain::release::ReleaseState;

    use super::*;

    fn number(rollouts: usize, releases: usize) -> String {
        let row = |clusters: &[&str]| AttentionItem {
            workload: WorkloadId::from_parts(1, 1),
            workload_name: "web".to_owned(),
            state: ReleaseState::Blocked,
            message: String::new(),
            clusters: clusters.iter().map(|name| (*name).to_owned()).collect(),
            count: 1,
            since: Timestamp::from_millis(0),
        };
        let mut rows = vec![row(&[]); rollouts];
        rows.extend(std::iter::repeat_n(row(&["eu-1"]), releases));
        format_number(&rows)
    }

    #[test]
    fn the_number_of_rows_is_open_once_releases_or_rollouts_reach_the_limit_of_the_server() {
        assert_eq!(number(0, 1), "1");
        assert_eq!(number(19, 19), "38");
        assert_eq!(number(0, 20), "20+");
        assert_eq!(number(20, 3), "23+");
    }
}
