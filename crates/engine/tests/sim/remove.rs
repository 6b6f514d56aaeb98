//! Pruning, removal, orphaning.

use domain::release::{StageName, StageState, Sync};
use domain::workload::{DeletionPolicy, Policies};
use serde_json::{Value, json};

use crate::harness::*;

#[tokio::test]
async fn s3_13_objects_that_a_new_bundle_no_longer_has_are_removed() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let first = desired(1, 1, &bundle(vec![config_map("a", "1"), config_map("b", "1")]), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    let report = agent.until_applied(&first.want).await;
    assert!(matches!(state(&report, StageName::Pruned), Some(StageState::Skipped { .. })));
    let second = desired(1, 2, &bundle(vec![config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    let report = agent.until_applied(&second.want).await;
    assert_eq!(state(&report, StageName::Pruned), Some(&StageState::Done));
    assert!(cluster.get(CONFIG_MAP, ("default", "b")).is_none());
    until("recorded", || {
        cluster.list(RECORD, None)[0]["spec"]["resources"].as_array().is_some_and(|all| all.len() == 1)
    })
    .await;
    agent.stop().await;
}

#[tokio::test]
async fn s3_13_an_object_that_somebody_made_anew_is_not_removed() {
    let cluster = still_cluster();
    let first_agent = agent(&cluster).await;
    let first = desired(1, 1, &bundle(vec![config_map("a", "1"), config_map("b", "1")]), Policies::default());
    first_agent.engine.set_desired(vec![first.clone()]);
    first_agent.until_applied(&first.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first_agent.stop().await;
    cluster.delete(CONFIG_MAP, ("default", "b")).unwrap();
    cluster.create(config_map("b", "theirs"), "someone-else").unwrap();
    let agent = agent(&cluster).await;
    let second = desired(1, 2, &bundle(vec![config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_applied(&second.want).await;
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "b")).unwrap()["data"]["key"], "theirs");
    agent.stop().await;
}

#[tokio::test]
async fn with_pruning_off_leftovers_stay_until_the_release_goes() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let policies = Policies { prune: false, ..Policies::default() };
    let first = desired(1, 1, &bundle(vec![config_map("a", "1"), config_map("b", "1")]), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_applied(&first.want).await;
    let second = desired(1, 2, &bundle(vec![config_map("a", "1")]), policies);
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_applied(&second.want).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "b")).is_some());
    agent.engine.set_desired(vec![absent(1, 3, DeletionPolicy::Foreground)]);
    agent.until(release(1), "gone", |report| report.gone).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "b")).is_none());
    agent.stop().await;
}

#[tokio::test]
async fn s3_11_a_removed_release_leaves_nothing_not_even_its_record() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    let report = agent.until(release(1), "gone", |report| report.gone).await;
    assert_eq!(report.sync, Sync::Removed);
    assert!(cluster.list(RECORD, None).is_empty());
    assert!(cluster.get(DEPLOYMENT, ("default", "web")).is_none());
    assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_none());
    assert!(cluster.list(("v1", "Pod"), Some("default")).is_empty(), "dependants go first");
    assert!(agent.engine.records().is_empty());
    agent.stop().await;
}

#[tokio::test]
async fn s3_12_an_object_held_by_a_finalizer_holds_the_record_and_is_named() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![config_map("held", "1"), service("web")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.touch(CONFIG_MAP, ("default", "held"), "kubectl-edit", hold).unwrap();
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    let (report, message) = agent.until_trouble(release(1), StageName::Pruned, "FinalizerPending").await;
    assert!(message.contains("ConfigMap default/held") && message.contains("example.com/hold"), "{message}");
    assert_eq!(report.sync, Sync::Removing);
    assert!(!report.gone);
    assert!(cluster.get(("v1", "Service"), ("default", "web")).is_none(), "the later rank is gone already");
    assert_eq!(cluster.list(RECORD, None).len(), 1);
    let free = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    cluster.touch(CONFIG_MAP, ("default", "held"), "kubectl-edit", free).unwrap();
    agent.until(release(1), "gone", |report| report.gone).await;
    assert!(cluster.list(RECORD, None).is_empty());
    agent.stop().await;
}

#[tokio::test]
async fn an_orphaned_release_leaves_its_objects_without_our_marks() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Orphan)]);
    agent.until(release(1), "gone", |report| report.gone).await;
    let live = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
    assert_eq!(live["data"]["key"], "1");
    assert!(live.to_string().find("flotilla.dev").is_none(), "{live}");
    assert!(cluster.list(RECORD, None).is_empty());
    agent.stop().await;
}

#[tokio::test]
async fn p16_a_release_that_is_wanted_again_while_it_goes_is_made_again() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let first = desired(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    let again = desired(1, 3, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![again.clone()]);
    agent.until_operational(&again.want).await;
    until("recorded", || {
        let records = cluster.list(RECORD, None);
        records.len() == 1 && records[0]["metadata"].get("deletionTimestamp").is_none()
    })
    .await;
    agent.stop().await;
}

#[tokio::test]
async fn s3_11_a_record_deleted_by_hand_deletes_nothing_and_is_made_again() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    let record = cluster.list(RECORD, None).remove(0);
    let uid = cluster.get(DEPLOYMENT, ("default", "web")).unwrap()["metadata"]["uid"].clone();
    cluster.delete(RECORD, ("", record["metadata"]["name"].as_str().unwrap())).unwrap();
    until("made again", || {
        cluster.list(RECORD, None).iter().any(|fresh| fresh["metadata"]["uid"] != record["metadata"]["uid"])
    })
    .await;
    assert_eq!(cluster.get(DEPLOYMENT, ("default", "web")).unwrap()["metadata"]["uid"], uid);
    agent.stop().await;
}

#[tokio::test]
async fn a_release_that_is_not_in_the_list_any_more_is_left_alone() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    agent.engine.set_desired(vec![]);
    let mark = desired(2, 1, &bundle(vec![config_map("other", "1")]), Policies::default());
    agent.engine.set_desired(vec![mark.clone()]);
    agent.until_applied(&mark.want).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_some());
    agent.stop().await;
}

#[tokio::test]
async fn a_namespace_that_was_there_before_is_never_deleted() {
    let cluster = cluster();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}});
    cluster.create(namespace.clone(), "kubectl").unwrap();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![namespace, config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    agent.until(release(1), "gone", |report| report.gone).await;
    let kept = cluster.get(NAMESPACE, ("", "old")).unwrap();
    assert!(kept["metadata"].get("deletionTimestamp").is_none());
    agent.stop().await;
}
