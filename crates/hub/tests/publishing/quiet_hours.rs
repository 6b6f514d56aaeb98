//! Quiet hours of subscriptions: what they hold back, what they drop, and what the record says.

use domain::incident::IncidentState;
use domain::notification::{Delivery, DeliveryState, NewSubscription};
use domain::{IncidentId, Timestamp};

use crate::incidents::TestWorkload;

/// From eight in the evening, which it is in Berlin when the clock of the test begins, to six.
const NIGHT: &str = "20:00-06:00 Europe/Berlin";
const TEN_HOURS: i64 = 36_000;

async fn subscribe(web: &TestWorkload, quiet_hours: &str) {
    let subscription = NewSubscription {
        channel: "ops".into(),
        workload: Some("web".into()),
        quiet_hours: quiet_hours.parse().ok(),
        ..NewSubscription::default()
    };
    web.test.hub.create_subscription(&web.test.actor, subscription).await.unwrap();
}

async fn deliveries(web: &TestWorkload, id: IncidentId) -> Vec<Delivery> {
    web.test.hub.get_incident(id).await.unwrap().deliveries
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_an_incident_within_quiet_hours_is_not_sent_and_the_record_says_so() {
    let mut web = TestWorkload::start().await;
    subscribe(&web, NIGHT).await;
    assert_eq!(web.test.hub.list_subscriptions().await.unwrap().len(), 1, "the same one with quiet hours");
    web.fail_east().await;
    web.pass(70).await;
    let id = web.list(IncidentState::Open).await[0].id;
    let held = deliveries(&web, id).await;
    let morning: Timestamp = "2025-11-21T05:00:00Z".parse().unwrap();
    assert_eq!((held[0].state, held[0].quiet_until), (DeliveryState::Pending, Some(morning)));
    assert_eq!(held[0].next_attempt_at, Some(morning));
    web.heal_east().await;
    web.pass(10).await;
    assert!(web.list(IncidentState::Open).await.is_empty());
    let dropped = deliveries(&web, id).await;
    assert_eq!(dropped.len(), 1, "{dropped:?}");
    assert_eq!((dropped[0].state, dropped[0].next_attempt_at), (DeliveryState::Suppressed, None));
    web.test.advance_clock(TEN_HOURS);
    web.pass(60).await;
    assert!(web.receiver.events().is_empty(), "{:?}", web.receiver.events());
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_what_lasts_longer_than_quiet_hours_is_sent_once_at_their_end_with_what_is_true_then() {
    let mut web = TestWorkload::start().await;
    subscribe(&web, NIGHT).await;
    web.fail_east().await;
    web.pass(70).await;
    web.fail_west().await;
    web.pass(70).await;
    assert!(web.receiver.events().is_empty());
    web.test.advance_clock(TEN_HOURS);
    web.pass(10).await;
    assert_eq!(web.receiver.kinds(), ["opened"]);
    assert_eq!(web.receiver.events()[0]["data"]["incident"]["clusters"], serde_json::json!(["east", "west"]));
    // The end is in the next night.
    web.test.advance_clock(15 * 3_600);
    web.heal_east().await;
    web.heal_west().await;
    web.pass(10).await;
    assert!(web.list(IncidentState::Open).await.is_empty());
    assert_eq!(web.receiver.kinds(), ["opened"]);
    web.test.advance_clock(TEN_HOURS);
    web.pass(10).await;
    assert_eq!(web.receiver.kinds(), ["opened", "closed"]);
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_a_channel_is_quiet_only_while_every_subscription_of_it_that_selects_the_workload_is() {
    let mut web = TestWorkload::start().await;
    subscribe(&web, NIGHT).await;
    let all = NewSubscription {
        channel: "ops".into(),
        project: Some("default".into()),
        ..NewSubscription::default()
    };
    web.test.hub.create_subscription(&web.test.actor, all).await.unwrap();
    web.fail_east().await;
    web.pass(70).await;
    assert_eq!(web.receiver.kinds(), ["opened"]);
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g513_quiet_hours_that_never_end_or_are_in_an_unknown_zone_are_rejected() {
    let web = TestWorkload::start().await;
    for (hours, path) in [
        ("00:00-24:00", "/quietHours/to"),
        ("20:00-06:00 Europe/Berln", "/quietHours/timeZone"),
        ("20:00-25:00", "/quietHours/to"),
    ] {
        let new = NewSubscription {
            channel: "ops".into(),
            owner: Some("team-a".into()),
            quiet_hours: hours.parse().ok(),
            ..NewSubscription::default()
        };
        let rejected = web.test.hub.create_subscription(&web.test.actor, new).await.unwrap_err();
        assert_eq!(rejected.findings()[0].path, path, "{hours}: {rejected:?}");
    }
    web.test.close().await;
}
