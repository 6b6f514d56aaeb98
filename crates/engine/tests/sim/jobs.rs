//! Workloads of jobs: complete, replaced when a revision changes them, cleaned up after their TTL.

use domain::health::COMPLETED;
use domain::policy::{DeletionPolicy, Policies};
use domain::release::{StageName, SyncStatus};
use serde_json::{Value, json};

use crate::harness::*;

const JOB: (&str, &str) = ("batch/v1", "Job");

fn job(name: &str, image: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}}}})
}

async fn until_complete(agent: &TestAgent, number: u128) -> domain::report::ReleaseReport {
    let is_complete = |report: &domain::report::ReleaseReport| {
        report.health.reason == COMPLETED && is_done(report, StageName::Operational)
    };
    agent.wait_for_report(release_id(number), "complete", is_complete).await
}

#[tokio::test(start_paused = true)]
async fn s3_4_a_workload_of_jobs_is_complete_and_runs_only_its_changed_jobs_again() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let objects =
        |data, image| bundle(vec![config_map("a", data), job("once", image), job("same", "tool:1")]);
    let input = present_input(1, 1, &objects("1", "tool:1"), Policies::default());
    agent.engine.set_desired(vec![input]);
    until_complete(&agent, 1).await;
    let uid = |name: &str| cluster.get(JOB, ("default", name)).unwrap()["metadata"]["uid"].clone();
    let before = (uid("once"), uid("same"));
    let changed = present_input(1, 2, &objects("2", "tool:2"), Policies::default());
    agent.engine.set_desired(vec![changed.clone()]);
    let is_complete = |report: &domain::report::ReleaseReport| {
        report.generation == 2 && report.sync == SyncStatus::Synced && report.health.reason == COMPLETED
    };
    agent.wait_for_report(release_id(1), "again", is_complete).await;
    let image = "/spec/template/spec/containers/0/image";
    assert_eq!(cluster.get(JOB, ("default", "once")).unwrap().pointer(image), Some(&"tool:2".into()));
    assert!(uid("once") != before.0 && uid("same") == before.1, "only the changed job runs again");
    assert_eq!(
        cluster.get(CONFIG_MAP, ("default", "a")).unwrap()["data"]["key"],
        "2",
        "other objects are updated"
    );
    assert!(agent.drift().is_empty());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_complete_workload_is_cleaned_up_after_its_ttl_and_not_run_again() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let policies = Policies { ttl_seconds_after_finished: Some(0), ..Policies::default() };
    let objects = bundle(vec![config_map("input", "1"), job("once", "tool:1")]);
    let input = present_input(1, 1, &objects, policies);
    agent.engine.set_desired(vec![input.clone()]);
    wait_until("cleaned up", || {
        cluster.get(JOB, ("default", "once")).is_none()
            && cluster.get(CONFIG_MAP, ("default", "input")).is_none()
            && !cluster.list(RECORD, None).is_empty()
    })
    .await;
    until_complete(&agent, 1).await;
    let has_job = || cluster.get(JOB, ("default", "once")).is_some();
    agent.stop().await;
    let successor = crate::harness::start_agent(&cluster).await;
    successor.engine.set_desired(vec![input]);
    until_complete(&successor, 1).await;
    assert!(!has_job(), "a new engine does not run it again");
    successor.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    successor.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    successor.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_complete_workload_without_a_ttl_stays_and_one_with_a_deployment_is_never_complete() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let policies = Policies { ttl_seconds_after_finished: Some(0), ..Policies::default() };
    let without_ttl = present_input(1, 1, &bundle(vec![job("without-ttl", "tool:1")]), Policies::default());
    let mixed =
        present_input(2, 1, &bundle(vec![job("init", "tool:1"), deployment("web", 1, "web:1")]), policies);
    agent.engine.set_desired(vec![without_ttl, mixed.clone()]);
    until_complete(&agent, 1).await;
    let report = agent.until_operational(&mixed.desired).await;
    assert_ne!(report.health.reason, COMPLETED);
    assert!(
        cluster.get(JOB, ("default", "without-ttl")).is_some()
            && cluster.get(JOB, ("default", "init")).is_some()
    );
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p10_ages_are_measured_with_the_clock_of_the_cluster() {
    let cluster = simulated_cluster();
    // Over HTTP, because its responses have a `Date` header.
    let served = cluster.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let client = || kube::Client::try_from(kube::Config::new(served.url().parse().unwrap())).unwrap();
    let policies = Policies { ttl_seconds_after_finished: Some(1), ..Policies::default() };
    let input = present_input(1, 1, &bundle(vec![job("once", "tool:1")]), policies);
    let slow_clock = || now().plus_millis(-3_600_000);
    let options = engine::Options { clock: std::sync::Arc::new(slow_clock), ..options() };
    let agent = TestAgent::start(engine::Engine::connect(client(), options).await.unwrap());
    agent.engine.set_desired(vec![input]);
    until_complete(&agent, 1).await;
    wait_until("cleaned up", || cluster.get(JOB, ("default", "once")).is_none()).await;
    agent.stop().await;
}
