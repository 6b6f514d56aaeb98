//! Health of workloads, with the status of their controllers.

use std::time::Duration;

use domain::health::HealthStatus::{Degraded, Healthy, Progressing, Suspended};
use domain::release::{StageName, StageState};
use domain::report::ReleaseReport;
use domain::workload::Policies;
use serde_json::{Value, json};
use testkit::PodFault;

use crate::test_env::*;

pub fn with_spec_fields(mut object: Value, fields: Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        object["spec"][name] = value.clone();
    }
    object
}

fn job(name: &str, ailment: Option<PodFault>) -> Value {
    let mut template = template(name, ailment);
    template["spec"]["restartPolicy"] = "Never".into();
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": template}})
}

pub fn cron_job(name: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job(name, None)["spec"]}}})
}

pub async fn c1_a_deployment_becomes_healthy(env: TestEnv) {
    env.set_present(vec![workload("Deployment", "web", None)], Policies::default());
    env.until_health("web", Healthy, "").await;
    env.until_operational().await;
}

pub async fn c1_a_deployment_that_starts_slowly_is_progressing(env: TestEnv) {
    // Long enough that it is seen, also on a busy machine.
    let time = Duration::from_secs(15);
    if let Some(cluster) = env.simulated_cluster() {
        cluster.faults().set_slow_start(vec![("web".into(), time)]);
    }
    env.set_present(
        vec![workload("Deployment", "web", Some(PodFault::SlowStart(time)))],
        Policies::default(),
    );
    env.until_health("web", Progressing, "ReplicasUnavailable").await;
    env.until_health("web", Healthy, "").await;
}

pub async fn c1_a_deployment_past_its_deadline_is_degraded(env: TestEnv) {
    let overdue = with_spec_fields(
        workload("Deployment", "web", Some(PodFault::NeverReady)),
        json!({"progressDeadlineSeconds": 1}),
    );
    env.set_present(vec![overdue], Policies::default());
    env.until_health("web", Degraded, "ProgressDeadlineExceeded").await;
}

pub async fn c1_a_paused_deployment_is_suspended(env: TestEnv) {
    env.set_present(
        vec![with_spec_fields(workload("Deployment", "web", None), json!({"paused": true}))],
        Policies::default(),
    );
    env.until_health("web", Suspended, "DeploymentPaused").await;
}

/// The workload with another template, which its controller has to roll out.
fn with_new_template(mut object: Value) -> Value {
    object["spec"]["template"]["metadata"]["annotations"] = json!({"example.com/revision": "2"});
    object
}

/// Why an object is not operational that somebody holds.
const HELD: &str = "HeldOutsideManifest";

pub async fn c1_a_deployment_that_is_paused_by_hand_is_not_operational_until_it_is_resumed(env: TestEnv) {
    env.set_present(vec![workload("Deployment", "web", None)], Policies::default());
    env.until_operational().await;
    let pause = async |paused: bool| {
        env.merge_patch(DEPLOYMENT, "web", json!({"spec": {"paused": paused}}), "kubectl-rollout").await
    };
    pause(true).await;
    env.set_present(vec![with_new_template(workload("Deployment", "web", None))], Policies::default());
    let (health, _) = env.until_health("web", Progressing, HELD).await;
    assert!(health.message.contains("kubectl-rollout set spec.paused"), "{}", health.message);
    pause(false).await;
    env.until_operational().await;
}

pub async fn c1_a_stateful_set_whose_partition_is_set_by_hand_is_not_operational(env: TestEnv) {
    env.set_present(vec![workload("StatefulSet", "queue", None)], Policies::default());
    env.until_operational().await;
    let held =
        json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 9}}}});
    env.merge_patch(STATEFUL_SET, "queue", held, "kubectl-edit").await;
    env.set_present(vec![with_new_template(workload("StatefulSet", "queue", None))], Policies::default());
    env.until_health("queue", Progressing, HELD).await;
}

pub async fn c1_a_stateful_set_that_is_set_to_on_delete_by_hand_is_not_operational(env: TestEnv) {
    env.set_present(vec![workload("StatefulSet", "queue", None)], Policies::default());
    env.until_operational().await;
    let held = json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}});
    env.merge_patch(STATEFUL_SET, "queue", held, "kubectl-edit").await;
    env.set_present(vec![with_new_template(workload("StatefulSet", "queue", None))], Policies::default());
    let (health, _) = env.until_health("queue", Progressing, HELD).await;
    assert!(health.message.contains("kubectl-edit set spec.updateStrategy.type"), "{}", health.message);
    // The pods of the former revision are deleted by hand, as the strategy demands.
    for pod in ["queue-1", "queue-0"] {
        env.delete(POD, pod).await;
    }
    env.until_operational().await;
}

pub async fn c1_a_daemon_set_that_is_set_to_on_delete_by_hand_is_not_operational(env: TestEnv) {
    env.set_present(vec![workload("DaemonSet", "agent", None)], Policies::default());
    env.until_operational().await;
    let held = json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}});
    env.merge_patch(DAEMON_SET, "agent", held, "kubectl-edit").await;
    env.set_present(vec![with_new_template(workload("DaemonSet", "agent", None))], Policies::default());
    env.until_health("agent", Progressing, HELD).await;
}

pub async fn c1_a_cron_job_that_is_suspended_by_hand_is_not_operational(env: TestEnv) {
    env.set_present(vec![cron_job("nightly")], Policies::default());
    env.until_operational().await;
    env.merge_patch(CRON_JOB, "nightly", json!({"spec": {"suspend": true}}), "kubectl-edit").await;
    env.until_health("nightly", Progressing, HELD).await;
}

pub async fn c1_a_job_that_is_suspended_by_hand_is_not_operational(env: TestEnv) {
    // No node takes its pod, so that it does not end before.
    let mut waiting = job("once", None);
    waiting["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
    env.set_present(vec![waiting], Policies::default());
    env.until_applied().await;
    let suspend = async |suspend: bool| {
        env.merge_patch(JOB, "once", json!({"spec": {"suspend": suspend}}), "kubectl-edit").await
    };
    suspend(true).await;
    let (health, _) = env.until_health("once", Progressing, HELD).await;
    assert!(health.message.contains("kubectl-edit set spec.suspend"), "{}", health.message);
    suspend(false).await;
    let is_resumed = |report: &ReleaseReport| report.resources[0].health.reason != HELD;
    env.wait_for_report("resumed", is_resumed).await;
}

pub async fn c1_a_deployment_scaled_to_zero_is_healthy(env: TestEnv) {
    env.set_present(
        vec![with_spec_fields(workload("Deployment", "web", None), json!({"replicas": 0}))],
        Policies::default(),
    );
    let (health, _) = env.until_health("web", Healthy, "").await;
    assert_eq!(health.message, "scaled to zero");
}

pub async fn c1_an_update_that_gets_stuck_is_degraded_while_old_pods_serve(env: TestEnv) {
    env.set_present(vec![workload("Deployment", "web", None)], Policies::default());
    env.until_operational().await;
    env.set_present(vec![workload("Deployment", "web", Some(PodFault::ImagePull))], Policies::default());
    env.until_health("web", Degraded, "ImagePullFailed").await;
    let live = env.get(DEPLOYMENT, "web").await.unwrap();
    assert!(live["status"]["availableReplicas"].as_i64() >= Some(1), "{live}");
    env.set_present(vec![workload("Deployment", "web", None)], Policies::default());
    env.until_operational().await;
}

pub async fn c1_a_stateful_set_becomes_healthy(env: TestEnv) {
    env.set_present(vec![workload("StatefulSet", "db", None)], Policies::default());
    env.until_health("db", Healthy, "").await;
    let mut names: Vec<Value> =
        env.list(POD).await.into_iter().map(|mut pod| pod["metadata"]["name"].take()).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["db-0", "db-1"]);
    env.until_operational().await;
}

pub async fn c1_a_stateful_set_stops_at_its_first_bad_pod(env: TestEnv) {
    env.set_present(vec![workload("StatefulSet", "db", Some(PodFault::Crash))], Policies::default());
    env.until_health("db", Degraded, "CrashLoop").await;
    assert_eq!(env.list(POD).await.len(), 1);
}

pub async fn c1_a_daemon_set_runs_on_every_node(env: TestEnv) {
    env.set_present(vec![workload("DaemonSet", "log", None)], Policies::default());
    env.until_operational().await;
    env.until_health("log", Healthy, "").await;
    let mut nodes: Vec<Value> =
        env.list(POD).await.into_iter().map(|mut pod| pod["spec"]["nodeName"].take()).collect();
    nodes.sort_by_key(ToString::to_string);
    nodes.dedup();
    assert_eq!(nodes.len(), 3);
}

pub async fn c1_a_daemon_set_without_a_matching_node_is_healthy_with_a_reason(env: TestEnv) {
    let mut unmatched = workload("DaemonSet", "log", None);
    unmatched["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
    env.set_present(vec![unmatched], Policies::default());
    env.until_health("log", Healthy, "NoMatchingNodes").await;
}

pub async fn c1_a_job_completes(env: TestEnv) {
    env.set_present(vec![job("once", None)], Policies::default());
    env.until_health("once", Healthy, "Completed").await;
    // The controller updates the pod count shortly after the condition.
    let is_counted = |report: &ReleaseReport| report.resources[0].health.message == "1/1 succeeded";
    env.wait_for_report("counted", is_counted).await;
    env.until_operational().await;
}

pub async fn c1_a_job_past_its_retries_is_degraded(env: TestEnv) {
    env.set_present(vec![job("once", Some(PodFault::Crash))], Policies::default());
    env.until_health("once", Degraded, "BackoffLimitExceeded").await;
}

pub async fn c1_a_suspended_job_is_suspended(env: TestEnv) {
    env.set_present(vec![with_spec_fields(job("once", None), json!({"suspend": true}))], Policies::default());
    env.until_health("once", Suspended, "JobSuspended").await;
}

pub async fn c1_a_cron_job_is_healthy_before_its_first_run(env: TestEnv) {
    env.set_present(vec![cron_job("nightly")], Policies::default());
    let (health, _) = env.until_health("nightly", Healthy, "").await;
    assert_eq!(health.message, "has not been scheduled yet");
}

pub async fn c1_a_suspended_cron_job_is_suspended(env: TestEnv) {
    env.set_present(
        vec![with_spec_fields(cron_job("nightly"), json!({"suspend": true}))],
        Policies::default(),
    );
    env.until_health("nightly", Suspended, "CronJobSuspended").await;
}

/// A CronJob whose last run is overdue, as after downtime of its controller.
pub async fn create_overdue_cron_job(env: &TestEnv, ailment: Option<PodFault>) {
    let mut minutely = cron_job("minutely");
    minutely["spec"] =
        json!({"schedule": "* * * * *", "jobTemplate": {"spec": job("minutely", ailment)["spec"]}});
    env.set_present(vec![minutely], Policies::default());
    env.until_applied().await;
    let long_ago = json!({"lastScheduleTime": minutes_ago(3), "lastSuccessfulTime": minutes_ago(2)});
    env.merge_patch_status(("batch/v1", "CronJob"), "minutely", long_ago).await;
}

fn minutes_ago(minutes: i64) -> String {
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let then = i64::try_from(now).unwrap() - 60 * minutes;
    domain::Timestamp::from_millis(then * 1_000).to_string()
}

pub async fn c1_a_cron_job_whose_last_run_failed_is_degraded(env: TestEnv) {
    create_overdue_cron_job(&env, Some(PodFault::Crash)).await;
    env.until_health("minutely", Degraded, "LastRunFailed").await;
}

pub async fn c1_a_cron_job_that_has_never_succeeded_is_degraded(env: TestEnv) {
    env.set_present(vec![cron_job("nightly")], Policies::default());
    env.until_operational().await;
    env.merge_patch_status(CRON_JOB, "nightly", json!({"lastScheduleTime": minutes_ago(2)})).await;
    let (health, _) = env.until_health("nightly", Degraded, "LastRunFailed").await;
    assert_eq!(health.message, "has never completed an execution successfully");
}

pub async fn c1_a_cron_job_whose_last_run_succeeded_is_healthy(env: TestEnv) {
    create_overdue_cron_job(&env, None).await;
    let has_run = async || {
        let live = env.get(("batch/v1", "CronJob"), "minutely").await.unwrap();
        live["status"]["lastSuccessfulTime"].as_str().is_some_and(|time| *time > *minutes_ago(2))
    };
    env.wait_until("run", has_run).await;
    env.until_health("minutely", Healthy, "").await;
}

/// Starts a run of the CronJob `nightly` that does not end, instead of those that run, in one write of the status with these fields.
async fn start_endless_run(env: &TestEnv, name: &str, mut status: Value) {
    let owner = env.get(CRON_JOB, "nightly").await.unwrap();
    let mut run = job(name, None);
    run["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
    run["metadata"]["ownerReferences"] = json!([{"apiVersion": CRON_JOB.0, "kind": CRON_JOB.1,
        "name": "nightly", "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}]);
    let run = env.create(run, "kube-controller-manager").await;
    status["active"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": name,
        "namespace": env.namespace, "uid": run["metadata"]["uid"]}]);
    env.merge_patch_status(CRON_JOB, "nightly", status).await;
}

/// Waits until two later drifts of the label `tier` of `nightly` are healed one after the other, which proves that what was written
/// before was observed and reported.
async fn wait_for_later_reports(env: &TestEnv) {
    for count in [1, 2] {
        let patch = json!({"metadata": {"labels": {"tier": "back"}}});
        env.merge_patch(CRON_JOB, "nightly", patch, "kubectl-edit").await;
        let is_healed =
            async || env.get(CRON_JOB, "nightly").await.unwrap()["metadata"]["labels"]["tier"] == "front";
        env.wait_until("healed", is_healed).await;
        env.wait_until("reported", async || env.agent.drift().len() == count).await;
    }
}

pub async fn c1_a_cron_job_is_not_healthy_after_a_restart_while_it_runs_again_after_a_failure(
    mut env: TestEnv,
) {
    let objects = vec![cron_job("nightly")];
    env.set_present(objects.clone(), Policies::default());
    env.until_operational().await;
    let failed = json!({"lastScheduleTime": minutes_ago(2), "lastSuccessfulTime": minutes_ago(3)});
    env.merge_patch_status(CRON_JOB, "nightly", failed).await;
    env.until_health("nightly", Degraded, "LastRunFailed").await;
    start_endless_run(&env, "nightly-run", json!({})).await;
    // Nothing on the cluster tells how the run before ended.
    env.restart_agent_ahead(Duration::ZERO, objects).await;
    let (health, _) = env.until_health("nightly", Progressing, "LastRunUnknown").await;
    assert!(!health.status.is_operational());
    let report = env.agent.report(env.release).unwrap();
    let operational = stage_state(&report, StageName::Operational);
    assert!(!operational.is_some_and(StageState::is_finished), "{report:#?}");
    env.delete(JOB, "nightly-run").await;
    env.until_health("nightly", Degraded, "LastRunFailed").await;
}

pub async fn c1_a_cron_job_stays_degraded_while_it_runs_again_after_a_failure(env: TestEnv) {
    let mut nightly = cron_job("nightly");
    nightly["metadata"]["labels"] = json!({"tier": "front"});
    env.set_present(vec![nightly], Policies::default());
    env.until_operational().await;
    env.merge_patch_status(CRON_JOB, "nightly", json!({"lastScheduleTime": minutes_ago(2)})).await;
    env.until_health("nightly", Degraded, "LastRunFailed").await;
    start_endless_run(&env, "nightly-run", json!({})).await;
    wait_for_later_reports(&env).await;
    let report = env.agent.report(env.release).unwrap();
    assert_eq!(report.resources[0].health.reason, "LastRunFailed", "{report:#?}");
    env.delete(JOB, "nightly-run").await;
    env.until_health("nightly", Degraded, "LastRunFailed").await;
}

pub async fn c1_a_cron_job_stays_healthy_while_its_runs_replace_each_other(env: TestEnv) {
    let mut nightly = with_spec_fields(cron_job("nightly"), json!({"concurrencyPolicy": "Replace"}));
    nightly["metadata"]["labels"] = json!({"tier": "front"});
    env.set_present(vec![nightly], Policies::default());
    env.until_operational().await;
    start_endless_run(&env, "nightly-first", json!({"lastScheduleTime": minutes_ago(3)})).await;
    let is_running = |report: &ReleaseReport| report.resources[0].health.message == "running";
    env.wait_for_report("running", is_running).await;
    // The controller deletes the first one, and records both in one write.
    start_endless_run(&env, "nightly-second", json!({"lastScheduleTime": minutes_ago(2)})).await;
    env.delete(JOB, "nightly-first").await;
    wait_for_later_reports(&env).await;
    let report = env.agent.report(env.release).unwrap();
    assert_eq!(report.resources[0].health.status, Healthy, "{report:#?}");
    env.delete(JOB, "nightly-second").await;
    env.until_health("nightly", Degraded, "LastRunFailed").await;
}

pub async fn c1_a_replica_set_becomes_healthy(env: TestEnv) {
    env.set_present(vec![workload("ReplicaSet", "web", None)], Policies::default());
    env.until_operational().await;
    assert_eq!(env.list(POD).await.len(), 2);
}
