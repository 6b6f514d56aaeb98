//! The conditions of a cluster, with the remedy where one does not hold.

use domain::Timestamp;
use domain::condition::ConditionStatus;
use domain::join::{ClusterCondition, ClusterConditionType};
use leptos::prelude::*;

use crate::components::{Age, Banner, StatusStyle};

/// The conditions in the order in which they become true.
#[component]
pub fn Conditions(conditions: Vec<ClusterCondition>, at: Timestamp) -> impl IntoView {
    let row = move |condition: ClusterCondition| {
        let (name, _) = labels(condition.kind);
        let look = match condition.status {
            ConditionStatus::True => {
                StatusStyle { icon: "healthy", hue: "hue-healthy", emphasis: "state-quiet" }
            }
            ConditionStatus::False => {
                StatusStyle { icon: "degraded", hue: "hue-degraded", emphasis: "state-broken" }
            }
            ConditionStatus::Unknown => {
                StatusStyle { icon: "unknown", hue: "hue-unknown", emphasis: "state-quiet" }
            }
        };
        let word = match condition.status {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        };
        view! {
            <tr>
                <th scope="row" class="cell-name">
                    {name}
                </th>
                <td class="cell-state">{look.with_label(word)}</td>
                <td data-label=condition.since.map(|_| "Since")>
                    {condition.since.map(|since| view! { <Age since=since at=at suffix=" ago" /> })}
                </td>
                <td>
                    <p>{condition.message}</p>
                    {(!condition.hint.is_empty()).then(|| view! { <p class="text-ink">{condition.hint}</p> })}
                </td>
            </tr>
        }
    };
    (!conditions.is_empty()).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="conditions">
                <h2 class="section" id="conditions">
                    "Conditions"
                </h2>
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Condition"</th>
                            <th scope="col">"Now"</th>
                            <th scope="col">"Since"</th>
                            <th scope="col">"Detail"</th>
                        </tr>
                    </thead>
                    <tbody>{conditions.into_iter().map(row).collect_view()}</tbody>
                </table>
            </section>
        }
        .into_any()
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
        ClusterConditionType::KindsKnown => ("Kinds known", "Kinds not known"),
    }
}
