//! Workloads that only run jobs: complete, not updated any more, cleaned away after their time.

use domain::health::COMPLETED;
use domain::policy::{DeletionPolicy, Policies};
use domain::release::{StageName, Sync};
use serde_json::{Value, json};

use crate::harness::*;

const JOB: (&str, &str) = ("batch/v1", "Job");

fn job(name: &str, image: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}}}})
}

async fn complete(agent: &Agent, number: u128) -> domain::report::ReleaseReport {
    let is = |report: &domain::report::ReleaseReport| {
        report.health.reason == COMPLETED && is_done(report, StageName::Operational)
    };
    agent.until(release(number), "complete", is).await
}

#[tokio::test]
async fn s3_4_a_workload_of_jobs_is_complete_and_what_ran_is_not_updated_any_more() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted =
        desired(1, 1, &bundle(vec![config_map("a", "1"), job("once", "tool:1")]), Policies::default());
    agent.engine.set_desired(vec![wanted]);
    complete(&agent, 1).await;
    let before = cluster.get(JOB, ("default", "once")).unwrap();
    let changed =
        desired(1, 2, &bundle(vec![config_map("a", "2"), job("once", "tool:2")]), Policies::default());
    agent.engine.set_desired(vec![changed.clone()]);
    let report = agent.until(release(1), "again", |r| r.generation == 2 && r.sync == Sync::Synced).await;
    assert_eq!(report.resources[1].problem.as_ref().map(|one| one.code.as_str()), Some("CompleteNotUpdated"));
    assert_eq!(cluster.get(JOB, ("default", "once")).unwrap()["spec"], before["spec"]);
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "a")).unwrap()["data"]["key"], "2", "the rest is updated");
    assert!(agent.drift().is_empty());
    agent.stop().await;
}

#[tokio::test]
async fn a_complete_workload_is_cleaned_away_after_its_time_and_not_run_again() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let policies = Policies { ttl_seconds_after_finished: Some(0), ..Policies::default() };
    let objects = bundle(vec![config_map("input", "1"), job("once", "tool:1")]);
    let wanted = desired(1, 1, &objects, policies);
    agent.engine.set_desired(vec![wanted.clone()]);
    until("cleaned away", || {
        cluster.get(JOB, ("default", "once")).is_none()
            && cluster.get(CONFIG_MAP, ("default", "input")).is_none()
            && !cluster.list(RECORD, None).is_empty()
    })
    .await;
    complete(&agent, 1).await;
    let jobs = || cluster.get(JOB, ("default", "once")).is_some();
    agent.stop().await;
    let heir = crate::harness::agent(&cluster).await;
    heir.engine.set_desired(vec![wanted]);
    complete(&heir, 1).await;
    assert!(!jobs(), "a new engine does not run it again");
    heir.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    heir.until(release(1), "gone", |report| report.gone).await;
    heir.stop().await;
}

#[tokio::test]
async fn a_complete_workload_stays_without_a_time_and_one_that_serves_is_never_complete() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let policies = Policies { ttl_seconds_after_finished: Some(0), ..Policies::default() };
    let kept = desired(1, 1, &bundle(vec![job("kept", "tool:1")]), Policies::default());
    let mixed = desired(2, 1, &bundle(vec![job("init", "tool:1"), deployment("web", 1, "web:1")]), policies);
    agent.engine.set_desired(vec![kept, mixed.clone()]);
    complete(&agent, 1).await;
    let report = agent.until_operational(&mixed.want).await;
    assert_ne!(report.health.reason, COMPLETED);
    assert!(
        cluster.get(JOB, ("default", "kept")).is_some() && cluster.get(JOB, ("default", "init")).is_some()
    );
    agent.stop().await;
}

#[tokio::test]
async fn p10_ages_are_measured_by_the_clock_of_the_cluster_whatever_the_agents_says() {
    let cluster = cluster();
    // Over HTTP, because its answers say when they were made.
    let served = cluster.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let client = || kube::Client::try_from(kube::Config::new(served.url().parse().unwrap())).unwrap();
    let policies = Policies { ttl_seconds_after_finished: Some(1), ..Policies::default() };
    let wanted = desired(1, 1, &bundle(vec![job("once", "tool:1")]), policies);
    let behind = || now().plus_millis(-3_600_000);
    let options = engine::Options { clock: std::sync::Arc::new(behind), ..options() };
    let agent = Agent::start(engine::Engine::connect(client(), options).await.unwrap());
    agent.engine.set_desired(vec![wanted]);
    complete(&agent, 1).await;
    until("cleaned away", || cluster.get(JOB, ("default", "once")).is_none()).await;
    agent.stop().await;
}
