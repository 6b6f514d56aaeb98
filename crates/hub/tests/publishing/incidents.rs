//! Incidents, and the messages about them, with a receiver that the test switches off.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use domain::failure_cause::FailureCause;
use domain::health::{Health, HealthStatus};
use domain::incident::{IncidentQuery, IncidentState, IncidentSummary};
use domain::notification::{ChannelKind, ChannelTemplate, DeliveryState, NewChannel, NewSubscription};
use domain::object::ObjectRef;
use domain::release::{StageName, StageState};
use domain::report::{DesiredRelease, ReleaseReport, ResourceStatus};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use hub::{MessageRequest, MessageSender, RequestKey};
use parking_lot::Mutex;
use serde_json::Value;

use crate::test_hub::{TestAgent, TestHub, applied_report, everywhere};

/// A receiver of webhooks in the test itself.
#[derive(Clone, Default)]
pub struct Receiver {
    is_down: Arc<AtomicBool>,
    attempts: Arc<AtomicU32>,
    received: Arc<Mutex<Vec<MessageRequest>>>,
}

impl MessageSender for Receiver {
    fn send(&self, request: MessageRequest) -> BoxFuture<'_, Result<u16, String>> {
        async move {
            self.attempts.fetch_add(1, SeqCst);
            if self.is_down.load(SeqCst) {
                return Ok(503);
            }
            self.received.lock().push(request);
            Ok(204)
        }
        .boxed()
    }
}

impl Receiver {
    /// The events received so far, oldest first.
    pub fn events(&self) -> Vec<Value> {
        self.received.lock().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    /// Their types without the common prefix.
    pub fn kinds(&self) -> Vec<String> {
        let kind = |event: &Value| event["type"].as_str().unwrap().rsplit('.').next().unwrap().to_owned();
        self.events().iter().map(kind).collect()
    }
}

/// The report of a cluster that can't pull the image of `web`.
pub fn failing_report(desired: &DesiredRelease, pod: &str) -> ReleaseReport {
    let mut report = applied_report(desired);
    let last = report.stages.iter_mut().find(|stage| stage.name == StageName::Operational).unwrap();
    last.state = StageState::Running { message: String::new() };
    report.health = Health::new(HealthStatus::Degraded, "ImagePullFailed", "cannot pull image nginx:9.9");
    report.resources = vec![ResourceStatus {
        object: ObjectRef {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            namespace: "shop".into(),
            name: "web".into(),
        },
        applied: true,
        available: Some(true),
        health: report.health.clone(),
        failure_causes: vec![FailureCause {
            reason: "ImagePullFailed".into(),
            status: HealthStatus::Degraded,
            summary: "cannot pull image nginx:9.9".into(),
            pod: pod.into(),
            container: "web".into(),
            pods: 1,
            ..FailureCause::default()
        }],
        ..ResourceStatus::default()
    }];
    report
}

/// A workload on two clusters, whose loops are stopped, and a receiver that is subscribed to it.
pub struct TestWorkload {
    pub test: TestHub,
    pub receiver: Receiver,
    pub east: (TestAgent, DesiredRelease),
    pub west: (TestAgent, DesiredRelease),
}

impl TestWorkload {
    pub async fn start() -> Self {
        let mut test = TestHub::open().await;
        let mut east = test.register_cluster("east", &[]).await;
        let mut west = test.register_cluster("west", &[]).await;
        test.publish_new("web", everywhere()).await;
        let (of_east, of_west) = (east.apply_release().await, west.apply_release().await);
        test.stop_loops().await;
        let receiver = Receiver::default();
        test.hub.set_message_sender(receiver.clone());
        let secret = Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
        let channel = NewChannel {
            name: "ops".into(),
            kind: ChannelKind::Webhook,
            url: "https://ops.example.com/hook".into(),
            secret,
            ..NewChannel::default()
        };
        test.hub.create_channel(&test.actor, channel).await.unwrap();
        let subscription = NewSubscription {
            channel: "ops".into(),
            workload: Some("web".into()),
            ..NewSubscription::default()
        };
        test.hub.create_subscription(&test.actor, subscription).await.unwrap();
        Self { test, receiver, east: (east, of_east), west: (west, of_west) }
    }

    /// Advances the clock in steps, and with it what is due.
    pub async fn pass(&self, seconds: i64) {
        pass(&self.test, seconds).await;
    }

    pub async fn list(&self, state: IncidentState) -> Vec<IncidentSummary> {
        list(&self.test, state).await
    }

    pub async fn fail_east(&mut self) {
        let report = failing_report(&self.east.1, "web-7f9c-x1");
        self.east.0.send_report(report).await;
    }

    pub async fn fail_west(&mut self) {
        let report = failing_report(&self.west.1, "web-5d2a-q8");
        self.west.0.send_report(report).await;
    }

    pub async fn heal_east(&mut self) {
        let report = applied_report(&self.east.1);
        self.east.0.send_report(report).await;
    }

    pub async fn heal_west(&mut self) {
        let report = applied_report(&self.west.1);
        self.west.0.send_report(report).await;
    }
}

/// Advances the clock in steps, and with it what is due.
pub async fn pass(test: &TestHub, seconds: i64) {
    run_due(test).await;
    for _ in 0..seconds / 10 {
        test.advance_clock(10);
        run_due(test).await;
    }
}

async fn run_due(test: &TestHub) {
    test.hub.advance_due_incidents().await.unwrap();
    test.hub.send_due_deliveries().await.unwrap();
}

/// The incidents in this state, newest first.
pub async fn list(test: &TestHub, state: IncidentState) -> Vec<IncidentSummary> {
    let query = IncidentQuery { state: Some(state), ..IncidentQuery::default() };
    test.hub.list_incidents(&query).await.unwrap().items
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_one_incident_over_two_clusters_is_one_message_per_step() {
    let mut web = TestWorkload::start().await;
    web.fail_east().await;
    web.fail_west().await;
    web.pass(50).await;
    assert!(web.list(IncidentState::Open).await.is_empty(), "not within the delay");
    web.pass(20).await;
    let open = web.list(IncidentState::Open).await;
    assert_eq!(open.len(), 1, "one for both clusters: {open:#?}");
    // Clusters that fail in the same pass are in the order of their ids, which are random.
    let mut clusters = open[0].clusters.clone();
    clusters.sort_unstable();
    assert_eq!(clusters, ["east", "west"]);
    assert_eq!((open[0].reason.as_str(), open[0].container.as_str()), ("ImagePullFailed", "web"));
    let change = open[0].preceding_change.as_ref().unwrap();
    assert_eq!(change.revision, Some(1));
    web.pass(300).await;
    assert_eq!(web.receiver.kinds(), ["opened"], "nothing changed");
    web.heal_east().await;
    web.pass(10).await;
    assert_eq!(web.list(IncidentState::Open).await[0].clusters, ["west"]);
    web.heal_west().await;
    web.pass(10).await;
    assert!(web.list(IncidentState::Open).await.is_empty());
    let closed = web.list(IncidentState::Closed).await;
    assert!(closed[0].duration_seconds.unwrap() >= 370, "{closed:#?}");
    assert_eq!(web.receiver.kinds(), ["opened", "updated", "closed"]);
    let signed =
        |request: &MessageRequest| request.headers.iter().any(|(name, _)| *name == "webhook-signature");
    assert!(web.receiver.received.lock().iter().all(signed));
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_an_acknowledgement_and_its_response_are_stored_in_one_transaction() {
    let mut web = TestWorkload::start().await;
    web.fail_east().await;
    web.pass(600).await;
    let id = web.list(IncidentState::Open).await[0].id;
    let request = RequestKey { key: "k-1".to_owned(), request_hash: "h".to_owned() };
    let actor = web.test.actor.clone().with_request_key(request);
    let details = web.test.hub.acknowledge_incident(&actor, id).await.unwrap();
    let stored = web.test.hub.stored_response(&actor, "k-1", "h").await.unwrap().unwrap();
    assert_eq!((stored.status, stored.body), (200, serde_json::to_string(&details).unwrap()));
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_p27_a_receiver_that_is_down_for_an_hour_gets_each_step_once_and_in_order() {
    let mut web = TestWorkload::start().await;
    web.receiver.is_down.store(true, SeqCst);
    web.fail_east().await;
    web.pass(600).await;
    web.fail_west().await;
    web.pass(600).await;
    let id = web.list(IncidentState::Open).await[0].id;
    web.test.hub.acknowledge_incident(&web.test.actor, id).await.unwrap();
    web.pass(2_400).await;
    assert!(web.receiver.events().is_empty());
    let attempts = web.receiver.attempts.load(SeqCst);
    assert!((5..40).contains(&attempts), "{attempts} attempts in an hour: the pauses grow");
    let details = web.test.hub.get_incident(id).await.unwrap();
    assert!(details.deliveries.iter().all(|one| one.state == DeliveryState::Pending));
    assert_eq!(details.deliveries[0].last_error.as_deref(), Some("The receiver answered with status 503."));
    assert!(details.deliveries[0].next_attempt_at.is_some());

    web.receiver.is_down.store(false, SeqCst);
    web.pass(3_700).await;
    assert_eq!(web.receiver.kinds(), ["opened", "updated"], "the latest update replaced the others");
    assert_eq!(web.receiver.events()[1]["data"]["incident"]["acknowledgedBy"], "flotilla");
    assert_eq!(web.receiver.events()[1]["data"]["incident"]["clusters"], serde_json::json!(["east", "west"]));
    web.heal_east().await;
    web.heal_west().await;
    web.pass(20).await;
    assert_eq!(web.receiver.kinds(), ["opened", "updated", "closed"]);
    let ids: BTreeSet<String> = web.receiver.events().iter().map(|event| event["id"].to_string()).collect();
    assert_eq!(ids.len(), 3);
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_a_template_that_fails_is_replaced_by_the_built_in_text_and_the_delivery_says_so() {
    let mut web = TestWorkload::start().await;
    let template = ChannelTemplate { template: "{{ workload }}: {{ reason }}".to_owned() };
    web.test.hub.set_channel_template(&web.test.actor, "ops", template).await.unwrap();
    web.fail_east().await;
    web.pass(70).await;
    assert_eq!(web.receiver.events()[0]["data"]["text"], "web: ImagePullFailed");
    // As another version of the server may store one.
    web.test.execute_sql("UPDATE channel SET template = '{{ nothing }}'").await;
    web.heal_east().await;
    web.pass(10).await;
    assert_eq!(web.receiver.kinds(), ["opened", "closed"]);
    assert_eq!(web.receiver.events()[1]["data"].get("text"), None);
    let id = web.list(IncidentState::Closed).await[0].id;
    let details = web.test.hub.get_incident(id).await.unwrap();
    assert_eq!(details.deliveries[0].note, None);
    let note = details.deliveries[1].note.as_deref().unwrap();
    assert!(note.starts_with("Line 1 of the template failed: There is no variable nothing"), "{note}");
    assert!(note.ends_with("The built-in text was sent."), "{note}");
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_an_incident_that_began_and_ended_during_an_outage_of_its_receiver_is_two_messages() {
    let mut web = TestWorkload::start().await;
    web.receiver.is_down.store(true, SeqCst);
    web.fail_east().await;
    web.pass(120).await;
    web.fail_west().await;
    web.pass(120).await;
    web.heal_east().await;
    web.heal_west().await;
    web.pass(20).await;
    assert_eq!(web.list(IncidentState::Closed).await.len(), 1);
    web.receiver.is_down.store(false, SeqCst);
    web.pass(3_700).await;
    assert_eq!(web.receiver.kinds(), ["opened", "closed"]);
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_a_short_failure_is_no_incident_and_an_offline_cluster_closes_none() {
    let mut web = TestWorkload::start().await;
    web.fail_east().await;
    web.pass(40).await;
    web.heal_east().await;
    web.pass(300).await;
    assert!(web.list(IncidentState::Open).await.is_empty() && web.receiver.events().is_empty());
    web.fail_east().await;
    web.pass(70).await;
    web.test.execute_sql("UPDATE release SET connectivity = 'Offline', state = 'Unknown', state_rank = 14 WHERE cluster_name = 'east'").await;
    web.test.execute_sql("UPDATE incident_queue SET due_at = 0").await;
    web.pass(600).await;
    assert_eq!(web.list(IncidentState::Open).await.len(), 1, "unknown is no success");
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_an_unpublished_workload_has_no_open_incident() {
    let mut web = TestWorkload::start().await;
    web.fail_east().await;
    web.pass(70).await;
    assert_eq!(web.list(IncidentState::Open).await.len(), 1);
    web.test.hub.unpublish_workload(&web.test.actor, "web", Default::default()).await.unwrap();
    web.pass(10).await;
    assert!(web.list(IncidentState::Open).await.is_empty());
    assert_eq!(web.receiver.kinds(), ["opened", "closed"]);
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_an_incident_says_which_subscriptions_it_was_not_sent_by_and_why() {
    let mut web = TestWorkload::start().await;
    let subscribe = async |fields: NewSubscription| {
        web.test.hub.create_subscription(&web.test.actor, fields).await.unwrap()
    };
    let channel = NewChannel { name: "other".into(), url: "https://a.test/".into(), ..NewChannel::default() };
    web.test.hub.create_channel(&web.test.actor, channel).await.unwrap();
    let to_other = NewSubscription { channel: "other".into(), ..NewSubscription::default() };
    subscribe(NewSubscription { owner: Some("team-b".into()), ..to_other.clone() }).await;
    // Subscriptions are listed in the order of their ids, which contain the time.
    web.test.advance_clock(1);
    subscribe(NewSubscription { selector: Some("team=b".into()), ..to_other.clone() }).await;
    web.fail_east().await;
    web.pass(70).await;
    web.test.advance_clock(10);
    let late = NewSubscription { project: Some("default".into()), ..to_other };
    web.test.hub.create_subscription(&web.test.actor, late).await.unwrap();
    let id = web.list(IncidentState::Open).await[0].id;
    let details = web.test.hub.get_incident(id).await.unwrap();
    assert_eq!(details.owners, ["flotilla"], "who created the workload");
    let mut reasons: Vec<&str> =
        details.skipped_subscriptions.iter().map(|one| one.reason.as_str()).collect();
    // They are listed by their ids, which are random within a millisecond.
    reasons.sort_unstable();
    assert_eq!(
        reasons,
        [
            "It was created after the incident was opened.",
            "The labels of web do not match team=b.",
            "team-b is no owner of web; its owners are flotilla.",
        ]
    );
    assert_eq!(details.deliveries.len(), 1);
    assert_eq!(details.deliveries[0].state, DeliveryState::Delivered);
    web.test.close().await;
}
