//! Catch-up: an engine that was away goes straight to the latest, whatever it missed (S3-9, P16).

use domain::policy::{DeletionPolicy, Policies};
use domain::release::{StageName, Sync};
use serde_json::{Value, json};

use crate::harness::*;

#[tokio::test]
async fn s3_9_an_engine_that_was_away_applies_only_the_latest_of_several_publishes() {
    let cluster = still_cluster();
    let first = agent(&cluster).await;
    let content =
        |n: u32| bundle(vec![config_map("a", &n.to_string()), config_map(&format!("only-{n}"), "1")]);
    let wanted = desired(1, 1, &content(1), Policies::default());
    first.engine.set_desired(vec![wanted.clone()]);
    first.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first.stop().await;
    // Revisions 2, 3 and 4 are published while nobody is there; the list that comes back names the fifth only.
    let before = cluster.stats();
    let second = agent(&cluster).await;
    let latest = desired(1, 5, &content(5), Policies::default());
    second.engine.set_desired(vec![latest.clone()]);
    let report = second.until_operational(&latest.want).await;
    assert_eq!(report.applied, Some(content(5).digest()));
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "a")).unwrap()["data"]["key"], "5");
    assert!(
        cluster.get(CONFIG_MAP, ("default", "only-1")).is_none(),
        "the difference to what is there is pruned"
    );
    assert_eq!(cluster.stats().deletes, before.deletes + 1);
    for missed in 2..5 {
        assert!(cluster.get(CONFIG_MAP, ("default", &format!("only-{missed}"))).is_none());
    }
    second.stop().await;
}

#[tokio::test]
async fn s3_9_publishes_that_come_while_the_cluster_is_dark_end_in_the_latest() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let content = |n: u32| bundle(vec![config_map("a", &n.to_string())]);
    let wanted = desired(1, 1, &content(1), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    cluster.faults().set_offline(true);
    agent.until_silent().await;
    for n in 2..6 {
        agent.engine.set_desired(vec![desired(1, i64::from(n), &content(n), Policies::default())]);
    }
    cluster.faults().set_offline(false);
    let latest = desired(1, 5, &content(5), Policies::default());
    agent.until_operational(&latest.want).await;
    let applied: Vec<_> = agent.reports(release(1)).into_iter().filter_map(|report| report.applied).collect();
    let missed: Vec<_> = (2..5).map(|n| content(n).digest()).collect();
    assert!(applied.iter().all(|digest| !missed.contains(digest)), "no version in between was ever applied");
    agent.stop().await;
}

#[tokio::test]
async fn p16_a_removal_and_a_publish_of_the_same_name_meet_in_any_order() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let mut generation = 1;
    let first = desired(1, generation, &shop("nginx:0"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    // After each number of milliseconds another step of the removal is under way.
    for wait in 0..12_u64 {
        agent.engine.set_desired(vec![absent(1, generation + 1, DeletionPolicy::Foreground)]);
        tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
        generation += 2;
        let again = desired(1, generation, &shop(&format!("nginx:{wait}")), Policies::default());
        agent.engine.set_desired(vec![again.clone()]);
        agent.until_operational(&again.want).await;
        let live = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
        assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], format!("nginx:{wait}"));
        assert!(live["metadata"].get("deletionTimestamp").is_none());
    }
    until("one record that nobody deletes", || {
        let records = cluster.list(RECORD, None);
        records.len() == 1 && records[0]["metadata"].get("deletionTimestamp").is_none()
    })
    .await;
    agent.stop().await;
}

#[tokio::test]
async fn p16_a_publish_while_an_object_is_terminating_waits_for_it_and_makes_it_anew() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![config_map("held", "1")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.touch(CONFIG_MAP, ("default", "held"), "kubectl-edit", hold).unwrap();
    let old = cluster.get(CONFIG_MAP, ("default", "held")).unwrap()["metadata"]["uid"].clone();
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    agent.until_trouble(release(1), StageName::Pruned, "FinalizerPending").await;
    let again = desired(1, 3, &bundle(vec![config_map("held", "2")]), Policies::default());
    agent.engine.set_desired(vec![again.clone()]);
    let (report, message) = agent.until_trouble(release(1), StageName::Applied, "ObjectTerminating").await;
    assert!(message.contains("example.com/hold"), "{message}");
    let trouble = state(&report, StageName::Applied).unwrap().trouble().unwrap();
    assert!(trouble.attempts >= 1 && trouble.next_retry.is_some());
    let free = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    cluster.touch(CONFIG_MAP, ("default", "held"), "kubectl-edit", free).unwrap();
    agent.until_operational(&again.want).await;
    let live = cluster.get(CONFIG_MAP, ("default", "held")).unwrap();
    assert_eq!(live["data"]["key"], "2");
    assert_ne!(live["metadata"]["uid"], old);
    agent.stop().await;
}

#[tokio::test]
async fn p16_another_release_of_the_same_name_takes_its_place_once_the_first_is_gone() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let content = bundle(vec![config_map("a", "1")]);
    let first = desired(1, 1, &content, Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    // The workload was deleted and made again: another release wants the same object while the first one goes.
    let second = desired(2, 1, &content, Policies::default());
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground), second.clone()]);
    agent.until(release(1), "gone", |report| report.gone).await;
    let report = agent.until_operational(&second.want).await;
    assert_eq!(report.sync, Sync::Synced);
    let live = cluster.get(CONFIG_MAP, ("default", "a")).unwrap();
    assert_eq!(live["metadata"]["labels"][engine::RELEASE_LABEL], release(2).to_string());
    agent.stop().await;
}
