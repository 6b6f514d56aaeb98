//! The conditions of a cluster, with the remedy where one does not hold.

use domain::Timestamp;
use domain::condition::ConditionStatus;
use domain::join::{ClusterCondition, ClusterConditionType};
use leptos::prelude::*;

use crate::components::{Age, Banner, StatusStyle, icon};

/// The conditions in the order in which they become true.
#[component]
pub fn Conditions(conditions: Vec<ClusterCondition>, at: Timestamp) -> impl IntoView {
    let one = move |condition: ClusterCondition| {
        let (holds, fails) = labels(condition.kind);
        let (style, mark, label) = match condition.status {
            ConditionStatus::True => ("state state-quiet hue-healthy", "healthy", holds.to_owned()),
            ConditionStatus::False => ("state state-broken hue-degraded", "degraded", fails.to_owned()),
            ConditionStatus::Unknown => {
                ("state state-quiet hue-unknown", "unknown", format!("{holds}: unknown"))
            }
        };
        view! {
            <li class="grid gap-0.5">
                <span class=style>{icon(mark)} {label}</span>
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

/// The conditions that do not hold, with what to do, for the head of the page. Without facts that wait for a confirmation: they
/// are no fault, and have a section with the decision.
#[component]
pub fn FailedConditions(conditions: Vec<ClusterCondition>, at: Timestamp) -> impl IntoView {
    let failed = conditions.into_iter().filter(|condition| {
        condition.status == ConditionStatus::False && condition.kind != ClusterConditionType::FactsConfirmed
    });
    let one = move |condition: ClusterCondition| {
        let look = StatusStyle { icon: "degraded", hue: "hue-degraded", emphasis: "state-broken" };
        let (_, fails) = labels(condition.kind);
        view! {
            <Banner look=look>
                <p>
                    <b>{fails}</b>
                    {condition.since.map(|since| view! { " for " <Age since=since at=at /> })}
                    {format!(". {}", condition.message)}
                </p>
                {(!condition.hint.is_empty()).then(|| view! { <p>{condition.hint}</p> })}
            </Banner>
        }
    };
    failed.map(one).collect_view()
}

/// What is shown while a condition holds, and while it does not.
const fn labels(kind: ClusterConditionType) -> (&'static str, &'static str) {
    match kind {
        ClusterConditionType::Accepted => ("Accepted", "Not accepted"),
        ClusterConditionType::Joined => ("Joined", "Not joined"),
        ClusterConditionType::Reachable => ("Reachable", "Not reachable"),
        ClusterConditionType::ApiServerReachable => ("API server reachable", "API server not reachable"),
        ClusterConditionType::Healthy => ("Healthy", "Not healthy"),
        ClusterConditionType::FactsConfirmed => ("Facts confirmed", "Facts not confirmed"),
    }
}
