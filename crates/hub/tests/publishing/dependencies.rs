//! Workloads that depend on others (`dependsOn`).

use domain::cluster::ClusterFacts;
use domain::dependency::WorkloadDependency;
use domain::health::{Health, HealthStatus};
use domain::placement::Placement;
use domain::release::{ReleaseState, StageName};
use domain::report::{DesiredPhase, DesiredRelease, DesiredState, ReleaseReport};
use domain::request::RemovalOptions;
use domain::workload::Intent;
use hub::{Error, PublishOptions, WorkloadEdit};
use serde_json::json;

use crate::release_state;
use crate::rollouts::wave_strategy;
use crate::test_hub::{
    CONFIG, TestAgent, TestHub, applied_report, by_label, everywhere, source, wait_for, wait_until,
};

/// Creates a draft of `name` that depends on these workloads.
async fn create_dependent(test: &TestHub, name: &str, placement: Placement, dependencies: &[&str]) {
    test.create_draft(name, placement).await;
    let depends_on: Vec<WorkloadDependency> =
        dependencies.iter().copied().map(WorkloadDependency::new).collect();
    test.edit_draft(name, |spec| {
        spec.source = source(&CONFIG.replace("settings", name));
        spec.depends_on = depends_on;
    })
    .await;
}

/// Waits until the cluster is to run this revision of the workload.
async fn wait_for_revision(agent: &mut TestAgent, workload: &str, number: u32) -> DesiredRelease {
    let is_delivered = |one: &&DesiredRelease| {
        one.workload == workload
            && matches!(one.phase, DesiredPhase::Present { revision, .. } if revision == number)
    };
    let state =
        agent.wait_for_desired_state(|state| state.releases.iter().any(|one| is_delivered(&one))).await;
    state.releases.iter().find(is_delivered).unwrap().clone()
}

/// Waits until `web` waits on this cluster with a message that ends like this.
async fn wait_for_message(test: &TestHub, cluster: &str, end: &str) {
    let view = wait_for(&format!("web waits on {cluster}: {end}"), async || {
        let view = test.hub.get_release("web", cluster).await.ok()?;
        view.message.ends_with(end).then_some(view)
    })
    .await;
    let stage = view.release.stages().get(StageName::Released);
    assert_eq!(stage.state.as_str(), "waiting");
    assert_eq!(stage.state.reason().unwrap().reason.as_str(), "WaitingForDependency");
    assert!(stage.started_at.is_some(), "since when");
    assert_eq!(view.state, ReleaseState::Pending);
}

fn degraded(desired: &DesiredRelease) -> ReleaseReport {
    let health = Health::new(HealthStatus::Degraded, "ImagePullFailed", "An image can't be pulled.");
    ReleaseReport { health, ..applied_report(desired) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_waits_on_each_cluster_until_the_one_it_depends_on_is_operational_there() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let mut west = test.register_cluster("west", &[]).await;
    create_dependent(&test, "web", everywhere(), &["db"]).await;
    test.publish("web").await;
    wait_for_message(&test, "east", "Waits for db on east: there is no readable workload of this name.")
        .await;
    create_dependent(&test, "db", everywhere(), &[]).await;
    test.publish("db").await;
    let db = wait_for_revision(&mut east, "db", 1).await;
    assert!(east.send_report(degraded(&db)).await.accepted);
    wait_for_message(&test, "east", "Waits for db on east: An image can't be pulled.").await;
    east.report_applied(&db).await;
    let web = wait_for_revision(&mut east, "web", 1).await;
    east.report_applied(&web).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);
    assert_eq!(release_state(&test, "web", "west").await, ReleaseState::Pending, "each cluster by itself");

    // What runs is not stopped; the next revision waits.
    assert!(east.send_report(degraded(&db)).await.accepted);
    test.edit_draft("web", |spec| spec.source = source(&CONFIG.replace("blue", "red"))).await;
    test.publish("web").await;
    wait_for_message(&test, "east", "Waits for db on east: An image can't be pulled.").await;
    let released = test.hub.get_release("web", "east").await.unwrap().release;
    assert_eq!((released.revision(), released.released_revision()), (Some(2), Some(1)));
    east.report_applied(&db).await;
    wait_for_revision(&mut east, "web", 2).await;
    let db = wait_for_revision(&mut west, "db", 1).await;
    west.report_applied(&db).await;
    wait_for_revision(&mut west, "web", 2).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wave_does_not_admit_a_cluster_that_waits_for_another_workload() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    create_dependent(&test, "db", everywhere(), &[]).await;
    test.publish("db").await;
    let db = wait_for_revision(&mut east, "db", 1).await;
    create_dependent(&test, "web", everywhere(), &["db"]).await;
    test.edit_draft("web", |spec| spec.rollout = wave_strategy(json!([{ "name": "all" }]))).await;
    test.publish("web").await;
    wait_until("web waits", async || {
        let view = test.hub.get_release("web", "east").await;
        view.is_ok_and(|view| view.release.is_awaiting_dependency())
    })
    .await;
    test.run_rollout_loop().await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Pending);
    east.report_applied(&db).await;
    wait_for_revision(&mut east, "web", 1).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_that_waits_for_one_that_is_gone_is_delivered_without_the_dependency_and_can_be_deleted() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    for name in ["web", "site"] {
        create_dependent(&test, name, everywhere(), &["db"]).await;
        test.publish(name).await;
    }
    wait_for_message(&test, "east", "Waits for db on east: there is no readable workload of this name.")
        .await;
    wait_until("the site waits", async || {
        let view = test.hub.get_release("site", "east").await;
        view.is_ok_and(|view| view.release.is_awaiting_dependency())
    })
    .await;
    test.edit_draft("web", |spec| spec.depends_on.clear()).await;
    test.publish("web").await;
    let web = wait_for_revision(&mut east, "web", 2).await;
    east.report_applied(&web).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);
    Box::pin(test.hub.delete_workload(&test.actor, "site", RemovalOptions::default())).await.unwrap();
    wait_until("the site is deleted", async || {
        matches!(test.hub.get_workload("site").await, Err(Error::NotFound { .. }))
    })
    .await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g312_of_two_edits_that_would_close_a_cycle_only_one_is_stored() {
    let test = TestHub::open().await;
    for name in ["web", "db"] {
        test.create_draft(name, everywhere()).await;
    }
    let edit = async |name: &str, dependency: &str| {
        let mut spec = test.hub.get_workload(name).await.unwrap().workload.draft;
        spec.depends_on = vec![WorkloadDependency::new(dependency)];
        let edit = WorkloadEdit { spec: Some(spec), ..WorkloadEdit::default() };
        test.hub.edit_workload(&test.actor, name, edit, None).await
    };
    let (web, db) = tokio::join!(edit("web", "db"), edit("db", "web"));
    let refused = match (web, db) {
        (Ok(_), Err(refused)) | (Err(refused), Ok(_)) => refused,
        other => panic!("{other:?}"),
    };
    let Error::Invalid(findings) = refused else { panic!("{refused:?}") };
    assert_eq!(findings[0].code, "G312");
    let message = &findings[0].message;
    assert!(message.contains("web → db → web") || message.contains("db → web → db"), "{message}");
    let itself = edit("web", "web").await;
    assert!(matches!(itself, Err(Error::Invalid(findings)) if findings[0].message.contains("on itself")));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g313_a_workload_that_others_depend_on_leaves_their_clusters_only_after_a_confirmation() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("region", "eu")]).await;
    let mut west = test.register_cluster("west", &[("region", "us")]).await;
    create_dependent(&test, "db", everywhere(), &[]).await;
    create_dependent(&test, "web", everywhere(), &["db"]).await;
    create_dependent(&test, "api", everywhere(), &["db"]).await;
    test.publish("db").await;
    test.publish("web").await;
    test.publish("api").await;
    for agent in [&mut east, &mut west] {
        let db = wait_for_revision(agent, "db", 1).await;
        agent.report_applied(&db).await;
        // Both may come with one desired state.
        let has = |state: &DesiredState, name: &str| state.releases.iter().any(|one| one.workload == name);
        agent.wait_for_desired_state(|state| has(state, "web") && has(state, "api")).await;
    }
    test.edit_draft("db", |spec| spec.placement = by_label("region=eu")).await;
    let shrink = async |force: &[&str]| {
        let force = force.iter().map(|code| (*code).to_owned()).collect();
        let options = PublishOptions { force, confirmed_removals: Some(1), ..PublishOptions::default() };
        test.hub.publish_workload(&test.actor, "db", "", options).await
    };
    let Err(Error::PlanRejected { findings, .. }) = shrink(&[]).await else { panic!("it was published") };
    assert_eq!((findings[0].code.as_str(), &*findings[0].clusters), ("G313", &["west".to_owned()][..]));
    assert!(findings[0].message.starts_with("api, web depend on db on these clusters."), "{:?}", findings[0]);
    assert_eq!(shrink(&["G313"]).await.unwrap().revision, 2);

    let unpublish = async |ignore_dependents: bool| {
        let options = RemovalOptions { ignore_dependents, ..RemovalOptions::default() };
        test.hub.unpublish_workload(&test.actor, "db", options).await
    };
    let Err(Error::ConfirmationRequired(finding)) = unpublish(false).await else { panic!("it was removed") };
    assert_eq!(finding.code, "G313");
    assert_eq!(test.hub.get_workload("db").await.unwrap().workload.intent, Intent::Published);
    unpublish(true).await.unwrap();
    assert_eq!(test.hub.get_workload("db").await.unwrap().workload.intent, Intent::Unpublished);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g312_a_check_names_the_clusters_without_the_dependency() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[("region", "eu")]).await;
    test.register_cluster("west", &[("region", "us")]).await;
    create_dependent(&test, "db", by_label("region=eu"), &[]).await;
    test.publish("db").await;
    wait_until("db is placed", async || test.hub.get_release("db", "east").await.is_ok()).await;
    create_dependent(&test, "web", everywhere(), &["db", "cache"]).await;
    let spec = test.hub.get_workload("web").await.unwrap().workload.draft;
    let checked = test.hub.check_workload(&test.actor, "web", &spec).await.unwrap();
    let mut found: Vec<(&str, &[String], bool)> = checked
        .findings
        .iter()
        .filter(|finding| finding.code == "G312")
        .map(|finding| (finding.path.as_str(), &finding.clusters[..], finding.is_blocking()))
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("/dependsOn/0/workload", &["west".to_owned()][..], false),
            ("/dependsOn/1/workload", &[] as &[String], false)
        ]
    );
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g313_of_dependents_only_the_releases_on_the_lost_clusters_are_read() {
    let mut test = TestHub::open().await;
    let mut agents = Vec::new();
    for (name, region) in [("east", "eu"), ("north", "eu"), ("west", "us")] {
        agents.push(test.register_cluster(name, &[("region", region)]).await);
    }
    create_dependent(&test, "db", everywhere(), &[]).await;
    create_dependent(&test, "web", everywhere(), &["db"]).await;
    create_dependent(&test, "api", by_label("region=eu"), &["db"]).await;
    for name in ["db", "web", "api"] {
        test.publish(name).await;
    }
    for agent in &mut agents {
        let db = wait_for_revision(agent, "db", 1).await;
        agent.report_applied(&db).await;
        wait_for_revision(agent, "web", 1).await;
    }
    test.stop_loops().await;
    // A release of a dependent that can't be read is no reason to refuse a change of other clusters.
    let breaking = "UPDATE release SET goal = 'x' WHERE cluster_name = 'north' AND workload_name <> 'db'";
    test.execute_sql(breaking).await;
    test.edit_draft("db", |spec| spec.placement = by_label("region=eu")).await;
    let options = PublishOptions { confirmed_removals: Some(1), ..PublishOptions::default() };
    let refused = test.hub.publish_workload(&test.actor, "db", "", options).await;
    let Err(Error::PlanRejected { findings, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((findings[0].code.as_str(), &*findings[0].clusters), ("G313", &["west".to_owned()][..]));
    assert!(findings[0].message.starts_with("web depends on db on these clusters."), "{:?}", findings[0]);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_reports_change_all_the_time_lets_others_be_placed_only_now_and_then() {
    const SETTLE: &str = "UPDATE placer_queue SET due_at = NULL, claimed = 0";
    let mut test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("region", "eu")]).await;
    let mut west = test.register_cluster("west", &[("region", "us")]).await;
    create_dependent(&test, "db", everywhere(), &[]).await;
    create_dependent(&test, "web", everywhere(), &["db"]).await;
    create_dependent(&test, "local", by_label("region=us"), &["db"]).await;
    for name in ["db", "web", "local"] {
        test.publish(name).await;
    }
    let db = wait_for_revision(&mut east, "db", 1).await;
    east.report_applied(&db).await;
    wait_for_revision(&mut east, "web", 1).await;
    let on_west = wait_for_revision(&mut west, "db", 1).await;
    west.report_applied(&on_west).await;
    wait_for_revision(&mut west, "local", 1).await;
    test.stop_loops().await;
    let now = test.hub.clock().now().millis();

    test.execute_sql(SETTLE).await;
    assert!(east.send_report(degraded(&db)).await.accepted);
    assert_eq!(test.placer_due("web").await, Some(now), "at once");
    assert_eq!(test.placer_due("local").await, None, "it is not on this cluster");
    for _ in 0..30 {
        east.report_applied(&db).await;
        assert!(east.send_report(degraded(&db)).await.accepted);
    }
    test.execute_sql(SETTLE).await;
    east.report_applied(&db).await;
    let due = test.placer_due("web").await.unwrap();
    assert!((now + 1..=now + 10_000).contains(&due), "{} ms from now", due - now);
    test.execute_sql(SETTLE).await;
    east.report_applied(&db).await;
    assert_eq!(test.placer_due("web").await, None, "nothing has changed");
    // Another cluster has marks of its own.
    assert!(west.send_report(degraded(&on_west)).await.accepted);
    assert_eq!((test.placer_due("web").await, test.placer_due("local").await), (Some(now), Some(now)));

    let facts = |version: u32| ClusterFacts {
        kubernetes_version: format!("v1.36.{version}"),
        ..ClusterFacts::default()
    };
    test.execute_sql(SETTLE).await;
    east.send_facts(facts(1)).await;
    assert_eq!(test.placer_due("local").await, Some(now), "what is rendered may be another bundle");
    for version in 2..30 {
        east.send_facts(facts(version)).await;
    }
    test.execute_sql(SETTLE).await;
    east.send_facts(facts(30)).await;
    let due = test.placer_due("local").await.unwrap();
    assert!((now + 1..=now + 60_000).contains(&due), "{} ms from now", due - now);
    test.close().await;
}
