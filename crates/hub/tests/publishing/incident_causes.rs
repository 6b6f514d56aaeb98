//! Incidents for more than failures: drift that stays, a rollout that waits for a person, a source that is not followed, a loop that fails.

use domain::drift::{DriftQuery, DriftSnoozeRequest};
use domain::incident::{IncidentKind, IncidentState, IncidentSummary};
use domain::notification::{NewChannel, NewSubscription};
use domain::object::ObjectRef;
use domain::release::SyncStatus;
use domain::report::{DesiredRelease, DriftedField, ReleaseReport, ResourceStatus};
use domain::request::ClusterPatch;
use domain::rollout::{Rollout, RolloutAction, RolloutState};
use serde_json::json;

use crate::incidents::{TestWorkload, list, pass};
use crate::rollouts::{
    canary_strategy, publish_in_waves, wait_for_revision, wait_for_rollout, wave_strategy,
};
use crate::test_hub::{TestHub, applied_report, everywhere, wait_until};

/// The report of a cluster on which somebody scaled `web`.
fn drifted_report(desired: &DesiredRelease) -> ReleaseReport {
    let object = ObjectRef {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
        namespace: "shop".into(),
        name: "web".into(),
    };
    let applied = applied_report(desired);
    let field = DriftedField {
        path: "/spec/replicas".into(),
        applied: Some(json!(2)),
        live: Some(json!(7)),
        manager: "kubectl-edit".into(),
        ..DriftedField::default()
    };
    let resource = ResourceStatus {
        object,
        applied: true,
        available: Some(true),
        health: applied.health.clone(),
        drifted: vec![field.path.clone()],
        drifted_fields: vec![field],
        ..ResourceStatus::default()
    };
    ReleaseReport { sync: SyncStatus::Drifted, resources: vec![resource], ..applied }
}

impl TestWorkload {
    async fn drift_east(&mut self) {
        let report = drifted_report(&self.east.1);
        assert!(self.east.0.send_report(report).await.accepted);
    }

    async fn drift_west(&mut self) {
        let report = drifted_report(&self.west.1);
        assert!(self.west.0.send_report(report).await.accepted);
    }

    /// The same fleet after a restart of the server, with stopped loops.
    async fn restart(self) -> Self {
        let Self { test, receiver, east: (east, of_east), west: (west, of_west) } = self;
        drop((east, west));
        let mut test = test.restart().await;
        test.stop_loops().await;
        test.hub.set_message_sender(receiver.clone());
        let (east, west) = (test.reconnect_agent("east").await, test.reconnect_agent("west").await);
        Self { test, receiver, east: (east, of_east), west: (west, of_west) }
    }

    async fn only_open(&self) -> IncidentSummary {
        only(&self.test, IncidentState::Open).await
    }
}

/// The only incident in this state.
async fn only(test: &TestHub, state: IncidentState) -> IncidentSummary {
    let mut found = list(test, state).await;
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_drift_that_stays_is_one_incident_of_its_clusters_also_over_a_restart_and_closes_when_reverted() {
    let mut web = TestWorkload::start().await;
    web.drift_east().await;
    web.pass(10).await;
    let mut web = web.restart().await;
    web.pass(580).await;
    assert!(web.list(IncidentState::Open).await.is_empty(), "not within ten minutes");
    web.drift_west().await;
    web.pass(20).await;
    let open = web.only_open().await;
    assert_eq!((open.kind, open.reason.as_str()), (IncidentKind::Drift, "Drifted"));
    assert_eq!(
        (open.clusters.as_slice(), open.headline().as_str()),
        (&["east".to_owned()][..], "web drifts on 1 cluster")
    );
    assert_eq!(open.cause, "Deployment shop/web: /spec/replicas changed by kubectl-edit and not reverted.");
    assert!(open.hint.contains("Stop that manager"), "{}", open.hint);
    assert_eq!(open.preceding_change.unwrap().revision, Some(1));
    web.pass(700).await;
    assert_eq!(web.only_open().await.clusters, ["east", "west"], "it grows");
    assert_eq!(web.receiver.kinds(), ["opened", "updated"]);
    assert_eq!(web.receiver.events()[0]["data"]["incident"]["kind"], "drift");

    web.heal_east().await;
    web.pass(10).await;
    assert_eq!(web.only_open().await.clusters, ["west"]);
    web.heal_west().await;
    web.pass(10).await;
    let closed = only(&web.test, IncidentState::Closed).await;
    assert!(
        closed.headline().starts_with("web does not drift any more on 2 clusters after"),
        "{}",
        closed.headline()
    );
    assert_eq!(web.receiver.kinds().last().map(String::as_str), Some("closed"));
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_drift_that_is_reverted_in_time_is_no_incident() {
    let mut web = TestWorkload::start().await;
    web.drift_east().await;
    web.pass(590).await;
    web.heal_east().await;
    web.pass(600).await;
    assert!(web.list(IncidentState::Open).await.is_empty() && web.receiver.events().is_empty());
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_drift_that_is_snoozed_is_no_incident_until_the_snooze_ends() {
    let mut web = TestWorkload::start().await;
    web.drift_east().await;
    web.pass(600).await;
    assert_eq!(web.only_open().await.kind, IncidentKind::Drift);
    let hub = &web.test.hub;
    let entry = hub.list_drift(&web.test.actor, &DriftQuery::default()).await.unwrap().items.remove(0);
    let until = Some(hub.clock().now().plus_millis(3_600_000));
    let request = DriftSnoozeRequest { until, digest: None };
    hub.snooze_drift(&web.test.actor, entry.id, &request).await.unwrap();
    web.pass(3_500).await;
    assert!(web.list(IncidentState::Open).await.is_empty());
    assert_eq!(web.receiver.kinds(), ["opened", "closed"]);
    web.pass(110).await;
    assert_eq!(web.only_open().await.clusters, ["east"], "the snooze is over, and it drifts still");
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_a_release_that_drifts_and_fails_is_the_incident_of_its_failure() {
    let mut web = TestWorkload::start().await;
    web.drift_east().await;
    web.pass(590).await;
    web.fail_east().await;
    web.pass(50).await;
    assert!(web.list(IncidentState::Open).await.is_empty(), "a failure has its own delay");
    web.pass(10).await;
    assert_eq!(web.only_open().await.kind, IncidentKind::Failure);
    // It works again, and drifts: the failure is over at once, the drift has to last.
    web.drift_east().await;
    web.pass(10).await;
    assert_eq!(only(&web.test, IncidentState::Closed).await.kind, IncidentKind::Failure);
    assert!(web.list(IncidentState::Open).await.is_empty());
    web.pass(600).await;
    assert_eq!(web.only_open().await.kind, IncidentKind::Drift);
    // It fails: the cluster moves to the incident of the failure.
    web.fail_east().await;
    web.pass(70).await;
    assert_eq!(web.only_open().await.kind, IncidentKind::Failure);
    // Messages of two incidents of one pass have no order.
    let mut kinds = web.receiver.kinds();
    kinds.sort_unstable();
    assert_eq!(kinds, ["closed", "closed", "opened", "opened", "opened"]);
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_a_rollout_that_waits_for_an_approval_for_an_hour_is_an_incident_until_it_is_approved() {
    let test = TestHub::open().await;
    drop(publish_in_waves(&test, wave_strategy(json!([{ "name": "all", "approval": true }]))).await);
    wait_for_rollout(&test, "it waits", |rollout| rollout.state == RolloutState::AwaitingApproval).await;
    let mut test = test.restart().await;
    test.stop_loops().await;
    pass(&test, 3_580).await;
    assert!(list(&test, IncidentState::Open).await.is_empty(), "not within an hour");
    pass(&test, 30).await;
    let open = only(&test, IncidentState::Open).await;
    assert_eq!((open.kind, open.reason.as_str()), (IncidentKind::Rollout, "AwaitingApproval"));
    assert_eq!(open.headline(), "The rollout of web waits for a person");
    assert_eq!(open.object, "Rollout r2");
    assert!(open.cause.ends_with("wave 1 of 1 (all) waits for an approval."), "{}", open.cause);
    assert!(open.hint.contains("flotilla rollout approve"), "{}", open.hint);
    assert!(open.clusters.is_empty() && open.cluster_details.is_empty(), "it is none of clusters: {open:#?}");
    let details = test.hub.get_incident(open.id).await.unwrap();
    assert!(details.incident.cluster_details.is_empty(), "{details:#?}");
    assert_eq!(open.preceding_change.unwrap().revision, Some(2));
    pass(&test, 600).await;
    assert_eq!(only(&test, IncidentState::Open).await.id, open.id);

    test.hub.control_rollout(&test.actor, "web", RolloutAction::Approve).await.unwrap();
    pass(&test, 10).await;
    assert!(list(&test, IncidentState::Open).await.is_empty());
    let closed = only(&test, IncidentState::Closed).await;
    assert!(closed.duration_seconds.unwrap() >= 4_190, "{closed:#?}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_a_rollout_that_was_superseded_waits_for_nobody() {
    let test = TestHub::open().await;
    drop(publish_in_waves(&test, wave_strategy(json!([{ "name": "all", "approval": true }]))).await);
    wait_for_rollout(&test, "it waits", |rollout| rollout.state == RolloutState::AwaitingApproval).await;
    let mut test = test.restart().await;
    test.stop_loops().await;
    pass(&test, 3_610).await;
    assert_eq!(only(&test, IncidentState::Open).await.kind, IncidentKind::Rollout);
    test.hub.unpublish_workload(&test.actor, "web", Default::default()).await.unwrap();
    pass(&test, 10).await;
    assert!(list(&test, IncidentState::Open).await.is_empty());
    test.close().await;
}

/// A published workload, whose draft follows a branch as far as the database tells, with stopped loops.
async fn start_following() -> TestHub {
    let mut test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    east.apply_release().await;
    test.stop_loops().await;
    test.execute_sql(
        "INSERT INTO git_source (workload_id, project_id, url, ref, path, follow_status) \
         SELECT id, project_id, 'https://git.example.com/deploy.git', 'main', 'web', '{}' FROM workload",
    )
    .await;
    test
}

/// Stores what a check of the ref found, as the loop `git` does.
async fn record_follow(test: &TestHub, status: &str) {
    test.execute_sql(&format!("UPDATE git_source SET follow_status = '{status}'")).await;
    test.execute_sql("UPDATE incident_queue SET dirty_epoch = dirty_epoch + 1, due_at = 0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_a_commit_that_is_blocked_for_ten_minutes_is_an_incident_until_one_is_used() {
    let test = start_following().await;
    let blocked = r#"{"commit":"0123456789abcdef","blocked":{"message":"No key signed it.","hint":"Sign it.","at":"2025-11-20T18:00:00Z","attempts":3}}"#;
    record_follow(&test, blocked).await;
    pass(&test, 590).await;
    assert!(list(&test, IncidentState::Open).await.is_empty(), "not within ten minutes");
    let mut test = test.restart().await;
    test.stop_loops().await;
    pass(&test, 20).await;
    let open = only(&test, IncidentState::Open).await;
    assert_eq!((open.kind, open.reason.as_str()), (IncidentKind::Source, "CommitBlocked"));
    assert_eq!(open.headline(), "The source of web is not followed");
    assert_eq!(
        open.cause,
        "01234567 of main of https://git.example.com/deploy.git is blocked, and what runs is not changed: No key signed it."
    );
    assert_eq!((open.hint.as_str(), open.preceding_change), ("Sign it.", None));
    // A row that can't be read says nothing.
    record_follow(&test, "broken").await;
    pass(&test, 600).await;
    assert_eq!(only(&test, IncidentState::Open).await.id, open.id);
    record_follow(&test, r#"{"commit":"fedcba9876543210"}"#).await;
    pass(&test, 10).await;
    assert!(list(&test, IncidentState::Open).await.is_empty());
    assert_eq!(only(&test, IncidentState::Closed).await.id, open.id);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_a_placement_that_fails_for_ten_minutes_is_an_incident_until_it_succeeds() {
    let test = start_following().await;
    let fail = "UPDATE placer_queue SET attempts = 3, failure = 'It can''t be placed: a row is broken.'";
    test.execute_sql(fail).await;
    test.execute_sql("UPDATE incident_queue SET dirty_epoch = dirty_epoch + 1, due_at = 0").await;
    pass(&test, 590).await;
    assert!(list(&test, IncidentState::Open).await.is_empty(), "not within ten minutes");
    pass(&test, 20).await;
    let open = only(&test, IncidentState::Open).await;
    assert_eq!((open.kind, open.reason.as_str()), (IncidentKind::Loop, "PlacementFails"));
    assert_eq!(open.headline(), "A loop of the server fails for web");
    assert_eq!(open.cause, "It can't be placed: a row is broken.");
    pass(&test, 300).await;
    assert_eq!(only(&test, IncidentState::Open).await.id, open.id);
    // Its success marks nothing: the next look at it closes the incident.
    test.execute_sql("UPDATE placer_queue SET attempts = 0, failure = NULL").await;
    pass(&test, 60).await;
    assert!(list(&test, IncidentState::Open).await.is_empty());
    test.close().await;
}

/// Names an owner of a cluster, and sends the incidents of that owner and of nobody else to a channel of its own.
async fn subscribe_owner(test: &TestHub, cluster: &str, owner: &str) {
    let patch = ClusterPatch { owners: Some(vec![owner.to_owned()]), ..ClusterPatch::default() };
    test.hub.edit_cluster(&test.actor, cluster, patch, None).await.unwrap();
    let channel = NewChannel { name: owner.into(), url: "https://a.test/".into(), ..NewChannel::default() };
    test.hub.create_channel(&test.actor, channel).await.unwrap();
    let to_owner =
        NewSubscription { channel: owner.into(), owner: Some(owner.into()), ..NewSubscription::default() };
    test.hub.create_subscription(&test.actor, to_owner).await.unwrap();
}

/// The channels that an incident was sent to.
async fn channels_of(test: &TestHub, incident: &IncidentSummary) -> Vec<String> {
    let details = test.hub.get_incident(incident.id).await.unwrap();
    details.deliveries.into_iter().map(|sent| sent.channel).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_an_incident_is_sent_to_the_owners_of_its_clusters_and_not_of_others() {
    let mut web = TestWorkload::start().await;
    subscribe_owner(&web.test, "east", "team-east").await;
    subscribe_owner(&web.test, "west", "team-west").await;
    web.test.advance_clock(1);
    web.fail_east().await;
    web.pass(70).await;
    let open = web.only_open().await;
    let mut channels = channels_of(&web.test, &open).await;
    channels.sort();
    assert_eq!(channels, ["ops", "team-east"]);
    let details = web.test.hub.get_incident(open.id).await.unwrap();
    let skipped: Vec<&str> = details.skipped_subscriptions.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(
        skipped,
        ["team-west is no owner of web; its owners are flotilla. Those of the clusters are team-east."]
    );
    web.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_p29_a_canary_that_falls_silent_is_one_incident_until_it_reports_again() {
    let mut test = TestHub::open().await;
    let [mut a, mut b, mut c] = publish_in_waves(&test, canary_strategy()).await;
    wait_for_revision(&mut a, 2).await;
    test.advance_clock(600);
    b.send_facts(Default::default()).await;
    c.send_facts(Default::default()).await;
    wait_for_rollout(&test, "a is silent", |rollout| rollout.count_silent() == 1).await;
    test.advance_clock(61);
    wait_for_rollout(&test, "it pauses", Rollout::is_auto_paused).await;
    drop((a, b, c));
    test.stop_loops().await;
    subscribe_owner(&test, "a", "team-a").await;
    subscribe_owner(&test, "b", "team-b").await;
    pass(&test, 500).await;
    assert!(list(&test, IncidentState::Open).await.is_empty(), "not within ten minutes");
    pass(&test, 110).await;
    let open = only(&test, IncidentState::Open).await;
    assert_eq!((open.kind, open.reason.as_str()), (IncidentKind::Silence, "ClustersSilent"));
    assert_eq!(open.headline(), "Clusters of the rollout of web are silent");
    assert_eq!(channels_of(&test, &open).await, ["team-a"], "the owners of the silent cluster");
    assert_eq!(
        open.cause,
        "Rollout r2: 1 cluster went offline after the admission, so it is not known what runs there."
    );
    assert_eq!(open.preceding_change.unwrap().revision, Some(2));
    pass(&test, 3_600).await;
    assert_eq!(only(&test, IncidentState::Open).await.id, open.id, "the pause itself is no other incident");

    let test = test.restart().await;
    let mut a = test.reconnect_agent("a").await;
    a.send_facts(Default::default()).await;
    wait_for_rollout(&test, "a is heard again", |rollout| rollout.count_silent() == 0).await;
    test.run_rollout_loop().await;
    wait_until("the incident is closed", async || {
        list(&test, IncidentState::Closed).await.iter().any(|closed| closed.id == open.id)
    })
    .await;
    test.close().await;
}
