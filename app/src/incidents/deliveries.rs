//! What was sent about an incident or a publish, and the subscriptions that it was not sent to, with the reason.

use domain::Timestamp;
use domain::notification::{Delivery, DeliveryState, MessageKind, SkippedSubscription};
use leptos::prelude::*;

use crate::components::age::format_utc;
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

/// The messages with their state.
pub fn delivery_table(deliveries: Vec<Delivery>, at: Timestamp) -> impl IntoView {
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
    let held_until = delivery.quiet_until.filter(|until| *until > at);
    let note = delivery.note;
    let (state, detail) = match (delivery.state, delivery.last_error) {
        (DeliveryState::Delivered, _) => (
            view! { <span class="state state-quiet hue-healthy">{icon("synced")} "Delivered"</span> }
                .into_any(),
            delivery
                .delivered_at
                .map(|when| view! { <Age since=when at=at suffix=" ago" /> " " {note} }.into_any()),
        ),
        (DeliveryState::Suppressed, _) => (
            view! { <span class="state state-quiet hue-unknown">{icon("pending")} "Not sent"</span> }
                .into_any(),
            Some("It was opened and closed within quiet hours.".into_any()),
        ),
        (DeliveryState::Pending, None) if held_until.is_some() => (
            view! { <span class="state state-quiet hue-paused">{icon("pending")} "Held back"</span> }
                .into_any(),
            held_until.map(|until| format!("Quiet hours end at {}.", format_utc(until)).into_any()),
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
        MessageKind::PublishEnded => "Publish ended",
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

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::DeliveryId;

    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn e12_what_quiet_hours_hold_back_and_what_they_drop_is_told() {
        let at = Timestamp::from_millis(1_763_665_200_000);
        let delivery = |state, quiet_until| Delivery {
            id: DeliveryId::from_parts(1, 1),
            channel: "ops".into(),
            kind: MessageKind::Opened,
            state,
            attempts: 0,
            last_error: None,
            next_attempt_at: None,
            quiet_until,
            created_at: at,
            delivered_at: None,
            note: None,
        };
        let render = |delivery: Delivery| {
            render_html(move || view! { <table><tbody>{delivery_row(delivery, at)}</tbody></table> })
        };
        let until = at.plus_millis(3_600_000);
        let held = render(delivery(DeliveryState::Pending, Some(until)));
        assert!(held.contains("Held back"), "{held}");
        assert!(held.contains("Quiet hours end at 2025-11-20 20:00:00 UTC."), "{held}");
        let over = render(delivery(DeliveryState::Pending, Some(at)));
        assert!(over.contains("Waiting") && !over.contains("Held back"), "{over}");
        let dropped = render(delivery(DeliveryState::Suppressed, Some(until)));
        assert!(dropped.contains("It was opened and closed within quiet hours."), "{dropped}");
    }
}
