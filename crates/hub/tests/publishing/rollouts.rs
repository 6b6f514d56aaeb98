//! Publishes in waves (docs/rollouts.md).

use domain::cluster::Connectivity;
use domain::health::{Health, HealthStatus};
use domain::operation::OperationKind;
use domain::overrides::ClusterSelector;
use domain::page::ListQuery;
use domain::release::{ReleaseState, StageName, StageState};
use domain::report::{DesiredPhase, DesiredRelease, ReleaseReport};
use domain::request::OverridePut;
use domain::rollout::{CountOrPercent, Rollout, RolloutAction, RolloutState, RolloutStrategy};
use hub::{OverrideChange, PublishContent, PublishOptions};
use serde_json::json;

use crate::release_state;
use crate::test_hub::{CONFIG, TestAgent, TestHub, applied_report, everywhere, source, wait_for, wait_until};

/// One cluster first with a soak time of two minutes, then the rest one at a time.
pub fn canary_strategy() -> RolloutStrategy {
    wave_strategy(json!([
        { "name": "canary", "target": { "clusters": ["a"] }, "soak": "2m" },
        { "name": "rest", "maxConcurrency": 1 },
    ]))
}

pub fn wave_strategy(waves: serde_json::Value) -> RolloutStrategy {
    serde_json::from_value(json!({ "waves": waves })).unwrap()
}

pub async fn edit_draft(test: &TestHub, strategy: RolloutStrategy, colour: &str) {
    let view = test.hub.get_workload("web").await.unwrap();
    let mut spec = view.workload.draft;
    spec.rollout = strategy;
    spec.source = source(&CONFIG.replace("blue", colour));
    let edit = hub::WorkloadEdit { spec: Some(spec), ..hub::WorkloadEdit::default() };
    test.hub.edit_workload(&test.actor, "web", edit, None).await.unwrap();
}

pub async fn view_rollout(test: &TestHub) -> Rollout {
    test.hub.get_rollout("web", None).await.unwrap().expect("a rollout")
}

pub async fn wait_for_rollout(test: &TestHub, what: &str, condition: impl Fn(&Rollout) -> bool) -> Rollout {
    wait_for(what, async || Some(view_rollout(test).await).filter(&condition)).await
}

async fn wait_for_state(test: &TestHub, cluster: &str, expected: ReleaseState) {
    let what = format!("{cluster} is {expected:?}");
    wait_until(&what, async || release_state(test, "web", cluster).await == expected).await;
}

/// Three clusters that run revision 1, and revision 2 published with this strategy.
pub async fn publish_in_waves(test: &TestHub, strategy: RolloutStrategy) -> [TestAgent; 3] {
    let mut agents = [
        test.register_cluster("a", &[]).await,
        test.register_cluster("b", &[]).await,
        test.register_cluster("c", &[]).await,
    ];
    test.create_draft("web", everywhere()).await;
    test.publish("web").await;
    for agent in &mut agents {
        let desired = agent.wait_for_release().await;
        agent.report_applied(&desired).await;
    }
    edit_draft(test, strategy, "green").await;
    test.publish("web").await;
    agents
}

fn desires_revision(revision: u32) -> impl Fn(&domain::report::DesiredState) -> bool {
    move |desired_state| {
        desired_state.releases.iter().any(
            |desired| matches!(desired.phase, DesiredPhase::Present { revision: n, .. } if n == revision),
        )
    }
}

/// Waits until the desired state has this revision.
pub async fn wait_for_revision(agent: &mut TestAgent, revision: u32) -> DesiredRelease {
    agent.wait_for_desired_state(desires_revision(revision)).await.releases.remove(0)
}

pub fn degraded_report(desired: &DesiredRelease) -> ReleaseReport {
    let health = Health::new(HealthStatus::Degraded, "CrashLoop", "Deployment web: 0 of 1 pods are ready.");
    ReleaseReport { health, ..applied_report(desired) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publish_in_waves_reaches_a_cluster_when_its_wave_opens_and_no_earlier() {
    let test = TestHub::open().await;
    let [mut a, mut b, mut c] = publish_in_waves(&test, canary_strategy()).await;
    let desired = wait_for_revision(&mut a, 2).await;
    let waiting = wait_for_rollout(&test, "b and c wait", |rollout| rollout.waves[1].gated == 2).await;
    assert_eq!((waiting.wave, &waiting.state), (0, &RolloutState::Running));
    assert_eq!(release_state(&test, "web", "b").await, ReleaseState::Pending);
    let view = test.hub.get_release("web", "b").await.unwrap();
    assert_eq!(view.message, "Waiting for wave 2 of 2 (rest).");
    assert_eq!((view.release.revision(), view.release.released_revision()), (Some(2), Some(1)));

    a.report_applied(&desired).await;
    let soaking =
        wait_for_rollout(&test, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. }))
            .await;
    assert_eq!(soaking.waves[0].operational, 1);
    assert_eq!(release_state(&test, "web", "b").await, ReleaseState::Pending);

    test.advance_clock(121);
    // One at a time: c waits until b is operational.
    let desired = wait_for_revision(&mut b, 2).await;
    assert_eq!(release_state(&test, "web", "c").await, ReleaseState::Pending);
    b.report_applied(&desired).await;
    let desired = wait_for_revision(&mut c, 2).await;
    c.report_applied(&desired).await;
    wait_for_rollout(&test, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    let log = test.event_messages().await;
    for expected in [
        "web revision 2: 1 cluster of wave 1 of 2 (canary) admitted.",
        "web revision 2: Wave 1 of 2 (canary) is operational and soaks for 2 min.",
        "web revision 2: Wave 2 of 2 (rest) starts.",
        "web revision 2: the rollout is completed.",
    ] {
        assert!(log.iter().any(|message| message == expected), "{expected}: {log:#?}");
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_assessed_opens_no_wave_of_a_new_workload() {
    let test = TestHub::open().await;
    let [mut a, _b, _c] = publish_in_waves(&test, canary_strategy()).await;
    let desired = wait_for_revision(&mut a, 2).await;
    let DesiredPhase::Present { policies, .. } = &desired.phase else { panic!("{desired:?}") };
    assert!(!policies.accepts_not_assessed(), "the agent gets the policy of a new workload");
    let mut waiting = applied_report(&desired);
    waiting.health =
        Health::new(HealthStatus::NotAssessed, "NoStatus", "Lamp a: exists; it reports no status");
    let operational = waiting.stages.iter_mut().find(|stage| stage.name == StageName::Operational).unwrap();
    operational.state = StageState::Running { message: "Lamp a: the policy waits".to_owned() };
    a.send_report(waiting).await;
    wait_for_state(&test, "a", ReleaseState::Progressing).await;
    test.run_rollout_loop().await;
    let rollout = view_rollout(&test).await;
    assert_eq!((&rollout.state, rollout.waves[0].operational), (&RolloutState::Running, 0));
    assert_eq!(release_state(&test, "web", "b").await, ReleaseState::Pending);
    let view = test.hub.get_release("web", "a").await.unwrap();
    assert_eq!(view.message, "Lamp a: the policy waits");

    a.report_applied(&desired).await;
    wait_for_rollout(&test, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. }))
        .await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_a_failing_canary_pauses_the_rollout_and_no_other_cluster_gets_the_revision() {
    let test = TestHub::open().await;
    let [mut a, mut b, _c] = publish_in_waves(&test, canary_strategy()).await;
    let desired = wait_for_revision(&mut a, 2).await;
    a.send_report(degraded_report(&desired)).await;
    wait_for_rollout(&test, "the canary fails", |rollout| rollout.waves[0].failing == 1).await;
    assert_eq!(view_rollout(&test).await.state, RolloutState::Running, "failures count only after a minute");
    test.advance_clock(61);
    let paused = wait_for_rollout(&test, "it pauses", |rollout| {
        matches!(rollout.state, RolloutState::AutoPaused { .. })
    })
    .await;
    assert_eq!(
        paused.message(test.hub.clock().now()),
        "Paused automatically at wave 1 of 2 (canary): 1 of 1 cluster fails in wave canary; the limit is 0."
    );
    test.advance_clock(3600);
    test.run_rollout_loop().await;
    // A pass of the loops may have found it silent before.
    test.hub.record_heartbeat(b.id).await.unwrap();
    wait_for_state(&test, "b", ReleaseState::Pending).await;

    // A newer revision supersedes it and starts with the canary again.
    edit_draft(&test, canary_strategy(), "red").await;
    test.publish("web").await;
    let old = test.hub.get_rollout("web", Some(2)).await.unwrap().unwrap();
    assert_eq!(old.state, RolloutState::Superseded);
    let desired = wait_for_revision(&mut a, 3).await;
    a.report_applied(&desired).await;
    wait_for_rollout(&test, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. }))
        .await;
    test.hub.control_rollout(&test.actor, "web", RolloutAction::Promote).await.unwrap();
    wait_for_revision(&mut b, 3).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e5_an_offline_cluster_within_the_limit_does_not_block_its_wave_and_catches_up_when_it_reconnects() {
    let test = TestHub::open().await;
    let mut strategy = canary_strategy();
    strategy.waves[1].max_deferred = Some(CountOrPercent::Count(1));
    let [mut a, mut b, mut c] = publish_in_waves(&test, strategy).await;
    let desired = wait_for_revision(&mut a, 2).await;
    wait_for_rollout(&test, "b and c wait", |rollout| rollout.waves[1].gated == 2).await;
    // b sends nothing until it is offline, before its admission; the others report.
    test.advance_clock(600);
    a.send_facts(Default::default()).await;
    c.send_facts(Default::default()).await;
    wait_until("b is offline", async || {
        test.hub.get_cluster("b").await.unwrap().cluster.connectivity == Connectivity::Offline
    })
    .await;
    a.report_applied(&desired).await;
    wait_for_rollout(&test, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. }))
        .await;
    test.advance_clock(121);
    a.send_facts(Default::default()).await;
    c.send_facts(Default::default()).await;
    let desired = wait_for_revision(&mut c, 2).await;
    c.report_applied(&desired).await;
    let completed =
        wait_for_rollout(&test, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    assert_eq!((completed.waves[1].operational, completed.waves[1].deferred), (1, 1));
    assert_eq!(release_state(&test, "web", "b").await, ReleaseState::Unknown);
    let desired = wait_for_revision(&mut b, 2).await;
    b.report_applied(&desired).await;
    wait_for_state(&test, "b", ReleaseState::Healthy).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_aborted_rollout_gated_clusters_keep_their_revision_until_the_next_publish() {
    let test = TestHub::open().await;
    let [mut a, mut b, _c] = publish_in_waves(&test, canary_strategy()).await;
    wait_for_revision(&mut a, 2).await;
    wait_for_rollout(&test, "b and c wait", |rollout| rollout.waves[1].gated == 2).await;
    test.hub.control_rollout(&test.actor, "web", RolloutAction::Abort).await.unwrap();
    wait_for_state(&test, "b", ReleaseState::Suspended).await;
    wait_for_state(&test, "c", ReleaseState::Suspended).await;
    let view = test.hub.get_release("web", "b").await.unwrap();
    assert!(view.message.starts_with("The rollout of revision 2 was aborted"), "{}", view.message);
    let rejected = test.hub.control_rollout(&test.actor, "web", RolloutAction::Resume).await.unwrap_err();
    assert!(rejected.to_string().contains("the rollout of revision 2 is aborted"), "{rejected}");
    // Without waves it goes to all clusters immediately.
    edit_draft(&test, RolloutStrategy::default(), "green").await;
    test.publish("web").await;
    wait_for_revision(&mut b, 3).await;
    assert_eq!(test.hub.get_rollout("web", None).await.unwrap(), None);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_rollout_admits_no_cluster_until_it_is_resumed() {
    let test = TestHub::open().await;
    let [mut a, mut b, _c] = publish_in_waves(
        &test,
        wave_strategy(json!([
            { "name": "canary", "target": { "clusters": ["a"] } },
            { "name": "rest", "approval": true },
        ])),
    )
    .await;
    let desired = wait_for_revision(&mut a, 2).await;
    test.hub.control_rollout(&test.actor, "web", RolloutAction::Pause).await.unwrap();
    a.report_applied(&desired).await;
    wait_for_state(&test, "a", ReleaseState::Healthy).await;
    assert_eq!(view_rollout(&test).await.state, RolloutState::Paused { by: test.actor.name.clone() });
    test.hub.control_rollout(&test.actor, "web", RolloutAction::Resume).await.unwrap();
    wait_for_rollout(&test, "it awaits approval", |rollout| rollout.state == RolloutState::AwaitingApproval)
        .await;
    let fleet = test.hub.get_fleet(&Default::default()).await.unwrap().status;
    let line = &fleet.attention[0];
    assert_eq!((fleet.rollouts_waiting, line.workload_name.as_str(), line.count), (1, "web", 2));
    assert_eq!(line.message, "Wave 2 of 2 (rest) waits for approval.");
    test.hub.control_rollout(&test.actor, "web", RolloutAction::Approve).await.unwrap();
    wait_for_revision(&mut b, 2).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g511_a_publish_whose_waves_omit_a_cluster_is_rejected() {
    let test = TestHub::open().await;
    let _a = test.register_cluster("a", &[]).await;
    let _b = test.register_cluster("b", &[]).await;
    test.create_draft("web", everywhere()).await;
    edit_draft(&test, wave_strategy(json!([{ "name": "canary", "target": { "clusters": ["a"] } }])), "green")
        .await;
    let rejected =
        test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await.unwrap_err();
    let hub::Error::Invalid(findings) = rejected else { panic!("{rejected}") };
    let matching: Vec<_> = findings.iter().filter(|finding| finding.code == "G511").collect();
    assert_eq!((matching.len(), matching[0].clusters.as_slice()), (1, &["b".to_owned()][..]));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_joins_during_a_rollout_waits_for_its_wave_and_one_that_joins_later_does_not() {
    let test = TestHub::open().await;
    let mut a = test.register_cluster("a", &[]).await;
    let mut placement = everywhere();
    placement.new_members = domain::placement::NewMembers::Auto;
    test.create_draft("web", placement).await;
    edit_draft(
        &test,
        wave_strategy(json!([{ "name": "canary", "maxClusters": 1, "soak": "1h" }, { "name": "rest" }])),
        "green",
    )
    .await;
    // With one cluster the second wave would be empty, and the publish would be rejected.
    let mut b = test.register_cluster("b", &[]).await;
    test.publish("web").await;
    let desired = wait_for_revision(&mut a, 1).await;
    let mut c = test.register_cluster("c", &[]).await;
    wait_for_rollout(&test, "b and c wait", |rollout| rollout.waves[1].gated == 2).await;
    a.report_applied(&desired).await;
    wait_for_rollout(&test, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. }))
        .await;
    test.hub.control_rollout(&test.actor, "web", RolloutAction::Promote).await.unwrap();
    for agent in [&mut b, &mut c] {
        let desired = wait_for_revision(agent, 1).await;
        agent.report_applied(&desired).await;
    }
    wait_for_rollout(&test, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    let mut d = test.register_cluster("d", &[]).await;
    wait_for_revision(&mut d, 1).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_no_wave_is_counted_before_every_cluster_is_placed() {
    let test = TestHub::open().await;
    // More than the placer writes in one chunk, and the canary is last.
    for n in 0..230 {
        test.register_cluster(&format!("c-{n:03}"), &[]).await;
    }
    let mut canary = test.register_cluster("z", &[]).await;
    test.create_draft("web", everywhere()).await;
    let strategy =
        wave_strategy(json!([{ "name": "canary", "target": { "clusters": ["z"] } }, { "name": "rest" }]));
    edit_draft(&test, strategy, "green").await;
    test.publish("web").await;
    let desired = wait_for_revision(&mut canary, 1).await;
    let waiting = wait_for_rollout(&test, "all wait", |rollout| rollout.waves[1].gated == 230).await;
    assert_eq!((waiting.wave, waiting.waves[1].opened_at), (0, None));
    assert_eq!(release_state(&test, "web", "c-000").await, ReleaseState::Pending);
    canary.report_applied(&desired).await;
    wait_for_rollout(&test, "the rest goes", |rollout| rollout.wave == 1 && rollout.waves[1].gated == 0)
        .await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_without_changes_completes_all_waves_immediately() {
    let test = TestHub::open().await;
    let mut agents = publish_in_waves(&test, RolloutStrategy::default()).await;
    for agent in &mut agents {
        let desired = wait_for_revision(agent, 2).await;
        agent.report_applied(&desired).await;
    }
    // The same objects as before, now with waves.
    edit_draft(
        &test,
        wave_strategy(json!([{ "name": "canary", "maxClusters": 1 }, { "name": "rest" }])),
        "green",
    )
    .await;
    test.publish("web").await;
    wait_for_rollout(&test, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_cluster_no_longer_counts_in_its_wave() {
    let test = TestHub::open().await;
    let [mut a, _b, _c] = publish_in_waves(&test, wave_strategy(json!([{ "name": "all" }]))).await;
    let desired = wait_for_revision(&mut a, 2).await;
    a.report_applied(&desired).await;
    wait_for_rollout(&test, "two are left", |rollout| rollout.waves[0].operational == 1).await;
    for cluster in ["b", "c"] {
        test.hub.delete_cluster(&test.actor, cluster, true).await.unwrap();
    }
    wait_for_rollout(&test, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_published_on_save_does_not_restart_an_aborted_rollout() {
    let test = TestHub::open().await;
    let [mut a, _b, _c] = publish_in_waves(&test, canary_strategy()).await;
    wait_for_revision(&mut a, 2).await;
    test.hub.control_rollout(&test.actor, "web", RolloutAction::Abort).await.unwrap();
    let content = OverridePut {
        target: ClusterSelector { clusters: vec!["b".into()], ..ClusterSelector::default() },
        priority: 500,
        values: String::new(),
        patches: Vec::new(),
    };
    let change = OverrideChange::Save { name: "b".into(), content };
    let options = PublishOptions { content: PublishContent::Override(change), ..PublishOptions::default() };
    let rejected = test.hub.publish_workload(&test.actor, "web", "", options).await.unwrap_err();
    assert!(rejected.to_string().contains("The rollout of web revision 2 is aborted."), "{rejected}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_2_a_retry_of_a_rollout_reaches_only_the_clusters_that_fail_and_resumes_nothing() {
    let test = TestHub::open().await;
    let strategy = wave_strategy(json!([
        { "name": "canary", "target": { "clusters": ["a", "b"] } },
        { "name": "rest" },
    ]));
    let [mut a, mut b, _c] = publish_in_waves(&test, strategy).await;
    let desired = wait_for_revision(&mut b, 2).await;
    b.report_applied(&desired).await;
    let desired = wait_for_revision(&mut a, 2).await;
    let retry = async || test.hub.control_rollout(&test.actor, "web", RolloutAction::Retry).await;
    let why = retry().await.unwrap_err();
    assert!(why.to_string().contains("none of its clusters that report is failing"), "{why}");

    a.send_report(degraded_report(&desired)).await;
    wait_for_rollout(&test, "a fails", |rollout| rollout.waves[0].failing == 1).await;
    test.hub.control_rollout(&test.actor, "web", RolloutAction::Pause).await.unwrap();
    let retried = retry().await.unwrap();
    assert_eq!(retried.state, RolloutState::Paused { by: test.actor.name.clone() });
    let nonce = desired.sync_nonce;
    a.wait_for_desired_state(|state| state.releases[0].sync_nonce > nonce).await;
    let nonce_of =
        async |cluster: &str| test.hub.get_release("web", cluster).await.unwrap().release.sync_nonce();
    assert_eq!((nonce_of("a").await, nonce_of("b").await, nonce_of("c").await), (1, 0, 0));
    let operations = test.hub.list_operations("web", &ListQuery::default()).await.unwrap().items;
    let newest = &operations[0];
    assert!(
        newest.kind == OperationKind::Publish && newest.closed_at.is_none(),
        "the publish goes on: {newest:?}"
    );
    test.close().await;
}
