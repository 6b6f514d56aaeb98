//! Catch-up: after downtime or an outage only the latest desired state is applied (S3-9, P16).

use domain::policy::{DeletionPolicy, Policies};
use domain::release::{StageName, SyncStatus};
use serde_json::{Value, json};

use crate::harness::*;

#[tokio::test(start_paused = true)]
async fn s3_9_after_downtime_only_the_latest_of_several_publishes_is_applied() {
    let cluster = cluster_without_controllers();
    let first = start_agent(&cluster).await;
    let content =
        |n: u32| bundle(vec![config_map("a", &n.to_string()), config_map(&format!("only-{n}"), "1")]);
    let input = present_input(1, 1, &content(1), Policies::default());
    first.engine.set_desired(vec![input.clone()]);
    first.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first.stop().await;
    // Revisions 2, 3 and 4 are published while no engine runs; the next desired state contains only the fifth.
    let before = cluster.stats();
    let second = start_agent(&cluster).await;
    let latest = present_input(1, 5, &content(5), Policies::default());
    second.engine.set_desired(vec![latest.clone()]);
    let report = second.until_operational(&latest.desired).await;
    assert_eq!(report.applied, Some(content(5).digest()));
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "a")).unwrap()["data"]["key"], "5");
    assert!(
        cluster.get(CONFIG_MAP, ("default", "only-1")).is_none(),
        "objects of the applied bundle that are no longer desired are pruned"
    );
    assert_eq!(cluster.stats().deletes, before.deletes + 1);
    for missed in 2..5 {
        assert!(cluster.get(CONFIG_MAP, ("default", &format!("only-{missed}"))).is_none());
    }
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_9_of_publishes_during_an_outage_only_the_latest_is_applied() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let content = |n: u32| bundle(vec![config_map("a", &n.to_string())]);
    let input = present_input(1, 1, &content(1), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    cluster.faults().set_offline(true);
    agent.until_unreachable().await;
    for n in 2..6 {
        agent.engine.set_desired(vec![present_input(1, i64::from(n), &content(n), Policies::default())]);
    }
    cluster.faults().set_offline(false);
    let latest = present_input(1, 5, &content(5), Policies::default());
    agent.until_operational(&latest.desired).await;
    let applied: Vec<_> =
        agent.reports(release_id(1)).into_iter().filter_map(|report| report.applied).collect();
    let missed: Vec<_> = (2..5).map(|n| content(n).digest()).collect();
    assert!(applied.iter().all(|digest| !missed.contains(digest)), "no revision in between was applied");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p16_a_publish_during_any_step_of_a_removal_converges() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let mut generation = 1;
    let first = present_input(1, generation, &shop("nginx:0"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    // Every request takes a millisecond of the paused clock, so that each wait ends at another step of the removal.
    cluster.faults().set_delay(std::time::Duration::from_millis(1));
    for wait in 0..12_u64 {
        agent.engine.set_desired(vec![absent_input(1, generation + 1, DeletionPolicy::Foreground)]);
        tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
        generation += 2;
        let again = present_input(1, generation, &shop(&format!("nginx:{wait}")), Policies::default());
        agent.engine.set_desired(vec![again.clone()]);
        agent.until_operational(&again.desired).await;
        let live = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
        assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], format!("nginx:{wait}"));
        assert!(live["metadata"].get("deletionTimestamp").is_none());
    }
    wait_until("one record without a deletion timestamp", || {
        let records = cluster.list(RECORD, None);
        records.len() == 1 && records[0]["metadata"].get("deletionTimestamp").is_none()
    })
    .await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p16_a_publish_waits_for_a_terminating_object_and_re_creates_it() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![config_map("blocked", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    let add_finalizer = |object: &mut Value| object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.edit(CONFIG_MAP, ("default", "blocked"), "kubectl-edit", add_finalizer).unwrap();
    let old = cluster.get(CONFIG_MAP, ("default", "blocked")).unwrap()["metadata"]["uid"].clone();
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    agent.until_stage_reason(release_id(1), StageName::Pruned, "FinalizerPending").await;
    let again = present_input(1, 3, &bundle(vec![config_map("blocked", "2")]), Policies::default());
    agent.engine.set_desired(vec![again.clone()]);
    let (report, message) =
        agent.until_stage_reason(release_id(1), StageName::Applied, "ObjectTerminating").await;
    assert!(message.contains("example.com/hold"), "{message}");
    let reason = stage_state(&report, StageName::Applied).unwrap().reason().unwrap();
    assert!(reason.attempts >= 1 && reason.next_retry.is_some());
    let remove_finalizer = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    cluster.edit(CONFIG_MAP, ("default", "blocked"), "kubectl-edit", remove_finalizer).unwrap();
    agent.until_operational(&again.desired).await;
    let live = cluster.get(CONFIG_MAP, ("default", "blocked")).unwrap();
    assert_eq!(live["data"]["key"], "2");
    assert_ne!(live["metadata"]["uid"], old);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p16_a_new_release_takes_over_an_object_after_the_removal_of_the_old_one() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let content = bundle(vec![config_map("a", "1")]);
    let first = present_input(1, 1, &content, Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    // The workload was deleted and re-created: another release desires the same object during the removal of the first.
    let second = present_input(2, 1, &content, Policies::default());
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground), second.clone()]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    let report = agent.until_operational(&second.desired).await;
    assert_eq!(report.sync, SyncStatus::Synced);
    let live = cluster.get(CONFIG_MAP, ("default", "a")).unwrap();
    assert_eq!(live["metadata"]["labels"][engine::RELEASE_LABEL], release_id(2).to_string());
    agent.stop().await;
}
