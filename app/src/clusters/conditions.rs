//! The conditions of a cluster, with the remedy where one is false.

use domain::Timestamp;
use domain::join::ClusterCondition;
use leptos::prelude::*;

use crate::components::{Age, icon};

/// The conditions in the order in which they come true.
#[component]
pub fn Conditions(conditions: Vec<ClusterCondition>, at: Timestamp) -> impl IntoView {
    let one = move |condition: ClusterCondition| {
        let (look, mark) = if condition.status {
            ("state state-quiet hue-healthy", "healthy")
        } else {
            ("state state-broken hue-degraded", "degraded")
        };
        let no = if condition.status { "" } else { "Not " };
        let word = format!("{no}{}", condition.kind.as_str().to_lowercase());
        let word = if condition.status { condition.kind.as_str().to_owned() } else { word };
        view! {
            <li class="grid gap-0.5">
                <span class=look>{icon(mark)} {word}</span>
                <p class="text-2">
                    {condition.message}
                    {condition.since.map(|since| view! { " " <Age since=since at=at suffix=" ago" /> })}
                </p>
                {(!condition.hint.is_empty()).then(|| view! { <p>{condition.hint}</p> })}
            </li>
        }
    };
    (!conditions.is_empty()).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="conditions">
                <h2 class="section" id="conditions">
                    "Conditions"
                </h2>
                <ul class="stack-md">{conditions.into_iter().map(one).collect_view()}</ul>
            </section>
        }
    })
}
