//! Suspended releases: what is changed on the cluster is reported, and nothing is written or deleted (S2-11).

use domain::release::{StageName, SyncStatus};
use domain::report::{DriftOutcome, ReleaseReport};
use domain::workload::{DeletionPolicy, Policies};
use serde_json::json;

use crate::test_env::*;

fn is_drifted(report: &ReleaseReport) -> bool {
    let is_edited = |object: &domain::report::ResourceStatus| object.drifted == ["/data/key"];
    let is_missing = |object: &domain::report::ResourceStatus| object.available == Some(false);
    report.sync == SyncStatus::Drifted
        && report.resources.iter().any(is_edited)
        && report.resources.iter().any(is_missing)
}

pub async fn s2_11_a_suspended_release_is_compared_and_not_healed_until_it_is_resumed(env: TestEnv) {
    let bundle =
        env.bundle(vec![config_map("kept", "1"), config_map("lost", "1"), config_map("settings", "1")]);
    let desired = env.set_bundle(bundle.clone(), Policies::default());
    env.until_operational().await;
    env.wait_until("recorded", async || {
        env.record().await.is_some_and(|record| record["spec"]["applied"] != "")
    })
    .await;
    let before = env.record().await.unwrap()["metadata"]["resourceVersion"].clone();
    env.set_suspended(&desired, Some(bundle.clone()), true);
    env.merge_patch(CONFIG_MAP, "settings", json!({"data": {"key": "2"}}), "kubectl-edit").await;
    env.delete(CONFIG_MAP, "lost").await;
    env.wait_for_report("drifted", is_drifted).await;
    // Another change after that report proves that the pass about the first ones has ended without a write.
    env.merge_patch(CONFIG_MAP, "kept", json!({"data": {"key": "3"}}), "kubectl-edit").await;
    let count =
        |report: &ReleaseReport| report.resources.iter().filter(|one| !one.drifted.is_empty()).count();
    env.wait_for_report("drifted in two objects", |report| count(report) == 2).await;
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "2");
    assert_eq!(env.get(CONFIG_MAP, "lost").await, None);
    assert!(
        env.agent.drift().iter().all(|note| note.outcome == DriftOutcome::Found),
        "{:?}",
        env.agent.drift()
    );
    assert_eq!(env.record().await.unwrap()["metadata"]["resourceVersion"], before, "its record neither");
    env.set_suspended(&desired, Some(bundle), false);
    env.until_operational().await;
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "1");
    assert_eq!(env.get(CONFIG_MAP, "lost").await.unwrap()["data"]["key"], "1");
}

pub async fn s2_11_a_suspended_release_is_neither_applied_nor_pruned(env: TestEnv) {
    let first = env.bundle(vec![config_map("former", "1"), config_map("settings", "1")]);
    env.set_bundle(first, Policies::default());
    env.until_operational().await;
    let second = env.bundle(vec![config_map("added", "1"), config_map("settings", "2")]);
    let desired = env.next_bundle(&second);
    env.set_suspended(&desired, Some(second.clone()), true);
    let report = env
        .wait_for_report("suspended", |report| {
            let applied =
                stage_state(report, StageName::Applied).and_then(domain::release::StageState::reason);
            applied.is_some_and(|reason| reason.reason.as_str() == "Suspended")
        })
        .await;
    assert_eq!(report.sync, SyncStatus::Stale);
    assert_eq!(env.get(CONFIG_MAP, "added").await, None);
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "1");
    assert!(env.get(CONFIG_MAP, "former").await.is_some());
    env.set_suspended(&desired, Some(second), false);
    env.until_operational().await;
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "2");
    env.wait_until("pruned", async || env.get(CONFIG_MAP, "former").await.is_none()).await;
}

pub async fn s2_11_the_removal_of_a_suspended_release_begins_when_it_is_resumed(env: TestEnv) {
    let bundle = env.bundle(vec![config_map("settings", "1")]);
    env.set_bundle(bundle, Policies::default());
    env.until_operational().await;
    let absent = env.next_absent(DeletionPolicy::Foreground);
    env.set_suspended(&absent, None, true);
    // The engine answers a dry run after it has taken the desired state.
    env.dry_run(vec![config_map("other", "1")], Policies::default()).await;
    assert!(env.get(CONFIG_MAP, "settings").await.is_some());
    env.set_suspended(&absent, None, false);
    env.wait_for_report("removed", |report| report.removed).await;
    assert_eq!(env.get(CONFIG_MAP, "settings").await, None);
}
