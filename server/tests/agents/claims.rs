//! Facts that an agent claims select nothing for its cluster before a user confirms them.

use domain::cluster::{ClusterSummary, ConfirmedFacts};
use domain::event::{Event, EventKind};
use domain::join::{ClusterConditionType, NewJoinToken};
use domain::placement::{NewMembers, Placement, Predicate};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::PublishOptions;
use serde_json::{Value, json};

use crate::raw_agent::RawAgent;
use crate::test_server::{MemberCluster, TestServer, wait_until};

const REGION: &str = "eu-central-1";
const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: default}\nstringData: {password: hunter2}\n";

/// Publishes a Secret to every cluster of the region.
async fn publish_by_region(server: &TestServer, new_members: NewMembers) {
    let file = SourceFile { name: "app.yaml".to_owned(), text: SECRET.to_owned() };
    let in_region =
        Predicate { field_selector: format!("region={REGION}").parse().unwrap(), ..Predicate::default() };
    let placement = Placement { predicates: vec![in_region], new_members, ..Placement::default() };
    let spec = WorkloadSpec {
        namespace: "default".to_owned(),
        source: Source::Yaml { files: vec![file] },
        placement,
        ..WorkloadSpec::default()
    };
    let new = NewWorkload { name: "web".to_owned(), spec, ..NewWorkload::default() };
    server.hub.create_workload(&server.actor, new).await.unwrap();
    server.hub.publish_workload(&server.actor, "web", "", PublishOptions::default()).await.unwrap();
}

/// Reports facts as a new session.
async fn report_facts(agent: &RawAgent, facts: Value) {
    let incarnation = agent.start_session().await;
    let batch = json!({"incarnation": incarnation, "seq": 1, "facts": facts, "releases": []});
    assert_eq!(agent.post("reports", &batch).await["accepted"], true);
}

fn facts_in(region: &str) -> Value {
    json!({"kubernetesVersion": "v1.33.4", "region": region, "provider": "aws"})
}

/// A cluster that a user has labelled as one of the region: a publish needs at least one.
async fn join_in_region(server: &TestServer) {
    let token = server.create_auto_accept_token().await;
    RawAgent::join(server, "first", &token).await;
    label_region(server, "first").await;
}

/// A user labels the cluster as one of the region.
async fn label_region(server: &TestServer, cluster: &str) {
    let labels = [("region".to_owned(), Some(REGION.to_owned()))].into();
    let edit = domain::request::ClusterPatch { labels, ..Default::default() };
    server.hub.edit_cluster(&server.actor, cluster, edit, None).await.unwrap();
}

async fn has_release(server: &TestServer, cluster: &str) -> bool {
    let page = server.hub.list_cluster_releases(cluster, &domain::page::ListQuery::default()).await.unwrap();
    !page.items.is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_2_a_claimed_region_places_nothing_where_new_members_are_accepted_automatically() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let thief = RawAgent::join(&server, "thief", &token).await;
    let honest = RawAgent::join(&server, "honest", &token).await;
    join_in_region(&server).await;
    publish_by_region(&server, NewMembers::Auto).await;
    report_facts(&thief, facts_in(REGION)).await;
    // The decision that selects the labelled cluster has read the claim.
    label_region(&server, "honest").await;
    honest.wait_for_release().await;
    assert!(!has_release(&server, "thief").await, "the claim alone selected the cluster");
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_2_a_region_claimed_before_a_publish_places_nothing() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let thief = RawAgent::join(&server, "thief", &token).await;
    let honest = RawAgent::join(&server, "honest", &token).await;
    label_region(&server, "honest").await;
    report_facts(&thief, facts_in(REGION)).await;
    publish_by_region(&server, NewMembers::Manual).await;
    honest.wait_for_release().await;
    assert!(!has_release(&server, "thief").await, "the claim alone selected the cluster");
}

/// The messages of the events about facts.
async fn fact_events(server: &TestServer, kind: EventKind) -> Vec<String> {
    let events = server.hub.list_events_after(0, 500).await.unwrap();
    let of_kind = |event: &Event| event.kind == kind;
    events.into_iter().filter(of_kind).map(|event| event.message).collect()
}

fn reported(summary: &ClusterSummary) -> ConfirmedFacts {
    ConfirmedFacts::from_reported(&summary.cluster.facts)
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_2_a_changed_region_is_shown_and_places_once_a_user_confirms_it() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let agent = RawAgent::join(&server, "moved", &token).await;
    join_in_region(&server).await;
    publish_by_region(&server, NewMembers::Auto).await;
    report_facts(&agent, facts_in("eu-west-1")).await;
    let first = server.hub.get_cluster("moved").await.unwrap();
    let confirm = async |facts| server.hub.confirm_cluster_facts(&server.actor, "moved", facts, None).await;
    confirm(reported(&first)).await.unwrap();
    assert_eq!(server.hub.get_cluster("moved").await.unwrap().pending_facts, []);

    report_facts(&agent, facts_in(REGION)).await;
    let changed = server.hub.get_cluster("moved").await.unwrap();
    let pending: Vec<String> = changed.pending_facts.iter().map(ToString::to_string).collect();
    assert_eq!(pending, ["region eu-central-1 (confirmed: eu-west-1)"]);
    assert_eq!(changed.cluster.confirmed_facts.region, "eu-west-1");
    let is_facts = |kind: &ClusterConditionType| *kind == ClusterConditionType::FactsConfirmed;
    let condition = changed.conditions.iter().find(|one| is_facts(&one.kind)).unwrap();
    assert!(!condition.is_true() && condition.hint.contains("confirm-facts moved"), "{condition:?}");
    let shown = fact_events(&server, EventKind::ClusterFacts).await;
    assert!(
        shown.iter().any(|text| text.contains("reports region eu-central-1 (confirmed: eu-west-1)")),
        "{shown:?}"
    );

    // Facts that the cluster does not report, such as those that a page showed before, are not confirmed.
    let stale = confirm(reported(&first)).await.unwrap_err().to_string();
    assert!(stale.contains("eu-central-1"), "{stale}");
    assert!(!has_release(&server, "moved").await);

    confirm(reported(&changed)).await.unwrap();
    agent.wait_for_release().await;
    let confirmed = fact_events(&server, EventKind::ClusterEdited).await;
    assert!(
        confirmed.iter().any(|text| text.contains("region eu-central-1, before eu-west-1")),
        "{confirmed:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_2_an_upgrade_needs_no_attention_and_selects_nothing_before_it_is_confirmed() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let agent = RawAgent::join(&server, "eu", &token).await;
    report_facts(&agent, facts_in("eu-west-1")).await;
    let first = server.hub.get_cluster("eu").await.unwrap();
    server.hub.confirm_cluster_facts(&server.actor, "eu", reported(&first), None).await.unwrap();
    let mut upgraded = facts_in("eu-west-1");
    upgraded["kubernetesVersion"] = json!("v1.34.0");
    report_facts(&agent, upgraded).await;
    let view = server.hub.get_cluster("eu").await.unwrap();
    assert!(view.pending_facts.iter().all(|one| one.routine) && view.pending_facts.len() == 1, "{view:?}");
    assert!(
        view.conditions.iter().all(|one| one.is_true() || one.kind != ClusterConditionType::FactsConfirmed)
    );
    assert_eq!(view.cluster.confirmed_facts.kubernetes_version, "v1.33.4");
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_16_a_user_who_accepts_an_agent_confirms_the_facts_of_its_registration() {
    let server = TestServer::open().await;
    let token = server.create_join_token(NewJoinToken::default()).await;
    let member = MemberCluster::in_region("eu", REGION);
    member.start(Some(server.join_config("eu", &token)));
    let registered = async || server.hub.list_registrations().await.unwrap().pop();
    wait_until("the agent has registered", async || registered().await.is_some()).await;
    let facts = registered().await.unwrap().facts;
    assert_eq!((facts.region.as_str(), facts.is_reported()), (REGION, true));
    join_in_region(&server).await;
    publish_by_region(&server, NewMembers::Auto).await;
    server.hub.accept_cluster(&server.actor, "eu", None).await.unwrap();
    server.wait_for_condition("eu", "AgentConnected").await;
    wait_until("the cluster is selected by its region", async || has_release(&server, "eu").await).await;
    wait_until("the cluster reports what was confirmed", async || {
        let view = server.hub.get_cluster("eu").await.unwrap();
        view.cluster.facts.is_reported() && view.pending_facts.is_empty()
    })
    .await;
}
