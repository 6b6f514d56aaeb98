//! What needs attention: one cause on one workload, over all its clusters.

use domain::Timestamp;
use domain::fleet::AttentionItem;
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
    let number = Some(attention.len()).filter(|number| *number > 0);
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
                <a class="link meta" href=paths::INCIDENTS>
                    "All incidents"
                </a>
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
