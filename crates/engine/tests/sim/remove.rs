//! Pruning, removal, orphaning.

use domain::release::{StageName, StageState, SyncStatus};
use domain::workload::{DeletionPolicy, Policies};
use serde_json::{Value, json};

use crate::harness::*;

#[tokio::test(start_paused = true)]
async fn s3_13_objects_missing_from_a_new_bundle_are_pruned() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let first =
        present_input(1, 1, &bundle(vec![config_map("a", "1"), config_map("b", "1")]), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    let report = agent.until_applied(&first.desired).await;
    assert!(matches!(stage_state(&report, StageName::Pruned), Some(StageState::Skipped { .. })));
    let second = present_input(1, 2, &bundle(vec![config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    let report = agent.until_applied(&second.desired).await;
    assert_eq!(stage_state(&report, StageName::Pruned), Some(&StageState::Done));
    assert!(cluster.get(CONFIG_MAP, ("default", "b")).is_none());
    wait_until("recorded", || {
        cluster.list(RECORD, None)[0]["spec"]["resources"].as_array().is_some_and(|all| all.len() == 1)
    })
    .await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_13_an_object_re_created_by_another_party_is_not_pruned() {
    let cluster = cluster_without_controllers();
    let first_agent = start_agent(&cluster).await;
    let first =
        present_input(1, 1, &bundle(vec![config_map("a", "1"), config_map("b", "1")]), Policies::default());
    first_agent.engine.set_desired(vec![first.clone()]);
    first_agent.until_applied(&first.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first_agent.stop().await;
    cluster.delete(CONFIG_MAP, ("default", "b")).unwrap();
    cluster.create(config_map("b", "theirs"), "someone-else").unwrap();
    let agent = start_agent(&cluster).await;
    let second = present_input(1, 2, &bundle(vec![config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_applied(&second.desired).await;
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "b")).unwrap()["data"]["key"], "theirs");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn with_pruning_disabled_obsolete_objects_stay_until_the_removal() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let policies = Policies { prune: false, ..Policies::default() };
    let first =
        present_input(1, 1, &bundle(vec![config_map("a", "1"), config_map("b", "1")]), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_applied(&first.desired).await;
    let second = present_input(1, 2, &bundle(vec![config_map("a", "1")]), policies);
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_applied(&second.desired).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "b")).is_some());
    agent.engine.set_desired(vec![absent_input(1, 3, DeletionPolicy::Foreground)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "b")).is_none());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_11_a_removal_deletes_all_objects_and_the_record() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    let report = agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert_eq!(report.sync, SyncStatus::Removed);
    assert!(cluster.list(RECORD, None).is_empty());
    assert!(cluster.get(DEPLOYMENT, ("default", "web")).is_none());
    assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_none());
    assert!(cluster.list(("v1", "Pod"), Some("default")).is_empty(), "dependents are deleted first");
    assert!(agent.engine.applied_releases().is_empty());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_12_an_object_blocked_by_a_finalizer_blocks_the_removal_and_is_reported() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let input =
        present_input(1, 1, &bundle(vec![config_map("blocked", "1"), service("web")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    let add_finalizer = |object: &mut Value| object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.edit(CONFIG_MAP, ("default", "blocked"), "kubectl-edit", add_finalizer).unwrap();
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    let (report, message) =
        agent.until_stage_reason(release_id(1), StageName::Pruned, "FinalizerPending").await;
    assert!(
        message.contains("ConfigMap default/blocked") && message.contains("example.com/hold"),
        "{message}"
    );
    assert_eq!(report.sync, SyncStatus::Removing);
    assert!(!report.removed);
    assert!(cluster.get(("v1", "Service"), ("default", "web")).is_none(), "the later rank is deleted first");
    assert_eq!(cluster.list(RECORD, None).len(), 1);
    let remove_finalizer = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    cluster.edit(CONFIG_MAP, ("default", "blocked"), "kubectl-edit", remove_finalizer).unwrap();
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert!(cluster.list(RECORD, None).is_empty());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_orphaned_release_leaves_its_objects_without_label_and_annotations() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Orphan)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    let live = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
    assert_eq!(live["data"]["key"], "1");
    assert!(live.to_string().find("flotilla.dev").is_none(), "{live}");
    assert!(cluster.list(RECORD, None).is_empty());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p16_a_release_desired_again_during_its_removal_is_re_created() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let first = present_input(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    // Every request takes longer than the check for the first deletion.
    cluster.faults().set_delay(std::time::Duration::from_millis(5));
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    wait_until("one object is deleted", || {
        let live = cluster.get(DEPLOYMENT, ("default", "web"));
        live.is_none_or(|object| object["metadata"].get("deletionTimestamp").is_some())
    })
    .await;
    assert!(!cluster.list(RECORD, None).is_empty(), "the removal is not complete");
    let again = present_input(1, 3, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![again.clone()]);
    agent.until_operational(&again.desired).await;
    wait_until("recorded", || {
        let records = cluster.list(RECORD, None);
        records.len() == 1 && records[0]["metadata"].get("deletionTimestamp").is_none()
    })
    .await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_11_a_manually_deleted_record_deletes_nothing_and_is_re_created() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    let record = cluster.list(RECORD, None).remove(0);
    let uid = cluster.get(DEPLOYMENT, ("default", "web")).unwrap()["metadata"]["uid"].clone();
    cluster.delete(RECORD, ("", record["metadata"]["name"].as_str().unwrap())).unwrap();
    wait_until("re-created", || {
        cluster.list(RECORD, None).iter().any(|fresh| fresh["metadata"]["uid"] != record["metadata"]["uid"])
    })
    .await;
    assert_eq!(cluster.get(DEPLOYMENT, ("default", "web")).unwrap()["metadata"]["uid"], uid);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_release_missing_from_the_desired_state_is_not_removed() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    agent.engine.set_desired(vec![]);
    let other = present_input(2, 1, &bundle(vec![config_map("other", "1")]), Policies::default());
    agent.engine.set_desired(vec![other.clone()]);
    agent.until_applied(&other.desired).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_some());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pre_existing_namespace_is_never_deleted() {
    let cluster = simulated_cluster();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}});
    cluster.create(namespace.clone(), "kubectl").unwrap();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![namespace, config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    let namespace = cluster.get(NAMESPACE, ("", "old")).unwrap();
    assert!(namespace["metadata"].get("deletionTimestamp").is_none());
    agent.stop().await;
}
