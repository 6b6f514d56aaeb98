//! Restarts: no unnecessary writes, and no lost state after a crash at any point.

use std::sync::atomic::{AtomicI64, Ordering};

use domain::health::HealthStatus;
use domain::release::stage::StageReason;
use domain::release::{Reason, StageName, StageState};
use domain::report::ReleaseReport;
use domain::workload::{DeletionPolicy, Policies};
use http::Method;

use crate::harness::*;

#[tokio::test(start_paused = true)]
async fn p26_a_restart_over_unchanged_objects_writes_nothing() {
    let cluster = simulated_cluster();
    let first = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    first.engine.set_desired(vec![input.clone()]);
    first.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first.stop().await;
    let before = cluster.stats();
    let second = start_agent(&cluster).await;
    let records = second.engine.applied_releases();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].release, release_id(1));
    assert_eq!(records[0].workload, "shop1");
    second.engine.set_desired(vec![input.clone()]);
    second.until_operational(&input.desired).await;
    tokio::time::sleep(QUIET_TIME).await;
    let after = cluster.stats();
    let writes = |stats: kubesim::Stats| stats.creates + stats.updates + stats.patches + stats.deletes;
    assert_eq!(writes(after), writes(before));
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p15_after_a_restart_no_report_falls_behind_the_record() {
    let cluster = simulated_cluster();
    let first = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    first.engine.set_desired(vec![input.clone()]);
    first.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first.stop().await;
    let second = start_agent(&cluster).await;
    // Every response takes longer than the delay of progress reports.
    cluster.faults().set_delay(std::time::Duration::from_millis(300));
    let fetching = StageState::Running { message: "Fetching the bundle.".into() };
    let without = engine::ReleaseInput { bundle: None, pull_stage: fetching, ..input.clone() };
    second.engine.set_desired(vec![without]);
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(second.reports(release_id(1)).is_empty(), "the cluster was not read yet");
    second.engine.set_desired(vec![input.clone()]);
    second.until_operational(&input.desired).await;
    let is_healthy = |report: &ReleaseReport| {
        is_done(report, StageName::Operational) && report.health.status == HealthStatus::Healthy
    };
    assert!(second.reports(release_id(1)).iter().all(is_healthy), "{:#?}", second.reports(release_id(1)));
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_pull_after_a_restart_is_reported() {
    let cluster = simulated_cluster();
    let first = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    first.engine.set_desired(vec![input.clone()]);
    first.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first.stop().await;
    let second = start_agent(&cluster).await;
    let reason = StageReason { attempts: 1, ..StageReason::new(Reason::HashMismatch, "no") };
    let without =
        engine::ReleaseInput { bundle: None, pull_stage: StageState::Failed(reason), ..input.clone() };
    second.engine.set_desired(vec![without]);
    let (report, _) = second.until_stage_reason(release_id(1), StageName::Pulled, "HashMismatch").await;
    assert!(report.applied.is_some(), "the applied bundle is still reported");
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p26_a_settled_release_causes_no_requests() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    tokio::time::sleep(QUIET_TIME).await;
    let before = cluster.stats();
    tokio::time::sleep(QUIET_TIME).await;
    let after = cluster.stats();
    assert_eq!(after.requests(), before.requests());
    agent.stop().await;
}

/// A client whose connection fails permanently after a number of writes, which simulates a crash between two of them.
fn client_that_fails_after(cluster: &kubesim::SimCluster, writes: i64) -> kube::Client {
    let left = AtomicI64::new(writes);
    intercepted_client(cluster, move |request| {
        // A review of permissions is sent by POST and writes nothing.
        let is_review = request.uri().path().starts_with("/apis/authorization.k8s.io/");
        let is_write = request.method() != Method::GET && !is_review;
        let is_refused = is_write && left.fetch_sub(1, Ordering::SeqCst) <= 0;
        if is_refused { Interception::Refuse } else { Interception::Pass }
    })
}

#[tokio::test(start_paused = true)]
async fn p15_after_a_crash_between_any_two_writes_the_next_engine_converges() {
    // Definition, record, three objects, record: one iteration more than writes, to cover every position.
    for writes in 0..7 {
        let cluster = simulated_cluster();
        let client = client_that_fails_after(&cluster, writes);
        let input = present_input(1, 1, &shop("nginx"), Policies::default());
        if let Ok(engine) = engine::Engine::connect(client, options()).await {
            let crashing = TestAgent::start(engine);
            crashing.engine.set_desired(vec![input.clone()]);
            tokio::time::sleep(std::time::Duration::from_millis(60)).await;
            crashing.stop().await;
        }
        let successor = start_agent(&cluster).await;
        // Objects of the crashed engine are known even though the bundle has changed.
        let changed = present_input(1, 2, &bundle(vec![config_map("settings", "1")]), Policies::default());
        successor.engine.set_desired(vec![changed.clone()]);
        successor.until_operational(&changed.desired).await;
        assert!(cluster.get(DEPLOYMENT, ("default", "web")).is_none(), "after {writes} writes");
        assert!(cluster.get(("v1", "Service"), ("default", "web")).is_none(), "after {writes} writes");
        successor.engine.set_desired(vec![absent_input(1, 3, DeletionPolicy::Foreground)]);
        successor.wait_for_report(release_id(1), "gone", |report| report.removed).await;
        assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_none(), "after {writes} writes");
        assert!(cluster.list(RECORD, None).is_empty(), "after {writes} writes");
        successor.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn p15_after_a_crash_between_any_two_steps_of_a_removal_the_next_engine_completes_it() {
    // Deletion mark of the record, three objects, finalizer of the record: one iteration more than writes.
    for writes in 0..6 {
        let cluster = simulated_cluster();
        let first = start_agent(&cluster).await;
        let input = present_input(1, 1, &shop("nginx"), Policies::default());
        first.engine.set_desired(vec![input.clone()]);
        first.until_operational(&input.desired).await;
        wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
        first.stop().await;
        let client = client_that_fails_after(&cluster, writes);
        let engine = engine::Engine::connect(client, options()).await.unwrap();
        let crashing = TestAgent::start(engine);
        crashing.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        crashing.stop().await;
        let successor = start_agent(&cluster).await;
        successor.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
        successor.wait_for_report(release_id(1), "gone", |report| report.removed).await;
        assert!(cluster.list(RECORD, None).is_empty(), "after {writes} writes");
        assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_none(), "after {writes} writes");
        assert!(cluster.get(DEPLOYMENT, ("default", "web")).is_none(), "after {writes} writes");
        successor.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn p15_a_partially_applied_bundle_is_never_reported_as_applied() {
    let cluster = simulated_cluster();
    let client = client_that_fails_after(&cluster, 4);
    let engine = engine::Engine::connect(client, options()).await.unwrap();
    let crashing = TestAgent::start(engine);
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    crashing.engine.set_desired(vec![input.clone()]);
    wait_until("partially applied", || cluster.get(("v1", "Service"), ("default", "web")).is_some()).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(crashing.report(release_id(1)).is_none_or(|report| report.applied.is_none()));
    crashing.stop().await;
    let successor = start_agent(&cluster).await;
    assert_eq!(successor.engine.applied_releases()[0].applied, None);
    successor.engine.set_desired(vec![input.clone()]);
    successor.until_operational(&input.desired).await;
    successor.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_known_bundle_may_be_omitted() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let content = bundle(vec![config_map("settings", "1")]);
    let input = present_input(1, 1, &content, Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    assert!(agent.engine.has_bundle(release_id(1), &content.digest()));
    let mut again = present_input(1, 2, &content, Policies::default());
    again.bundle = None;
    agent.engine.set_desired(vec![again.clone()]);
    agent.until_applied(&again.desired).await;
    agent.stop().await;
}
