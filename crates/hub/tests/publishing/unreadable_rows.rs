//! Stored rows that can't be read: nothing is removed because of them, and placing continues once they are repaired.

use std::error::Error as _;
use std::time::Duration;

use domain::placement::{ClusterGroup, Placement, Predicate};
use domain::report::{DesiredPhase, DesiredState};
use domain::request::RemovalOptions;
use domain::workload::WorkloadPhase;
use hub::Error;

use crate::targets::{relabel, wait_for_event};
use crate::test_hub::{CONFIG, TestAgent, TestHub, by_label, everywhere, source};

/// Publishes `web` on clusters with these names, which report it as applied.
async fn publish_everywhere(test: &TestHub, placement: Placement, names: &[&str]) -> Vec<TestAgent> {
    let mut agents = Vec::new();
    for name in names {
        agents.push(test.register_cluster(name, &[("env", "prod")]).await);
    }
    test.publish_new("web", placement).await;
    for agent in &mut agents {
        agent.apply_release().await;
    }
    agents
}

async fn assert_deployed_everywhere(test: &TestHub, agents: &[TestAgent]) {
    for agent in agents {
        let desired = test.hub.get_desired_state(agent.id, -1, Duration::ZERO).await.unwrap();
        assert!(matches!(desired.releases[0].phase, DesiredPhase::Present { .. }), "{desired:?}");
    }
}

/// Breaks a row, and expects that the placer reports it, removes nothing, and continues after the repair.
async fn break_and_repair(test: &TestHub, agents: &[TestAgent], row: &str, breaking: &str, repair: &str) {
    test.execute_sql(breaking).await;
    test.run_placer().await;
    wait_for_event(test, &format!("web can't be placed: row {row}")).await;
    assert_deployed_everywhere(test, agents).await;
    assert!(test.hub.get_placement_decision("web").await.unwrap().pending_removals.is_empty());
    test.execute_sql(repair).await;
    test.run_placer().await;
    wait_for_event(test, "web is placed again.").await;
    assert_deployed_everywhere(test, agents).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_whose_labels_are_unreadable_keeps_its_workloads() {
    let test = TestHub::open().await;
    let agents = publish_everywhere(&test, by_label("env=prod"), &["a", "b", "c"]).await;
    let row = format!("{} of cluster can't be read: labels: unexpected JSON", agents[1].id);
    let breaking = "UPDATE cluster SET labels = '{\"env' WHERE name = 'b'";
    let repair = "UPDATE cluster SET labels = '{\"env\":\"prod\"}' WHERE name = 'b'";
    break_and_repair(&test, &agents, &row, breaking, repair).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_with_a_connectivity_of_a_later_version_keeps_its_workloads() {
    let test = TestHub::open().await;
    let agents = publish_everywhere(&test, everywhere(), &["a", "b", "c"]).await;
    let row =
        format!("{} of cluster can't be read: connectivity: unknown variant `Hibernating`", agents[1].id);
    let set = |reach| {
        format!("UPDATE cluster_heartbeat SET connectivity = '{reach}' WHERE cluster_id = '{}'", agents[1].id)
    };
    break_and_repair(&test, &agents, &row, &set("Hibernating"), &set("Online")).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_group_removes_its_workloads_from_no_cluster() {
    let test = TestHub::open().await;
    let shops = ClusterGroup { name: "shops".into(), members: vec!["a".into()], ..ClusterGroup::default() };
    test.hub.save_group(&test.actor, shops, None).await.unwrap();
    let in_shops = Predicate { groups: vec!["shops".into()], ..Predicate::default() };
    let placement = Placement { predicates: vec![in_shops], ..Placement::default() };
    let agents = publish_everywhere(&test, placement, &["a"]).await;
    let row = "shops of cluster_group can't be read: members: unexpected JSON";
    let breaking = "UPDATE cluster_group SET members = 'x' WHERE name = 'shops'";
    let repair = "UPDATE cluster_group SET members = '[\"a\"]' WHERE name = 'shops'";
    break_and_repair(&test, &agents, row, breaking, repair).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_project_does_not_stop_a_workload_of_files() {
    let test = TestHub::open().await;
    let mut agents = publish_everywhere(&test, everywhere(), &["a"]).await;
    test.execute_sql("UPDATE project SET resource_version = 'x'").await;
    assert!(test.hub.get_project().await.is_err(), "its locks are unknown");
    let changed = CONFIG.replace("blue", "green");
    test.edit_draft("web", |spec| spec.source = source(&changed)).await;
    assert_eq!(test.publish("web").await, 2);
    let desired = agents[0].wait_for_release().await;
    assert!(matches!(desired.phase, DesiredPhase::Present { revision: 2, .. }), "{desired:?}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_published_revision_removes_the_workload_from_no_cluster() {
    let test = TestHub::open().await;
    let agents = publish_everywhere(&test, everywhere(), &["a", "b"]).await;
    let workload = test.hub.get_workload("web").await.unwrap().workload.id;
    let row = format!("{workload}/1 of revision is missing");
    let (breaking, repair) = ("UPDATE revision SET number = 9", "UPDATE revision SET number = 1");
    break_and_repair(&test, &agents, &row, breaking, repair).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_workload_does_not_stop_the_placement_of_others() {
    let test = TestHub::open().await;
    let mut agents = publish_everywhere(&test, by_label("env=prod"), &["a"]).await;
    let workload = test.hub.get_workload("web").await.unwrap().workload.id;
    test.execute_sql("UPDATE workload SET intent = 'archived'").await;
    test.publish_new("api", everywhere()).await;
    agents[0].wait_for_desired_state(|desired| desired.releases.len() == 2).await;
    relabel(&test, "a", Some("dev")).await;
    test.run_placer().await;
    // Not marked by the group, which only published workloads are.
    test.execute_sql("UPDATE placer_queue SET due_at = 0").await;
    test.run_placer().await;
    let row = format!("web can't be placed: row {workload} of workload can't be read: intent");
    wait_for_event(&test, &row).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_with_an_unreadable_release_is_not_deleted_and_stays_in_the_desired_state() {
    let test = TestHub::open().await;
    let mut agents = publish_everywhere(&test, everywhere(), &["east", "west"]).await;
    test.hub.delete_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    let absent = |desired: &DesiredState| matches!(desired.releases[0].phase, DesiredPhase::Absent { .. });
    let on_east = agents[0].wait_for_desired_state(absent).await.releases.remove(0);
    let on_west = agents[1].wait_for_desired_state(absent).await.releases.remove(0);
    let of_west = format!("WHERE id = '{}'", on_west.release);
    test.execute_sql(&format!("UPDATE release SET goal = 'x' || goal {of_west}")).await;

    agents[0].report_applied(&on_east).await;
    test.run_placer().await;
    let row = format!("row {} of release can't be read: goal: unexpected JSON", on_west.release);
    wait_for_event(&test, &format!("web can't be placed: {row}")).await;
    assert_eq!(test.hub.get_workload("web").await.unwrap().phase, WorkloadPhase::Deleting);
    let error = test.hub.get_desired_state(agents[1].id, -1, Duration::ZERO).await.unwrap_err();
    assert!(error.source().unwrap().to_string().contains(&row), "an error, not a shorter list: {error:?}");

    test.execute_sql(&format!("UPDATE release SET goal = substr(goal, 2) {of_west}")).await;
    agents[1].report_applied(&on_west).await;
    test.run_placer().await;
    crate::test_hub::wait_until("the workload is deleted", async || {
        matches!(test.hub.get_workload("web").await, Err(Error::NotFound { .. }))
    })
    .await;
    test.close().await;
}
