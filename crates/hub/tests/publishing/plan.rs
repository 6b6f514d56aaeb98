//! Plans: what a publish would do, asked of the agents, and a publish bound to what was seen (E-2, E-6).

use std::time::Duration;

use domain::object::ObjectRef;
use domain::placement::Placement;
use domain::plan::{Effect, ObjectEffect, Outcome, Plan, TargetChange, TargetState};
use domain::report::Goal;
use domain::workload::WorkloadSpec;
use domain::{Digest, Finding};
use hub::{Error, Terms, WorkloadEdit};

use crate::house::{Agent, House, everywhere, labelled, source};

const WAIT: Duration = Duration::from_secs(10);

fn object() -> ObjectRef {
    ObjectRef {
        version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: "shop".into(),
        name: "web".into(),
        ..ObjectRef::default()
    }
}

fn effect(outcome: Outcome) -> Effect {
    Effect::of(vec![ObjectEffect::tried(object(), outcome)])
}

async fn plan(house: &House) -> Plan {
    house.hub.plan_make(&house.actor, "web").await.unwrap()
}

/// Answers the next question that is asked of this agent; says what it was about.
async fn answer(agent: &mut Agent, outcome: Outcome) -> Goal {
    let asks = agent.until(|wants| !wants.asks.is_empty()).await.asks;
    let ask = &asks[0];
    if let Goal::Present { bundle, .. } = &ask.goal {
        let bytes = agent.hub().planned_bundle(agent.id, ask.plan, bundle).await.unwrap();
        assert_eq!(Digest::of(&bytes), *bundle);
    }
    agent.hub().plan_answer(agent.id, ask.plan, effect(outcome)).await.unwrap();
    ask.goal.clone()
}

async fn settled(house: &House, plan: &Plan) -> Plan {
    let plan = house.hub.plan_wait(plan.id, WAIT).await.unwrap();
    assert!(plan.is_complete(), "{plan:#?}");
    plan
}

async fn edit(house: &House, change: impl FnOnce(&mut WorkloadSpec)) {
    let mut spec = house.hub.workload_view("web").await.unwrap().workload.draft;
    change(&mut spec);
    let edit = WorkloadEdit { spec: Some(spec), labels: None };
    house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
}

async fn publish(house: &House, terms: Terms) -> Result<u32, Error> {
    house.hub.workload_publish(&house.actor, "web", "", terms).await.map(|published| published.revision)
}

fn of(plan: &Plan) -> Terms {
    Terms { plan: Some(plan.hash.clone()), ..Terms::default() }
}

fn is_stale(result: Result<u32, Error>) -> bool {
    matches!(result, Err(Error::PlanStale(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_plan_asks_every_agent_and_groups_what_is_the_same() {
    let house = House::open().await;
    let (mut east, mut west) = (house.cluster("east", &[]).await, house.cluster("west", &[]).await);
    house.draft("web", everywhere()).await;
    let made = plan(&house).await;
    assert_eq!(made.heard(), (0, 0, 2));
    answer(&mut east, Outcome::Create).await;
    answer(&mut west, Outcome::Create).await;
    let done = settled(&house, &made).await;
    assert_eq!(done.heard(), (2, 0, 0));
    let groups = done.groups();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].clusters, ["east", "west"]);
    assert_eq!(groups[0].tally.create, 1);
    assert_eq!(publish(&house, of(&done)).await.unwrap(), 1);
    east.one().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g404_what_one_cluster_refuses_is_a_finding_and_holds_the_publish_of_that_plan() {
    let house = House::open().await;
    let (mut east, mut west) = (house.cluster("east", &[]).await, house.cluster("west", &[]).await);
    house.draft("web", everywhere()).await;
    let made = plan(&house).await;
    let finding = Finding::error("G404", "ConfigMap shop/web: no such luck.", "Ask again.");
    answer(&mut east, Outcome::Create).await;
    answer(&mut west, Outcome::Refused { finding }).await;
    let done = settled(&house, &made).await;
    let found = done.findings.iter().find(|finding| finding.code == "G404").unwrap();
    assert_eq!(found.clusters, ["west"]);
    assert_eq!(done.groups()[0].clusters, ["west"], "what is refused comes first");
    assert!(matches!(publish(&house, of(&done)).await, Err(Error::Invalid(_))));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_cluster_that_is_offline_is_told_as_such_and_holds_nobody_up() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    let west = house.hub.cluster_register(
        &house.actor,
        hub::NewCluster::new("west", domain::cluster::ClusterKind::Simulated),
    );
    west.await.unwrap();
    house.draft("web", everywhere()).await;
    let made = plan(&house).await;
    answer(&mut east, Outcome::Create).await;
    let done = settled(&house, &made).await;
    let west = done.targets.iter().find(|target| target.name == "west").unwrap();
    assert!(matches!(&west.state, TargetState::NotAsked { why } if why.contains("offline")), "{west:?}");
    let expected = &done.effects[west.effect.as_ref().unwrap()];
    assert_eq!(expected.tally().create, 1, "what is expected there is told all the same");
    assert_eq!(expected.tally().untried, 1);
    assert_eq!(publish(&house, of(&done)).await.unwrap(), 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_an_agent_that_says_nothing_is_given_up_after_a_while() {
    let house = House::open().await;
    let _east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    let made = plan(&house).await;
    house.pass(21);
    let later = house.hub.plan(made.id).await.unwrap();
    assert!(matches!(&later.targets[0].state, TargetState::NotAsked { why } if why.contains("20 s")));
    assert!(later.is_complete());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_plan_is_stale_once_the_draft_the_targets_or_what_runs_there_changed() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    let first = plan(&house).await;
    answer(&mut east, Outcome::Create).await;
    settled(&house, &first).await;
    edit(&house, |spec| spec.source = source("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"))
        .await;
    assert!(is_stale(publish(&house, of(&first)).await), "the draft changed");
    let second = plan(&house).await;
    let _west = house.cluster("west", &[]).await;
    assert!(is_stale(publish(&house, of(&second)).await), "a cluster joined that it goes to as well");
    let third = plan(&house).await;
    assert_eq!(
        publish(&house, Terms::default()).await.unwrap(),
        1,
        "without a plan it is the person's own risk"
    );
    east.one().await;
    assert!(is_stale(publish(&house, of(&third)).await), "something else runs there now");
    let unknown = Terms { plan: Some(Digest::of(b"?")), ..Terms::default() };
    assert!(is_stale(publish(&house, unknown).await));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_plan_is_over_after_an_hour() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    let made = plan(&house).await;
    answer(&mut east, Outcome::Create).await;
    let done = settled(&house, &made).await;
    house.pass(3_601);
    assert!(matches!(house.hub.plan(done.id).await, Err(Error::NotFound { .. })));
    assert!(is_stale(publish(&house, of(&done)).await));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_question_is_answered_once_and_only_by_the_cluster_that_is_asked() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[("env", "prod")]).await;
    let west = house.cluster("west", &[]).await;
    house.draft("web", labelled("env=prod")).await;
    let made = plan(&house).await;
    let bundle = made.targets[0].bundle.clone().unwrap();
    assert!(house.hub.planned_bundle(west.id, made.id, &bundle).await.is_err());
    assert!(house.hub.plan_answer(west.id, made.id, effect(Outcome::Delete)).await.is_err());
    answer(&mut east, Outcome::Create).await;
    assert!(house.hub.plan_answer(east.id, made.id, effect(Outcome::Delete)).await.is_err());
    let done = settled(&house, &made).await;
    assert_eq!(done.groups()[0].tally.create, 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g505_taking_it_from_more_than_a_fifth_of_the_clusters_needs_the_number() {
    let house = House::open().await;
    let mut agents = Vec::new();
    for name in ["a", "b", "c"] {
        agents.push(house.cluster(name, &[("keep", if name == "a" { "yes" } else { "no" })]).await);
    }
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    for agent in &mut agents {
        let want = agent.one().await;
        agent.obey(&want).await;
    }
    edit(&house, |spec| spec.placement = labelled("keep=yes")).await;
    let made = plan(&house).await;
    assert_eq!(made.blast_radius.losing, ["b", "c"]);
    for agent in &mut agents[1..] {
        let goal = answer(agent, Outcome::Delete).await;
        assert!(matches!(goal, Goal::Absent { .. }));
    }
    answer(&mut agents[0], Outcome::Unchanged).await;
    let done = settled(&house, &made).await;
    let lose = done.groups().into_iter().find(|group| group.change == TargetChange::Lose).unwrap();
    assert_eq!((lose.clusters.len(), lose.tally.delete), (2, 1));
    let refused = publish(&house, of(&done)).await.unwrap_err();
    assert_eq!(refused.findings()[0].code, "G505");
    assert!(refused.to_string().contains("Type 2"), "{refused}");
    let wrong = Terms { confirm: Some(3), ..of(&done) };
    assert!(matches!(publish(&house, wrong).await, Err(Error::Unconfirmed(_))));
    let right = Terms { confirm: Some(2), ..of(&done) };
    assert_eq!(publish(&house, right).await.unwrap(), 2);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g501_a_draft_that_is_refused_is_planned_without_asking_anybody() {
    let house = House::open().await;
    let _east = house.cluster("east", &[]).await;
    house.draft("web", Placement::default()).await;
    let made = plan(&house).await;
    assert!(made.blocks());
    assert!(made.targets.is_empty());
    house.close().await;
}
