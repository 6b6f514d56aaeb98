//! Health of workloads as their controllers produce them (`health.md` C.1).

use std::time::Duration;

use domain::health::HealthStatus::{Degraded, Healthy, Progressing, Suspended};
use domain::report::ReleaseReport;
use domain::workload::Policies;
use serde_json::{Value, json};
use testkit::Ailment;

use crate::place::*;

fn with(mut object: Value, fields: Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        object["spec"][name] = value.clone();
    }
    object
}

fn job(name: &str, ailment: Option<Ailment>) -> Value {
    let mut template = template(name, ailment);
    template["spec"]["restartPolicy"] = "Never".into();
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": template}})
}

fn cron_job(name: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job(name, None)["spec"]}}})
}

pub async fn c1_a_deployment_becomes_healthy(place: Place) {
    place.wants(vec![workload("Deployment", "web", None)], Policies::default());
    place.until_health("web", Healthy, "").await;
    place.until_operational().await;
}

pub async fn c1_a_deployment_that_starts_slowly_is_progressing(place: Place) {
    let time = Duration::from_secs(4);
    if let Some(cluster) = place.cluster() {
        cluster.faults().set_slow_start(vec![("web".into(), time)]);
    }
    place.wants(vec![workload("Deployment", "web", Some(Ailment::SlowStart(time)))], Policies::default());
    place.until_health("web", Progressing, "ReplicasUnavailable").await;
    place.until_health("web", Healthy, "").await;
}

pub async fn c1_a_deployment_past_its_deadline_is_degraded(place: Place) {
    let late =
        with(workload("Deployment", "web", Some(Ailment::NeverReady)), json!({"progressDeadlineSeconds": 1}));
    place.wants(vec![late], Policies::default());
    place.until_health("web", Degraded, "ProgressDeadlineExceeded").await;
}

pub async fn c1_a_paused_deployment_is_suspended(place: Place) {
    place
        .wants(vec![with(workload("Deployment", "web", None), json!({"paused": true}))], Policies::default());
    place.until_health("web", Suspended, "DeploymentPaused").await;
}

pub async fn c1_a_deployment_scaled_to_zero_is_healthy(place: Place) {
    place.wants(vec![with(workload("Deployment", "web", None), json!({"replicas": 0}))], Policies::default());
    let (health, _) = place.until_health("web", Healthy, "").await;
    assert_eq!(health.message, "scaled to zero");
}

pub async fn c1_an_update_that_gets_stuck_is_degraded_while_old_pods_serve(place: Place) {
    place.wants(vec![workload("Deployment", "web", None)], Policies::default());
    place.until_operational().await;
    place.wants(vec![workload("Deployment", "web", Some(Ailment::ImagePull))], Policies::default());
    place.until_health("web", Degraded, "ImagePullFailed").await;
    let live = place.get(DEPLOYMENT, "web").await.unwrap();
    assert!(live["status"]["availableReplicas"].as_i64() >= Some(1), "{live}");
    place.wants(vec![workload("Deployment", "web", None)], Policies::default());
    place.until_operational().await;
}

pub async fn c1_a_stateful_set_becomes_healthy(place: Place) {
    place.wants(vec![workload("StatefulSet", "db", None)], Policies::default());
    place.until_health("db", Healthy, "").await;
    let mut names: Vec<Value> =
        place.list(POD).await.into_iter().map(|mut pod| pod["metadata"]["name"].take()).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["db-0", "db-1"]);
    place.until_operational().await;
}

pub async fn c1_a_stateful_set_stops_at_its_first_bad_pod(place: Place) {
    place.wants(vec![workload("StatefulSet", "db", Some(Ailment::Crash))], Policies::default());
    place.until_health("db", Degraded, "CrashLoop").await;
    assert_eq!(place.list(POD).await.len(), 1);
}

pub async fn c1_a_daemon_set_runs_on_every_node(place: Place) {
    place.wants(vec![workload("DaemonSet", "log", None)], Policies::default());
    place.until_operational().await;
    place.until_health("log", Healthy, "").await;
    let mut nodes: Vec<Value> =
        place.list(POD).await.into_iter().map(|mut pod| pod["spec"]["nodeName"].take()).collect();
    nodes.sort_by_key(ToString::to_string);
    nodes.dedup();
    assert_eq!(nodes.len(), 3);
}

pub async fn c1_a_daemon_set_without_a_node_is_healthy_and_says_so(place: Place) {
    let mut nowhere = workload("DaemonSet", "log", None);
    nowhere["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
    place.wants(vec![nowhere], Policies::default());
    place.until_health("log", Healthy, "NoMatchingNodes").await;
}

pub async fn c1_a_job_completes(place: Place) {
    place.wants(vec![job("once", None)], Policies::default());
    place.until_health("once", Healthy, "Completed").await;
    // The controller counts its pods a moment after it has called them enough.
    let counted = |report: &ReleaseReport| report.resources[0].health.message == "1/1 succeeded";
    place.until("counted", counted).await;
    place.until_operational().await;
}

pub async fn c1_a_job_past_its_retries_is_degraded(place: Place) {
    place.wants(vec![job("once", Some(Ailment::Crash))], Policies::default());
    place.until_health("once", Degraded, "BackoffLimitExceeded").await;
}

pub async fn c1_a_suspended_job_is_suspended(place: Place) {
    place.wants(vec![with(job("once", None), json!({"suspend": true}))], Policies::default());
    place.until_health("once", Suspended, "JobSuspended").await;
}

pub async fn c1_a_cron_job_is_healthy_before_its_first_run(place: Place) {
    place.wants(vec![cron_job("nightly")], Policies::default());
    let (health, _) = place.until_health("nightly", Healthy, "").await;
    assert_eq!(health.message, "has not been scheduled yet");
}

pub async fn c1_a_suspended_cron_job_is_suspended(place: Place) {
    place.wants(vec![with(cron_job("nightly"), json!({"suspend": true}))], Policies::default());
    place.until_health("nightly", Suspended, "CronJobSuspended").await;
}

/// A CronJob that should have run a minute ago, as its controller finds it after it was away.
async fn overdue(place: &Place, ailment: Option<Ailment>) {
    let mut minutely = cron_job("minutely");
    minutely["spec"] =
        json!({"schedule": "* * * * *", "jobTemplate": {"spec": job("minutely", ailment)["spec"]}});
    place.wants(vec![minutely], Policies::default());
    place.until_applied().await;
    let long_ago = json!({"lastScheduleTime": minutes_ago(3), "lastSuccessfulTime": minutes_ago(2)});
    place.merge_status(("batch/v1", "CronJob"), "minutely", long_ago).await;
}

fn minutes_ago(minutes: i64) -> String {
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let then = i64::try_from(now).unwrap() - 60 * minutes;
    domain::Timestamp::from_millis(then * 1_000).to_string()
}

pub async fn c1_a_cron_job_whose_last_run_failed_is_degraded(place: Place) {
    overdue(&place, Some(Ailment::Crash)).await;
    place.until_health("minutely", Degraded, "LastRunFailed").await;
}

pub async fn c1_a_cron_job_whose_last_run_succeeded_is_healthy(place: Place) {
    overdue(&place, None).await;
    let ran = async || {
        let live = place.get(("batch/v1", "CronJob"), "minutely").await.unwrap();
        live["status"]["lastSuccessfulTime"].as_str().is_some_and(|time| *time > *minutes_ago(2))
    };
    place.eventually("run", ran).await;
    place.until_health("minutely", Healthy, "").await;
}

pub async fn c1_a_replica_set_becomes_healthy(place: Place) {
    place.wants(vec![workload("ReplicaSet", "web", None)], Policies::default());
    place.until_operational().await;
    assert_eq!(place.list(POD).await.len(), 2);
}
