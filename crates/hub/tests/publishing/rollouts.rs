//! Publishes that go in waves (`product.md` F.4b).

use std::time::Duration;

use domain::OverrideId;
use domain::cluster::Reach;
use domain::health::{Health, HealthStatus};
use domain::overrides::{Override, Target};
use domain::release::State;
use domain::report::{Goal, ReleaseReport, Want};
use domain::rollout::{Rollout, RolloutState, RolloutStrategy, RolloutVerb};
use hub::Terms;
use serde_json::json;

use crate::house::{Agent, CONFIG, House, everywhere, obeyed, source};
use crate::state;

/// One cluster first, watched for two minutes, then the rest.
fn canary() -> RolloutStrategy {
    waves(json!([
        { "name": "canary", "target": { "clusters": ["a"] }, "soak": "2m" },
        { "name": "rest", "maxConcurrency": 1 },
    ]))
}

fn waves(waves: serde_json::Value) -> RolloutStrategy {
    serde_json::from_value(json!({ "waves": waves })).unwrap()
}

async fn with(house: &House, strategy: RolloutStrategy, colour: &str) {
    let view = house.hub.workload_view("web").await.unwrap();
    let mut spec = view.workload.draft;
    spec.rollout = strategy;
    spec.source = source(&CONFIG.replace("blue", colour));
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
}

async fn rollout(house: &House) -> Rollout {
    house.hub.rollout_view("web", None).await.unwrap().expect("a rollout")
}

async fn until(house: &House, what: &str, condition: impl Fn(&Rollout) -> bool) -> Rollout {
    for _ in 0..250 {
        let found = rollout(house).await;
        if condition(&found) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what}: {:#?} {:#?}", rollout(house).await, house.log().await);
}

async fn until_state(house: &House, cluster: &str, wanted: State) {
    for _ in 0..250 {
        if state(house, "web", cluster).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{cluster} is {:?} and not {wanted:?}", state(house, "web", cluster).await);
}

/// Three clusters with the first revision everywhere, and a second one published in these waves.
async fn published(house: &House, strategy: RolloutStrategy) -> [Agent; 3] {
    let mut agents =
        [house.cluster("a", &[]).await, house.cluster("b", &[]).await, house.cluster("c", &[]).await];
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    for agent in &mut agents {
        let want = agent.one().await;
        agent.obey(&want).await;
    }
    with(house, strategy, "green").await;
    house.publish("web").await;
    agents
}

fn brings(revision: u32) -> impl Fn(&domain::report::Wants) -> bool {
    move |wants| {
        wants
            .releases
            .iter()
            .any(|want| matches!(want.goal, Goal::Present { revision: n, .. } if n == revision))
    }
}

/// Waits until the cluster is told to run this revision.
async fn told(agent: &mut Agent, revision: u32) -> Want {
    agent.until(brings(revision)).await.releases.remove(0)
}

fn broken(want: &Want) -> ReleaseReport {
    let health = Health::new(HealthStatus::Degraded, "CrashLoop", "Deployment web: 0 of 1 pods are ready.");
    ReleaseReport { health, ..obeyed(want) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publish_in_waves_reaches_a_cluster_when_its_wave_opens_and_no_earlier() {
    let house = House::open().await;
    let [mut a, mut b, mut c] = published(&house, canary()).await;
    let want = told(&mut a, 2).await;
    let waiting = until(&house, "b and c wait", |rollout| rollout.waves[1].held == 2).await;
    assert_eq!((waiting.wave, &waiting.state), (0, &RolloutState::Running));
    assert_eq!(state(&house, "web", "b").await, State::Pending);
    let view = house.hub.release_view("web", "b").await.unwrap();
    assert_eq!(view.message, "Waits for its turn: wave 2 of 2 (rest).");
    assert_eq!((view.release.revision, view.release.released_revision), (Some(2), Some(1)));

    a.obey(&want).await;
    let soaking =
        until(&house, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. })).await;
    assert_eq!(soaking.waves[0].operational, 1);
    assert_eq!(state(&house, "web", "b").await, State::Pending);

    house.pass(121);
    // One at a time: c waits until b is operational.
    let want = told(&mut b, 2).await;
    assert_eq!(state(&house, "web", "c").await, State::Pending);
    b.obey(&want).await;
    let want = told(&mut c, 2).await;
    c.obey(&want).await;
    until(&house, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    let log = house.log().await;
    for said in [
        "web revision 2: Wave 1 of 2 (canary) is operational and is watched for 2 min.",
        "web revision 2: Wave 2 of 2 (rest) begins.",
        "web revision 2: the rollout is completed.",
    ] {
        assert!(log.iter().any(|message| message == said), "{said}: {log:#?}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_a_broken_canary_pauses_the_rollout_and_nobody_else_gets_the_revision() {
    let house = House::open().await;
    let [mut a, mut b, _c] = published(&house, canary()).await;
    let want = told(&mut a, 2).await;
    a.send(broken(&want)).await;
    until(&house, "it is broken", |rollout| rollout.waves[0].failing == 1).await;
    assert_eq!(rollout(&house).await.state, RolloutState::Running, "a minute is given");
    house.pass(61);
    let paused =
        until(&house, "it pauses", |rollout| matches!(rollout.state, RolloutState::AutoPaused { .. })).await;
    assert_eq!(
        paused.sentence(house.hub.clock().now()),
        "Paused by itself at wave 1 of 2 (canary): 1 of 1 cluster fails in canary, 0 may."
    );
    house.pass(3600);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(state(&house, "web", "b").await, State::Pending);

    // A repaired revision overtakes it, and begins with the canary again.
    with(&house, canary(), "red").await;
    house.publish("web").await;
    let old = house.hub.rollout_view("web", Some(2)).await.unwrap().unwrap();
    assert_eq!(old.state, RolloutState::Superseded);
    let want = told(&mut a, 3).await;
    a.obey(&want).await;
    until(&house, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. })).await;
    house.hub.rollout_steer(&house.actor, "web", RolloutVerb::Promote).await.unwrap();
    told(&mut b, 3).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e5_a_cluster_that_is_offline_holds_no_wave_up_and_catches_up_when_it_returns() {
    let house = House::open().await;
    let [mut a, mut b, mut c] = published(&house, canary()).await;
    let want = told(&mut a, 2).await;
    until(&house, "b and c wait", |rollout| rollout.waves[1].held == 2).await;
    a.obey(&want).await;
    until(&house, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. })).await;
    // b is silent for so long that it is offline; the others are heard from.
    house.pass(600);
    a.tell(Default::default()).await;
    c.tell(Default::default()).await;
    for _ in 0..250 {
        if house.hub.cluster_view("b").await.unwrap().cluster.reach == Reach::Offline {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let want = told(&mut c, 2).await;
    c.obey(&want).await;
    let over = until(&house, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    assert_eq!((over.waves[1].operational, over.waves[1].deferred), (1, 1));
    assert_eq!(state(&house, "web", "b").await, State::Unknown);
    let want = told(&mut b, 2).await;
    b.obey(&want).await;
    until_state(&house, "b", State::Healthy).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_rollout_leaves_the_others_what_they_have_until_the_next_publish() {
    let house = House::open().await;
    let [mut a, mut b, _c] = published(&house, canary()).await;
    told(&mut a, 2).await;
    until(&house, "b and c wait", |rollout| rollout.waves[1].held == 2).await;
    house.hub.rollout_steer(&house.actor, "web", RolloutVerb::Abort).await.unwrap();
    until_state(&house, "b", State::Suspended).await;
    until_state(&house, "c", State::Suspended).await;
    let view = house.hub.release_view("web", "b").await.unwrap();
    assert!(view.message.starts_with("The rollout of revision 2 was ended"), "{}", view.message);
    let refused = house.hub.rollout_steer(&house.actor, "web", RolloutVerb::Resume).await.unwrap_err();
    assert!(refused.to_string().contains("the rollout of revision 2 is aborted"), "{refused}");
    // Without waves it goes everywhere at once.
    with(&house, RolloutStrategy::default(), "green").await;
    house.publish("web").await;
    told(&mut b, 3).await;
    assert_eq!(house.hub.rollout_view("web", None).await.unwrap(), None);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_rollout_lets_nobody_through_until_it_is_resumed() {
    let house = House::open().await;
    let [mut a, mut b, _c] = published(
        &house,
        waves(json!([
            { "name": "canary", "target": { "clusters": ["a"] } },
            { "name": "rest", "approval": true },
        ])),
    )
    .await;
    let want = told(&mut a, 2).await;
    house.hub.rollout_steer(&house.actor, "web", RolloutVerb::Pause).await.unwrap();
    a.obey(&want).await;
    until_state(&house, "a", State::Healthy).await;
    assert_eq!(rollout(&house).await.state, RolloutState::Paused { by: house.actor.name.clone() });
    house.hub.rollout_steer(&house.actor, "web", RolloutVerb::Resume).await.unwrap();
    until(&house, "it asks", |rollout| rollout.state == RolloutState::AwaitingApproval).await;
    let fleet = house.hub.fleet(&Default::default()).await.unwrap();
    let line = &fleet.attention[0];
    assert_eq!((fleet.rollouts_waiting, line.workload_name.as_str(), line.count), (1, "web", 2));
    assert_eq!(line.message, "Wave 2 of 2 (rest) waits for somebody to approve it.");
    house.hub.rollout_steer(&house.actor, "web", RolloutVerb::Approve).await.unwrap();
    told(&mut b, 2).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g511_a_publish_whose_waves_leave_a_cluster_out_is_refused() {
    let house = House::open().await;
    let _a = house.cluster("a", &[]).await;
    let _b = house.cluster("b", &[]).await;
    house.draft("web", everywhere()).await;
    with(&house, waves(json!([{ "name": "canary", "target": { "clusters": ["a"] } }])), "green").await;
    let refused = house.hub.workload_publish(&house.actor, "web", "", Terms::default()).await.unwrap_err();
    let hub::Error::Invalid(findings) = refused else { panic!("{refused}") };
    let told: Vec<_> = findings.iter().filter(|finding| finding.code == "G511").collect();
    assert_eq!((told.len(), told[0].clusters.as_slice()), (1, &["b".to_owned()][..]));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_joins_during_a_rollout_waits_for_its_wave_and_after_it_gets_it_at_once() {
    let house = House::open().await;
    let mut a = house.cluster("a", &[]).await;
    let mut placement = everywhere();
    placement.new_members = domain::placement::NewMembers::Auto;
    house.draft("web", placement).await;
    with(&house, waves(json!([{ "name": "canary", "take": 1, "soak": "1h" }, { "name": "rest" }])), "green")
        .await;
    // The only cluster there is takes the first wave, so the second is empty: a publish of that is refused.
    let mut b = house.cluster("b", &[]).await;
    house.publish("web").await;
    let want = told(&mut a, 1).await;
    let mut c = house.cluster("c", &[]).await;
    until(&house, "b and c wait", |rollout| rollout.waves[1].held == 2).await;
    a.obey(&want).await;
    until(&house, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. })).await;
    house.hub.rollout_steer(&house.actor, "web", RolloutVerb::Promote).await.unwrap();
    for agent in [&mut b, &mut c] {
        let want = told(agent, 1).await;
        agent.obey(&want).await;
    }
    until(&house, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    let mut d = house.cluster("d", &[]).await;
    told(&mut d, 1).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_no_wave_is_counted_before_every_cluster_is_written() {
    let house = House::open().await;
    // More than the placer writes at once, and the canary comes last.
    for n in 0..230 {
        house.cluster(&format!("c-{n:03}"), &[]).await;
    }
    let mut canary = house.cluster("z", &[]).await;
    house.draft("web", everywhere()).await;
    let strategy = waves(json!([{ "name": "canary", "target": { "clusters": ["z"] } }, { "name": "rest" }]));
    with(&house, strategy, "green").await;
    house.publish("web").await;
    let want = told(&mut canary, 1).await;
    let waiting = until(&house, "all wait", |rollout| rollout.waves[1].held == 230).await;
    assert_eq!((waiting.wave, waiting.waves[1].opened_at), (0, None));
    assert_eq!(state(&house, "web", "c-000").await, State::Pending);
    canary.obey(&want).await;
    until(&house, "the rest goes", |rollout| rollout.wave == 1 && rollout.waves[1].held == 0).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_changes_nothing_goes_through_its_waves_at_once() {
    let house = House::open().await;
    let mut agents = published(&house, RolloutStrategy::default()).await;
    for agent in &mut agents {
        let want = told(agent, 2).await;
        agent.obey(&want).await;
    }
    // The same objects as before, and only now waves.
    with(&house, waves(json!([{ "name": "canary", "take": 1 }, { "name": "rest" }])), "green").await;
    house.publish("web").await;
    until(&house, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_leaves_takes_its_wave_along() {
    let house = House::open().await;
    let [mut a, _b, _c] = published(&house, waves(json!([{ "name": "all" }]))).await;
    let want = told(&mut a, 2).await;
    a.obey(&want).await;
    until(&house, "two are left", |rollout| rollout.waves[0].operational == 1).await;
    for cluster in ["b", "c"] {
        house.hub.cluster_delete(&house.actor, cluster, true).await.unwrap();
    }
    until(&house, "it is completed", |rollout| rollout.state == RolloutState::Completed).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_saved_at_once_does_not_begin_an_ended_rollout_anew() {
    let house = House::open().await;
    let [mut a, _b, _c] = published(&house, canary()).await;
    told(&mut a, 2).await;
    house.hub.rollout_steer(&house.actor, "web", RolloutVerb::Abort).await.unwrap();
    let change = Override {
        id: OverrideId::from_parts(1, 1),
        name: "b".into(),
        target: Target { clusters: vec!["b".into()], ..Target::default() },
        priority: 500,
        patches: Vec::new(),
    };
    let refused = house.hub.override_save(&house.actor, "web", change, true).await.unwrap_err();
    assert!(refused.to_string().contains("The rollout of web revision 2 is aborted."), "{refused}");
    house.close().await;
}
