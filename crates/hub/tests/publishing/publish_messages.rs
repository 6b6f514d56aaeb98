//! One message about the end of one's own publish: operational everywhere, failed, or in need of a person.

use domain::OperationId;
use domain::notification::{ChannelKind, DeliveryState, NewChannel, NewSubscription};
use hub::PublishOptions;
use serde_json::json;

use crate::incidents::{Receiver, failing_report, pass};
use crate::rollouts::{wait_for_rollout, wave_strategy};
use crate::test_hub::{TestAgent, TestHub, everywhere};

/// A hub with the clusters east and west and a draft, whose user is sent the end of publishes.
async fn start(quiet_hours: &str) -> (TestHub, Receiver, [TestAgent; 2]) {
    let test = TestHub::open().await;
    let receiver = Receiver::default();
    test.hub.set_message_sender(receiver.clone());
    let url = "https://ops.example.com/hook".into();
    let channel = NewChannel { name: "mine".into(), url, ..NewChannel::default() };
    test.hub.create_channel(&test.actor, channel).await.unwrap();
    let subscription = NewSubscription {
        channel: "mine".into(),
        publisher: Some(String::new()),
        quiet_hours: quiet_hours.parse().ok(),
        ..NewSubscription::default()
    };
    let created = test.hub.create_subscription(&test.actor, subscription).await.unwrap();
    assert_eq!(created.fields.publisher.as_deref(), Some("flotilla"), "the caller");
    assert_eq!(created.scope, "publishes by flotilla");
    let agents = [test.register_cluster("east", &[]).await, test.register_cluster("west", &[]).await];
    test.create_draft("web", everywhere()).await;
    (test, receiver, agents)
}

/// Publishes the draft; returns the operation.
async fn publish(test: &TestHub) -> OperationId {
    let options = PublishOptions::default();
    test.hub.publish_workload(&test.actor, "web", "", options).await.unwrap().operation.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_a_publish_that_is_operational_everywhere_is_one_message_to_its_user() {
    let (mut test, receiver, [mut east, mut west]) = start("").await;
    let operation = publish(&test).await;
    let (_, of_west) = (east.apply_release().await, west.wait_for_release().await);
    test.stop_loops().await;
    pass(&test, 120).await;
    assert!(receiver.events().is_empty(), "west has not reported yet");
    west.report_applied(&of_west).await;
    pass(&test, 20).await;
    assert_eq!(receiver.kinds(), ["operational"]);
    let event = &receiver.events()[0];
    assert_eq!(event["type"], "dev.flotilla.publish.operational");
    assert_eq!(event["data"]["message"], "web r1 is operational on 2 clusters");
    assert_eq!(event["data"]["publish"]["publisher"], "flotilla");
    // What fails later is an incident, and no part of the publish.
    west.send_report(failing_report(&of_west, "web-1")).await;
    pass(&test, 300).await;
    assert_eq!(receiver.kinds(), ["operational"]);
    let record = test.hub.get_operation(operation).await.unwrap().deliveries;
    assert_eq!(record.len(), 1, "{record:?}");
    assert_eq!((record[0].channel.as_str(), record[0].state), ("mine", DeliveryState::Delivered));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_a_publish_that_fails_is_one_message_with_its_cause_once_the_failure_lasts() {
    let (mut test, receiver, [mut east, mut west]) = start("").await;
    publish(&test).await;
    let (of_east, _) = (east.wait_for_release().await, west.apply_release().await);
    test.stop_loops().await;
    east.send_report(failing_report(&of_east, "web-1")).await;
    pass(&test, 50).await;
    assert!(receiver.events().is_empty(), "a retry may end it");
    pass(&test, 40).await;
    assert_eq!(receiver.kinds(), ["failed"]);
    let message = receiver.events()[0]["data"]["publish"].clone();
    assert_eq!(message["affected"], json!(["east"]));
    assert_eq!((&message["clusters"], &message["operational"]), (&json!(2), &json!(1)));
    assert!(message["cause"].as_str().unwrap().contains("cannot pull image nginx:9.9"), "{message}");
    east.report_applied(&of_east).await;
    pass(&test, 120).await;
    assert_eq!(receiver.kinds(), ["failed"], "one message for a publish");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_a_publish_that_waits_for_an_approval_is_one_message_that_says_so() {
    let (mut test, receiver, _agents) = start("").await;
    let strategy = wave_strategy(json!([{ "name": "all", "approval": true }]));
    test.edit_draft("web", |spec| spec.rollout = strategy).await;
    publish(&test).await;
    wait_for_rollout(&test, "both are gated", |rollout| rollout.waves[0].gated == 2).await;
    test.stop_loops().await;
    pass(&test, 120).await;
    assert_eq!(receiver.kinds(), ["needsPerson"]);
    let message = receiver.events()[0]["data"]["publish"].clone();
    assert!(message["cause"].as_str().unwrap().contains("waits for approval"), "{message}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publish_that_is_replaced_ends_and_only_one_s_own_are_told() {
    let (mut test, receiver, [mut east, mut west]) = start("").await;
    publish(&test).await;
    east.wait_for_release().await;
    test.edit_draft("web", |spec| {
        spec.source = crate::test_hub::source(&crate::CONFIG.replace("blue", "red"))
    })
    .await;
    publish(&test).await;
    for agent in [&mut east, &mut west] {
        let desired = crate::rollouts::wait_for_revision(agent, 2).await;
        agent.report_applied(&desired).await;
    }
    test.stop_loops().await;
    pass(&test, 20).await;
    let mut kinds = receiver.kinds();
    kinds.sort_unstable();
    assert_eq!(kinds, ["operational", "superseded"]);
    let to_ops = |publisher: &str, channel: &str| NewSubscription {
        channel: channel.into(),
        publisher: Some(publisher.into()),
        ..NewSubscription::default()
    };
    let rejected = test.hub.create_subscription(&test.actor, to_ops("ana", "mine")).await.unwrap_err();
    assert_eq!(rejected.findings()[0].path, "/publisher", "{rejected:?}");
    let secret = Some("key".to_owned());
    let pager =
        NewChannel { name: "pager".into(), kind: ChannelKind::Pagerduty, secret, ..NewChannel::default() };
    test.hub.create_channel(&test.actor, pager).await.unwrap();
    let rejected = test.hub.create_subscription(&test.actor, to_ops("", "pager")).await.unwrap_err();
    assert_eq!(rejected.findings()[0].path, "/channel", "{rejected:?}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_publish_in_quiet_hours_is_sent_when_they_end() {
    let (mut test, receiver, [mut east, mut west]) = start("20:00-06:00 Europe/Berlin").await;
    let operation = publish(&test).await;
    for agent in [&mut east, &mut west] {
        agent.apply_release().await;
    }
    test.stop_loops().await;
    pass(&test, 20).await;
    assert!(receiver.events().is_empty());
    let record = test.hub.get_operation(operation).await.unwrap().deliveries;
    assert_eq!(record[0].state, DeliveryState::Pending);
    assert!(record[0].quiet_until.unwrap() > test.hub.clock().now());
    test.advance_clock(36_000);
    pass(&test, 10).await;
    assert_eq!(receiver.kinds(), ["operational"]);
    test.close().await;
}
