//! Diagnosis of pods that do not run.

use std::time::Duration;

use domain::health::HealthStatus::{Degraded, Healthy, Progressing};
use domain::release::{StageName, StageState};
use domain::workload::Policies;
use serde_json::{Value, json};
use testkit::PodFault;

use crate::test_env::*;

fn pod(name: &str, ailment: Option<PodFault>) -> Value {
    let mut pod = template(name, ailment);
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = name.into();
    pod
}

pub async fn c3_a_crash_loop_is_reported_with_its_exit_code(env: TestEnv) {
    env.set_present(vec![workload("Deployment", "web", Some(PodFault::Crash))], Policies::default());
    let (_, causes) = env.until_health("web", Degraded, "CrashLoop").await;
    assert!(causes[0].message().contains("container web exits with 1"), "{causes:?}");
}

pub async fn c3_a_container_out_of_memory_is_reported_with_its_limit(env: TestEnv) {
    let mut limited = workload("Deployment", "web", Some(PodFault::OutOfMemory));
    limited["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"limits": {"memory": "128Mi"}});
    env.set_present(vec![limited], Policies::default());
    let (_, causes) = env.until_health("web", Degraded, "OOMKilled").await;
    assert!(causes[0].summary.contains("memory limit 128Mi"), "{causes:?}");
}

pub async fn c3_an_image_that_cannot_be_pulled_is_reported(env: TestEnv) {
    env.set_present(vec![workload("Deployment", "web", Some(PodFault::ImagePull))], Policies::default());
    let (_, causes) = env.until_health("web", Degraded, "ImagePullFailed").await;
    assert!(causes[0].summary.contains("cannot pull image does-not-exist:1"), "{causes:?}");
    assert!(causes[0].pod.starts_with("web-") && causes[0].container == "web", "{causes:?}");
}

pub async fn c3_pods_of_the_revision_before_do_not_degrade_a_rollback(env: TestEnv) {
    env.set_present(vec![workload("Deployment", "web", None)], Policies::default());
    env.until_operational().await;
    env.set_present(vec![workload("Deployment", "web", Some(PodFault::ImagePull))], Policies::default());
    env.until_health("web", Degraded, "ImagePullFailed").await;
    let before = env.agent.problems().len();
    env.set_present(vec![workload("Deployment", "web", None)], Policies::default());
    env.until_operational().await;
    let problems = env.agent.problems().split_off(before);
    assert!(!problems.iter().any(|text| text.contains("cannot pull")), "{problems:?}");
}

/// Publishes a workload, an image of it that cannot be pulled, and the first revision again; returns the number of problems before.
async fn roll_back_failing_image(env: &TestEnv, kind: &str) -> usize {
    env.set_present(vec![workload(kind, "db", None)], Policies::default());
    env.until_operational().await;
    env.set_present(vec![workload(kind, "db", Some(PodFault::ImagePull))], Policies::default());
    env.until_health("db", Degraded, "ImagePullFailed").await;
    let before = env.agent.problems().len();
    env.set_present(vec![workload(kind, "db", None)], Policies::default());
    before
}

pub async fn c3_a_pod_of_a_revision_that_was_rolled_back_blocks_a_stateful_set_until_it_is_deleted(
    env: TestEnv,
) {
    let before = roll_back_failing_image(&env, "StatefulSet").await;
    let (health, causes) = env.until_health("db", Degraded, "UpdateBlocked").await;
    assert_eq!(health.message, "pod db-1 of an earlier revision blocks the update: delete it");
    assert!(causes.len() == 1 && causes[0].detail.contains("cannot pull image"), "{causes:?}");
    let is_explained =
        |report: &domain::report::ReleaseReport| match stage_state(report, StageName::ImagesPulled) {
            Some(StageState::Running { message }) => message.contains("blocks the update"),
            _ => false,
        };
    env.wait_for_report("a stage that names the pod", is_explained).await;
    env.delete(POD, "db-1").await;
    env.until_operational().await;
    env.until_health("db", Healthy, "").await;
    let problems = env.agent.problems().split_off(before);
    assert!(!problems.iter().any(|text| text.contains("cannot pull")), "{problems:?}");
}

pub async fn c3_a_pod_of_the_first_revision_blocks_the_revision_that_fixes_a_stateful_set(env: TestEnv) {
    env.set_present(vec![workload("StatefulSet", "db", Some(PodFault::Crash))], Policies::default());
    env.until_health("db", Degraded, "CrashLoop").await;
    env.set_present(vec![workload("StatefulSet", "db", None)], Policies::default());
    let (health, _) = env.until_health("db", Degraded, "UpdateBlocked").await;
    assert!(health.message.contains("pod db-0 of an earlier revision"), "{health:?}");
    env.delete(POD, "db-0").await;
    env.until_operational().await;
}

pub async fn c3_a_daemon_set_replaces_failing_pods_of_a_revision_that_was_rolled_back(env: TestEnv) {
    roll_back_failing_image(&env, "DaemonSet").await;
    env.until_operational().await;
    env.until_health("db", Healthy, "").await;
}

/// It is progressing at first, because the scheduler retries.
async fn assert_unschedulable(mut env: TestEnv, object: Value, message: &str) {
    env.set_present(vec![object.clone()], Policies::default());
    let found = env.wait_for_report("unschedulable", |report| {
        report.resources.iter().any(|resource| !resource.failure_causes.is_empty())
    });
    let report = found.await;
    assert_eq!(report.health.status, Progressing);
    assert_eq!(report.health.reason, "Unschedulable");
    let is_explained =
        |report: &domain::report::ReleaseReport| match stage_state(report, StageName::ImagesPulled) {
            Some(StageState::Running { message: text }) => text.contains(message),
            _ => false,
        };
    env.wait_for_report("a stage with the scheduler's message", is_explained).await;
    env.restart_agent_ahead(Duration::from_secs(240), vec![object.clone()]).await;
    let (health, _) = env.until_health("web", Progressing, "Unschedulable").await;
    assert!(health.message.contains(message), "{health:?}");
    env.restart_agent_ahead(Duration::from_secs(600), vec![object]).await;
    let (_, causes) = env.until_health("web", Degraded, "Unschedulable").await;
    assert!(causes[0].summary.contains(message), "{causes:?}");
}

pub async fn c3_a_pod_that_fits_no_node_is_unschedulable(env: TestEnv) {
    let mut large = workload("Deployment", "web", None);
    large["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "99"}});
    assert_unschedulable(env, large, "0/3 nodes are available: 3 Insufficient cpu").await;
}

pub async fn c3_a_selector_no_node_matches_is_unschedulable(env: TestEnv) {
    let mut selective = workload("Deployment", "web", None);
    selective["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "fast"});
    let message = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector";
    assert_unschedulable(env, selective, message).await;
}

pub async fn c3_a_pod_whose_volume_is_provisioned_late_waits_for_it(env: TestEnv) {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"storageClassName": "late", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}});
    let mut web = workload("Deployment", "web", None);
    web["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    env.set_present(vec![claim, web], Policies::default());
    let (health, causes) = env.until_health("web", Progressing, "VolumePending").await;
    assert!(causes[0].summary.contains("waits for the volume of claim data: "), "{causes:?}");
    assert!(health.message.contains("unbound immediate PersistentVolumeClaims"), "{health:?}");
    let is_explained =
        |report: &domain::report::ReleaseReport| match stage_state(report, StageName::ImagesPulled) {
            Some(StageState::Running { message }) => message.contains("waits for the volume of claim data"),
            _ => false,
        };
    env.wait_for_report("a stage that names the claim", is_explained).await;
}

pub async fn c3_a_failing_probe_is_the_cause_while_progressing(env: TestEnv) {
    env.set_present(vec![workload("Deployment", "web", Some(PodFault::NeverReady))], Policies::default());
    let has_cause = |report: &domain::report::ReleaseReport| report.health.message.contains("probe failed");
    let report = env.wait_for_report("explained", has_cause).await;
    assert_eq!(report.health.status, Progressing);
    let web = &report.resources[0];
    assert!(
        web.failure_causes[0]
            .summary
            .contains("Readiness probe failed: HTTP probe failed with statuscode: 503"),
        "{web:?}"
    );
}

pub async fn c3_a_bare_pod_runs_and_is_healthy(env: TestEnv) {
    env.set_present(vec![pod("alone", None)], Policies::default());
    env.until_operational().await;
    env.until_health("alone", Healthy, "").await;
}

pub async fn c3_a_bare_pod_that_fails_is_degraded(env: TestEnv) {
    let mut failing = pod("alone", Some(PodFault::Crash));
    failing["spec"]["restartPolicy"] = "Never".into();
    env.set_present(vec![failing], Policies::default());
    env.wait_for_report("degraded", |report| report.health.status == Degraded).await;
}

/// Ends a pod of a Deployment with 2 replicas as its node would, with the status for this time, and waits until it is replaced.
async fn end_pod(env: &TestEnv, status: impl Fn(&str) -> Value) {
    env.set_present(vec![workload("Deployment", "web", None)], Policies::default());
    env.until_operational().await;
    let pods = env.list(POD).await;
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    // So late that an exit at that time would count as a crash.
    let created = pods[0]["metadata"]["creationTimestamp"].as_str().unwrap();
    env.merge_patch_status(POD, name, status(created)).await;
    env.wait_until("replaced", async || env.list(POD).await.len() > pods.len()).await;
    let is_available = async || env.get(DEPLOYMENT, "web").await.unwrap()["status"]["availableReplicas"] == 2;
    env.wait_until("available", is_available).await;
}

/// Waits until the release is healthy with the cause of the pod that ended as a note.
async fn until_healthy_with_note(env: &TestEnv) {
    let is_settled = |report: &domain::report::ReleaseReport| {
        let has_cause = report.resources.iter().any(|resource| !resource.failure_causes.is_empty());
        let are_pulled = matches!(stage_state(report, StageName::ImagesPulled), Some(StageState::Done));
        has_cause && are_pulled && report.health.status == Healthy
    };
    env.wait_for_report("healthy with the cause of the ended pod", is_settled).await;
}

pub async fn c3_a_pod_that_has_ended_fails_nothing_once_it_is_replaced(env: TestEnv) {
    let waiting = json!([{"name": "web", "image": "nginx", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}}]);
    end_pod(&env, |_| json!({"phase": "Failed", "reason": "Evicted", "containerStatuses": waiting})).await;
    until_healthy_with_note(&env).await;
}

pub async fn c3_a_pod_that_its_node_ended_is_a_note_whatever_its_exit_code(env: TestEnv) {
    let status = |at: &str| {
        let ended = json!({"exitCode": 137, "reason": "Error", "startedAt": at, "finishedAt": at});
        json!({"phase": "Failed", "reason": "Terminated",
            "message": "Pod was terminated in response to imminent node shutdown.",
            "containerStatuses": [{"name": "web", "image": "nginx", "imageID": "", "ready": false,
                "restartCount": 0, "state": {"terminated": ended}}]})
    };
    end_pod(&env, status).await;
    until_healthy_with_note(&env).await;
}

pub async fn c3_a_pod_that_was_evicted_without_containers_is_a_note(env: TestEnv) {
    let status = |_: &str| {
        json!({"phase": "Failed", "reason": "Evicted", "containerStatuses": null,
            "message": "The node was low on resource: memory."})
    };
    end_pod(&env, status).await;
    until_healthy_with_note(&env).await;
    let report = env.agent.report(env.release).unwrap();
    let causes = &report.resources[0].failure_causes;
    assert!(causes[0].summary.contains("The node was low on resource"), "{causes:?}");
}

/// Statuses of the container of a pod that exited with 0.
fn exited_with_0(at: &str) -> Value {
    let ended = json!({"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at});
    json!([{"name": "web", "image": "nginx", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": ended}}])
}

pub async fn c3_a_pod_that_failed_although_its_container_exited_with_0_is_a_note(env: TestEnv) {
    let status = |at: &str| {
        json!({"phase": "Failed", "reason": "Terminated", "containerStatuses": exited_with_0(at),
            "message": "Pod was terminated in response to imminent node shutdown."})
    };
    end_pod(&env, status).await;
    until_healthy_with_note(&env).await;
}

/// The phase of a pod that its node ended depends on the exit code of its container.
pub async fn c3_a_pod_of_a_deployment_that_its_node_completed_fails_no_later_revision(env: TestEnv) {
    end_pod(&env, |at| json!({"phase": "Succeeded", "containerStatuses": exited_with_0(at)})).await;
    let mut labeled = workload("Deployment", "web", None);
    labeled["metadata"]["labels"] = json!({"tier": "front"});
    env.set_present(vec![labeled], Policies::default());
    env.until_operational().await;
    env.until_health("web", Healthy, "").await;
}

pub async fn c3_a_pod_of_a_stateful_set_that_its_node_ended_is_replaced(env: TestEnv) {
    env.set_present(vec![workload("StatefulSet", "db", None)], Policies::default());
    env.until_operational().await;
    let uid = async || env.get(POD, "db-1").await.map(|pod| pod["metadata"]["uid"].clone());
    let ended = uid().await.unwrap();
    let evicted = json!({"phase": "Failed", "reason": "Evicted", "containerStatuses": null});
    env.merge_patch_status(POD, "db-1", evicted).await;
    env.wait_until("replaced", async || uid().await.is_some_and(|found| found != ended)).await;
    let is_ready = async || env.get(STATEFUL_SET, "db").await.unwrap()["status"]["readyReplicas"] == 2;
    env.wait_until("ready", is_ready).await;
    env.until_health("db", Healthy, "").await;
}
