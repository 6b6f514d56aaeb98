//! What needs a person: one cause on one workload, over all its clusters.

use domain::Timestamp;
use domain::fleet::Attention;
use leptos::prelude::*;

use crate::components::{Age, Look, count_of, icon_sized};
use crate::paths;

/// The list, worst and oldest first.
#[component]
pub fn NeedsAPerson(attention: Vec<Attention>, at: Timestamp) -> impl IntoView {
    view! {
        <section class="stack-sm" aria-labelledby="needs">
            <h2 class="section" id="needs">
                "Needs a person"
            </h2>
            <div class="list">{attention.into_iter().map(|one| row(one, at)).collect_view()}</div>
        </section>
    }
    .into_any()
}

fn row(one: Attention, at: Timestamp) -> impl IntoView {
    let look = Look::of_state(one.state);
    let href = match one.clusters.as_slice() {
        [only] => paths::release(&one.workload_name, only),
        _ => paths::workload(&one.workload_name),
    };
    let place = match one.clusters.as_slice() {
        [only] if one.count <= 1 => view! { <span class="name">{only.clone()}</span> }.into_any(),
        _ => count_of(one.count, "cluster").into_any(),
    };
    view! {
        <a class=format!("list-row {}", look.hue) href=href>
            {icon_sized(look.icon, "icon icon-16")}
            <span class="list-main">
                <span class="sr-only">{format!("{}: ", one.state.word())}</span>
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
