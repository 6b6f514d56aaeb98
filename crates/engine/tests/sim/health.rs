//! Reported health: causes, images, outages.

use std::time::Duration;

use domain::health::HealthStatus;
use domain::release::{StageName, StageState};
use domain::report::ReleaseReport;
use domain::workload::Policies;

use crate::harness::*;

#[tokio::test(start_paused = true)]
async fn s0_8_an_image_that_cannot_be_pulled_fails_its_stage_with_image_and_message() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("registry.example.com/does-not-exist:1"), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    let (report, message) =
        agent.until_stage_reason(release_id(1), StageName::ImagesPulled, "ImagePullFailed").await;
    assert!(message.contains("registry.example.com/does-not-exist:1"), "{message}");
    assert!(message.contains("Deployment default/web"), "{message}");
    assert!(is_done(&report, StageName::Applied));
    assert_eq!(report.health.status, HealthStatus::Degraded);
    assert_eq!(report.health.reason, "ImagePullFailed");
    let web = report.resources.iter().find(|resource| resource.object.kind == "Deployment").unwrap();
    assert!(web.causes[0].contains("cannot pull image"), "{:?}", web.causes);
    let fixed = present_input(1, 2, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![fixed.clone()]);
    agent.until_operational(&fixed.desired).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s0_9_a_crash_loop_is_reported_with_its_exit_code() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("crashloop:1"), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    let (report, message) =
        agent.until_stage_reason(release_id(1), StageName::Operational, "CrashLoop").await;
    assert!(message.contains("container web exits with 1"), "{message}");
    assert!(matches!(stage_state(&report, StageName::Operational), Some(StageState::Failed(_))));
    assert!(is_done(&report, StageName::ImagesPulled));
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failing_probe_is_reported_as_the_cause() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    agent.engine.set_desired(vec![present_input(1, 1, &shop("neverready:1"), Policies::default())]);
    let has_cause = |report: &domain::report::ReleaseReport| report.health.message.contains("probe failed");
    let report = agent.wait_for_report(release_id(1), "explained", has_cause).await;
    assert_eq!(report.health.status, HealthStatus::Progressing);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p11_during_an_api_server_outage_the_last_report_stays_valid() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    tokio::time::sleep(QUIET_TIME).await;
    let before = agent.reports(release_id(1));
    cluster.faults().set_offline(true);
    agent.until_unreachable().await;
    agent.engine.set_desired(vec![input.clone()]);
    tokio::time::sleep(QUIET_TIME).await;
    assert_eq!(agent.reports(release_id(1)), before, "an outage is no change of a release");
    cluster.faults().set_offline(false);
    wait_until("reported again", || agent.reports(release_id(1)).len() > before.len()).await;
    let after = agent.reports(release_id(1)).split_off(before.len());
    let is_healthy = |report: &ReleaseReport| {
        report.health.status == HealthStatus::Healthy && is_done(report, StageName::Operational)
    };
    assert!(after.iter().all(is_healthy), "{after:#?}");
    assert!(agent.drift().is_empty());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p11_a_desired_release_that_changes_during_an_outage_is_acknowledged_with_the_last_known_state() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let first = present_input(1, 1, &shop("nginx:1"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    let before = agent.until_operational(&first.desired).await;
    cluster.faults().set_offline(true);
    agent.until_unreachable().await;
    let second = present_input(1, 2, &shop("nginx:2"), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    let report = agent.wait_for_report(release_id(1), "acknowledged", |report| report.generation == 2).await;
    let stages: Vec<StageName> = report.stages.iter().map(|stage| stage.name).collect();
    assert_eq!(stages, [StageName::Notified, StageName::Pulled]);
    let state_of = |report: &ReleaseReport| {
        (report.sync, report.health.status, report.applied.clone(), report.resources.clone())
    };
    assert_eq!(state_of(&report), state_of(&before));
    cluster.faults().set_offline(false);
    agent.until_operational(&second.desired).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p11_a_change_during_an_outage_is_reconciled_afterwards() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let first = present_input(1, 1, &shop("nginx:1"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    cluster.faults().set_offline(true);
    agent.until_unreachable().await;
    cluster.delete(CONFIG_MAP, ("default", "settings")).unwrap();
    cluster.compact();
    let second = present_input(1, 2, &shop("nginx:2"), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    cluster.faults().set_offline(false);
    agent.until_operational(&second.desired).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_some());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_single_starting_pod_is_reported_in_the_singular() {
    let cluster = kubesim::SimCluster::new(kubesim::SimOptions {
        pod_start: Duration::from_secs(600),
        ..kubesim::SimOptions::default()
    });
    let agent = start_agent(&cluster).await;
    let content = bundle(vec![deployment("web", 1, "nginx")]);
    agent.engine.set_desired(vec![present_input(1, 1, &content, Policies::default())]);
    let has_message = |report: &ReleaseReport| {
        matches!(stage_state(report, StageName::ImagesPulled), Some(StageState::Running { message })
            if message == "Deployment default/web: the containers of 1 pod are being created.")
    };
    agent.wait_for_report(release_id(1), "reported in the singular", has_message).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p11_server_errors_delay_a_release_but_never_fail_it() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let rates = kubesim::ErrorRates { internal_error: 0.3, ..Default::default() };
    cluster.faults().set_error_rates(rates);
    let input = present_input(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_completed_job_is_not_run_again() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let job = serde_json::json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "once", "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "run", "image": "busybox"}]}}}});
    let input = present_input(1, 1, &bundle(vec![job]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["resources"][0]["completed"] == true)
        .await;
    cluster.delete(("batch/v1", "Job"), ("default", "once")).unwrap();
    tokio::time::sleep(QUIET_TIME).await;
    assert!(cluster.get(("batch/v1", "Job"), ("default", "once")).is_none());
    agent.until_operational(&input.desired).await;
    agent.stop().await;
}
