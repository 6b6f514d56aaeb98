//! What was sent about an incident, and the subscriptions that it was not sent to, with the reason.

use domain::Timestamp;
use domain::notification::{Delivery, DeliveryState, MessageKind, SkippedSubscription};
use leptos::prelude::*;

use crate::components::{Age, icon, pluralize};
use crate::paths::{self, SettingsTab};

/// The section.
#[component]
pub fn Deliveries(
    /// What was sent, oldest first.
    deliveries: Vec<Delivery>,
    /// The subscriptions that it was not sent to.
    skipped: Vec<SkippedSubscription>,
    /// When this was read.
    at: Timestamp,
) -> impl IntoView {
    let settings = paths::settings_tab(SettingsTab::Notifications);
    let is_silent = deliveries.is_empty();
    view! {
        <section class="stack-sm" aria-labelledby="sent">
            <h2 class="section" id="sent">"Notifications"</h2>
            {is_silent.then(|| view! {
                <p class="text-2">
                    "Nobody is notified: no subscription selected the workload when the incident was opened. "
                    <a class="link" href=settings>"Channels and subscriptions"</a>
                </p>
            })}
            {(!is_silent).then(|| delivery_table(deliveries, at))}
            {(!skipped.is_empty()).then(|| skipped_list(skipped))}
        </section>
    }
    .into_any()
}

fn delivery_table(deliveries: Vec<Delivery>, at: Timestamp) -> impl IntoView {
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Channel"</th>
                    <th scope="col">"Message"</th>
                    <th scope="col">"State"</th>
                    <th scope="col">"Detail"</th>
                </tr>
            </thead>
            <tbody>{deliveries.into_iter().map(|one| delivery_row(one, at)).collect_view()}</tbody>
        </table>
    }
}

fn delivery_row(delivery: Delivery, at: Timestamp) -> impl IntoView {
    let attempts = pluralize(delivery.attempts, "attempt");
    let note = delivery.note;
    let (state, detail) = match (delivery.state, delivery.last_error) {
        (DeliveryState::Delivered, _) => (
            view! { <span class="state state-quiet hue-healthy">{icon("synced")} "Delivered"</span> }
                .into_any(),
            delivery
                .delivered_at
                .map(|when| view! { <Age since=when at=at suffix=" ago" /> " " {note} }.into_any()),
        ),
        (DeliveryState::Pending, None) => (
            view! { <span class="state state-quiet hue-progressing">{icon("pending")} "Waiting"</span> }
                .into_any(),
            None,
        ),
        (DeliveryState::Pending, Some(error)) => (
            view! { <span class="state state-attention hue-drifted">{icon("retry")} "Retrying"</span> }
                .into_any(),
            Some(view! { {error} " " <span class="meta">{attempts}</span> }.into_any()),
        ),
    };
    view! {
        <tr>
            <th scope="row" class="cell-name name">{delivery.channel}</th>
            <td data-label="Message">{message_label(delivery.kind)}</td>
            <td class="cell-state">{state}</td>
            <td data-label="Detail">{detail}</td>
        </tr>
    }
}

const fn message_label(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Opened => "Opened",
        MessageKind::Updated => "Updated",
        MessageKind::Closed => "Closed",
        MessageKind::Test => "Test",
    }
}

fn skipped_list(skipped: Vec<SkippedSubscription>) -> impl IntoView {
    let count = pluralize(u32::try_from(skipped.len()).unwrap_or(u32::MAX), "subscription");
    let item = |one: SkippedSubscription| {
        view! {
            <li>
                <b class="name">{one.channel}</b>
                {format!(" ({}): {}", one.scope, one.reason)}
            </li>
        }
    };
    view! {
        <details class="fold">
            <summary>"Not sent by " {count}</summary>
            <ul class="stack-sm pb-4">{skipped.into_iter().map(item).collect_view()}</ul>
        </details>
    }
}
