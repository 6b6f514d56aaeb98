//! What needs attention: one cause on one workload, over all its clusters.

use domain::Timestamp;
use domain::fleet::AttentionItem;
use leptos::prelude::*;

use crate::components::{Age, StatusStyle, icon_sized, pluralize};
use crate::paths;

/// The list, worst and oldest first.
#[component]
pub fn NeedsAttention(attention: Vec<AttentionItem>, at: Timestamp) -> impl IntoView {
    view! {
        <section class="stack-sm" aria-labelledby="needs">
            <div class="flex items-baseline justify-between">
                <h2 class="section" id="needs">
                    "Needs attention"
                </h2>
                <a class="link meta" href=paths::INCIDENTS>
                    "All incidents"
                </a>
            </div>
            <div class="list">{attention.into_iter().map(|one| attention_row(one, at)).collect_view()}</div>
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
