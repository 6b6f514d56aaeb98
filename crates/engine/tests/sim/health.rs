//! Health as reported: causes, images, silence.

use std::time::Duration;

use domain::health::HealthStatus;
use domain::release::{StageName, StageState};
use domain::report::ReleaseReport;
use domain::workload::Policies;

use crate::harness::*;

#[tokio::test]
async fn s0_8_an_image_that_cannot_be_pulled_fails_its_stage_with_image_and_message() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("registry.example.com/does-not-exist:1"), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    let (report, message) = agent.until_trouble(release(1), StageName::ImagesPulled, "ImagePullFailed").await;
    assert!(message.contains("registry.example.com/does-not-exist:1"), "{message}");
    assert!(message.contains("Deployment default/web"), "{message}");
    assert!(is_done(&report, StageName::Applied));
    assert_eq!(report.health.status, HealthStatus::Degraded);
    assert_eq!(report.health.reason, "ImagePullFailed");
    let web = report.resources.iter().find(|resource| resource.object.kind == "Deployment").unwrap();
    assert!(web.causes[0].contains("cannot pull image"), "{:?}", web.causes);
    let fixed = desired(1, 2, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![fixed.clone()]);
    agent.until_operational(&fixed.want).await;
    agent.stop().await;
}

#[tokio::test]
async fn s0_9_a_crash_loop_is_told_with_its_exit_code() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("crashloop:1"), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    let (report, message) = agent.until_trouble(release(1), StageName::Operational, "CrashLoop").await;
    assert!(message.contains("container web exits with 1"), "{message}");
    assert!(matches!(state(&report, StageName::Operational), Some(StageState::Failed(_))));
    assert!(is_done(&report, StageName::ImagesPulled));
    agent.stop().await;
}

#[tokio::test]
async fn a_failing_probe_is_told_as_the_cause() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    agent.engine.set_desired(vec![desired(1, 1, &shop("neverready:1"), Policies::default())]);
    let said = |report: &domain::report::ReleaseReport| report.health.message.contains("probe failed");
    let report = agent.until(release(1), "explained", said).await;
    assert_eq!(report.health.status, HealthStatus::Progressing);
    agent.stop().await;
}

#[tokio::test]
async fn p11_while_the_api_server_is_silent_what_was_told_last_stands() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = agent.reports(release(1));
    cluster.faults().set_offline(true);
    agent.until_silent().await;
    agent.engine.set_desired(vec![wanted.clone()]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(agent.reports(release(1)), before, "silence is no news about a release");
    cluster.faults().set_offline(false);
    until("told again", || agent.reports(release(1)).len() > before.len()).await;
    let after = agent.reports(release(1)).split_off(before.len());
    let is_well = |report: &ReleaseReport| {
        report.health.status == HealthStatus::Healthy && is_done(report, StageName::Operational)
    };
    assert!(after.iter().all(is_well), "{after:#?}");
    assert!(agent.drift().is_empty());
    agent.stop().await;
}

#[tokio::test]
async fn p11_a_want_that_changes_during_silence_is_acknowledged_over_what_was_known() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let first = desired(1, 1, &shop("nginx:1"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    let before = agent.until_operational(&first.want).await;
    cluster.faults().set_offline(true);
    agent.until_silent().await;
    let second = desired(1, 2, &shop("nginx:2"), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    let report = agent.until(release(1), "acknowledged", |report| report.generation == 2).await;
    let stages: Vec<StageName> = report.stages.iter().map(|stage| stage.name).collect();
    assert_eq!(stages, [StageName::Notified, StageName::Pulled]);
    let known = |report: &ReleaseReport| {
        (report.sync, report.health.status, report.applied.clone(), report.resources.clone())
    };
    assert_eq!(known(&report), known(&before));
    cluster.faults().set_offline(false);
    agent.until_operational(&second.want).await;
    agent.stop().await;
}

#[tokio::test]
async fn p11_a_change_made_while_the_api_server_was_silent_is_caught_up() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let first = desired(1, 1, &shop("nginx:1"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    cluster.faults().set_offline(true);
    agent.until_silent().await;
    cluster.delete(CONFIG_MAP, ("default", "settings")).unwrap();
    cluster.compact();
    let second = desired(1, 2, &shop("nginx:2"), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    cluster.faults().set_offline(false);
    agent.until_operational(&second.want).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_some());
    agent.stop().await;
}

#[tokio::test]
async fn one_pod_that_starts_is_not_called_pods() {
    let cluster = kubesim::Cluster::new(kubesim::Options {
        pod_start: Duration::from_secs(600),
        ..kubesim::Options::default()
    });
    let agent = agent(&cluster).await;
    let content = bundle(vec![deployment("web", 1, "nginx")]);
    agent.engine.set_desired(vec![desired(1, 1, &content, Policies::default())]);
    let said = |report: &ReleaseReport| {
        matches!(state(report, StageName::ImagesPulled), Some(StageState::Running { message })
            if message == "Deployment default/web: the containers of 1 pod are being created.")
    };
    agent.until(release(1), "told in words", said).await;
    agent.stop().await;
}

#[tokio::test]
async fn p11_a_busy_server_delays_and_never_fails_a_release() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let rates = kubesim::Rates { internal_error: 0.3, ..Default::default() };
    cluster.faults().set_rates(rates);
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    agent.stop().await;
}

#[tokio::test]
async fn a_job_runs_to_its_end_and_not_again() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let job = serde_json::json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "once", "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "run", "image": "busybox"}]}}}});
    let wanted = desired(1, 1, &bundle(vec![job]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["resources"][0]["completed"] == true).await;
    cluster.delete(("batch/v1", "Job"), ("default", "once")).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(cluster.get(("batch/v1", "Job"), ("default", "once")).is_none());
    agent.until_operational(&wanted.want).await;
    agent.stop().await;
}
