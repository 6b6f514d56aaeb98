//! Messages to channels, as they are listed with what they are about.

use domain::Timestamp;
use domain::notification::{Delivery, DeliveryState};

use crate::clock;

/// The state of a message, and why.
pub fn describe_delivery(delivery: &Delivery, now: Timestamp) -> (&'static str, String) {
    match delivery.state {
        DeliveryState::Delivered => {
            let age = delivery.delivered_at.map(|at| clock::format_age(at, now)).unwrap_or_default();
            let note = delivery.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            ("delivered", format!("{age} ago{note}"))
        }
        DeliveryState::Pending => match delivery.quiet_until.filter(|until| *until > now) {
            Some(until) => ("held", format!("quiet hours end in {}", now.format_age(until))),
            None => ("pending", delivery.last_error.clone().unwrap_or_default()),
        },
        DeliveryState::Suppressed => ("not sent", "it was opened and closed within quiet hours".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use domain::DeliveryId;
    use domain::notification::MessageKind;

    use super::*;

    #[test]
    fn e12_a_message_that_quiet_hours_hold_back_says_until_when() {
        let now = Timestamp::from_millis(1_000_000);
        let delivery = |state, quiet_until| Delivery {
            id: DeliveryId::from_parts(1, 1),
            channel: "ops".into(),
            kind: MessageKind::Opened,
            state,
            attempts: 0,
            last_error: None,
            next_attempt_at: None,
            quiet_until,
            created_at: now,
            delivered_at: None,
            note: None,
        };
        let later = Some(now.plus_millis(7_200_000));
        let describe = |state, quiet_until| describe_delivery(&delivery(state, quiet_until), now);
        assert_eq!(describe(DeliveryState::Pending, later), ("held", "quiet hours end in 2 h".to_owned()));
        assert_eq!(describe(DeliveryState::Pending, Some(now)), ("pending", String::new()));
        assert_eq!(describe(DeliveryState::Suppressed, later).0, "not sent");
    }
}
