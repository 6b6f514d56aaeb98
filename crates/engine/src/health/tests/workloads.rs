//! Kinds that run containers.

use super::*;

#[test]
fn deployments_follow_their_replicas_and_conditions() {
    let base = json!({"spec": {"replicas": 3}, "status": {"observedGeneration": 2, "replicas": 3,
        "updatedReplicas": 3, "availableReplicas": 3, "conditions": [condition("Available", "True", "", "")]}});
    let with = |c: Value| json!({"status": {"conditions": [c]}});
    assert_health(
        "apps/v1",
        "Deployment",
        &base,
        &[
            (json!({}), Healthy, ""),
            (json!({"spec": {"paused": true}}), Suspended, "Deployment is paused"),
            (
                with(condition("Progressing", "False", "ProgressDeadlineExceeded", "")),
                Degraded,
                "exceeded its progress deadline",
            ),
            (
                with(condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota: small")),
                Degraded,
                "FailedCreate exceeded quota",
            ),
            (
                json!({"status": {"updatedReplicas": 1}}),
                Progressing,
                "1 out of 3 new replicas have been updated",
            ),
            (json!({"status": {"replicas": 4}}), Progressing, "1 old replicas are pending termination"),
            (
                json!({"status": {"availableReplicas": 2}}),
                Progressing,
                "2 of 3 updated replicas are available",
            ),
            (
                with(condition("Available", "False", "MinimumReplicasUnavailable", "")),
                Progressing,
                "MinimumReplicasUnavailable",
            ),
            (
                json!({"spec": {"replicas": 0},
                    "status": {"replicas": 0, "updatedReplicas": 0, "availableReplicas": 0}}),
                Healthy,
                "scaled to zero",
            ),
            (json!({"status": {"observedGeneration": null}}), Progressing, "LatestGenerationNotObserved"),
        ],
    );
}

#[test]
fn replica_sets_and_replication_controllers_need_their_replicas() {
    let base = json!({"spec": {"replicas": 2}, "status": {"observedGeneration": 2, "availableReplicas": 2}});
    let failure =
        json!({"status": {"conditions": [condition("ReplicaFailure", "True", "FailedCreate", "denied")]}});
    for (version, kind) in [("apps/v1", "ReplicaSet"), ("v1", "ReplicationController")] {
        let rows = [
            (json!({}), Healthy, ""),
            (json!({"status": {"availableReplicas": 1}}), Progressing, "1 of 2 replicas are available"),
            (failure.clone(), Degraded, "denied"),
        ];
        assert_health(version, kind, &base, &rows);
    }
}

#[test]
fn stateful_sets_follow_their_rollout_and_are_degraded_only_without_progress() {
    let base = json!({"spec": {"replicas": 3}, "status": {"observedGeneration": 2, "replicas": 3, "readyReplicas": 3,
        "updatedReplicas": 3, "currentRevision": "r1", "updateRevision": "r1"}});
    let partition = |updated: u32| {
        json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}},
            "status": {"updatedReplicas": updated}})
    };
    let stuck = |time: &str| {
        json!({"metadata": {"managedFields": [{"manager": "kube-controller-manager", "subresource": "status",
            "time": time}]}, "status": {"readyReplicas": 1}})
    };
    assert_health(
        "apps/v1",
        "StatefulSet",
        &base,
        &[
            (json!({}), Healthy, ""),
            (json!({"status": {"observedGeneration": null}}), Progressing, "spec update to be observed"),
            (json!({"status": {"readyReplicas": 1}}), Progressing, "Waiting for 2 pods to be ready"),
            (json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}), Healthy, "3 ready pods"),
            (partition(1), Progressing, "partitioned roll out: 1 of 2"),
            (partition(2), Healthy, "partitioned roll out complete"),
            (json!({"status": {"replicas": 4}}), Progressing, "1 pending termination"),
            (
                json!({"status": {"updateRevision": "r2", "updatedReplicas": 1}}),
                Progressing,
                "1 pods at revision r2",
            ),
            (stuck(JUST_NOW), Progressing, "Waiting for 2 pods"),
            (stuck(LONG_AGO), Degraded, "NoProgress no progress for 2 h: Waiting for 2 pods"),
        ],
    );
}

#[test]
fn daemon_sets_need_a_pod_on_every_node() {
    let base = json!({"status": {"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3,
        "numberAvailable": 3}});
    assert_health(
        "apps/v1",
        "DaemonSet",
        &base,
        &[
            (json!({}), Healthy, ""),
            (json!({"status": {"desiredNumberScheduled": null}}), Progressing, "NotScheduledYet"),
            (json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}), Healthy, ""),
            (
                json!({"status": {"updatedNumberScheduled": 1}}),
                Progressing,
                "1 out of 3 new pods have been updated",
            ),
            (json!({"status": {"numberAvailable": 2}}), Progressing, "2 of 3 updated pods are available"),
            (
                json!({"status": {"desiredNumberScheduled": 0, "updatedNumberScheduled": 0, "numberAvailable": 0}}),
                Healthy,
                "NoMatchingNodes",
            ),
        ],
    );
}

#[test]
fn jobs_follow_the_status_of_their_conditions() {
    let with = |c: Value| json!({"status": {"conditions": [c]}});
    assert_health(
        "batch/v1",
        "Job",
        &json!({"spec": {"completions": 2}, "status": {"startTime": LONG_AGO, "active": 1, "succeeded": 2}}),
        &[
            (
                with(condition("Failed", "True", "BackoffLimitExceeded", "gave up")),
                Degraded,
                "BackoffLimitExceeded",
            ),
            (with(condition("Failed", "False", "", "")), Progressing, "active 1, succeeded 2, failed 0"),
            (with(condition("Complete", "True", "", "")), Healthy, "Completed 2/2 succeeded"),
            (with(condition("SuccessCriteriaMet", "True", "", "")), Healthy, "Completed"),
            (json!({"spec": {"suspend": true}}), Suspended, "Job is suspended"),
            (json!({"status": {"startTime": null}}), Progressing, "JobNotStarted"),
        ],
    );
}

#[test]
fn cron_jobs_follow_their_last_run() {
    assert_health(
        "batch/v1",
        "CronJob",
        &json!({"status": {"lastScheduleTime": NOW, "lastSuccessfulTime": NOW}}),
        &[
            (json!({}), Healthy, ""),
            (json!({"spec": {"suspend": true}}), Suspended, "CronJob is suspended"),
            (json!({"status": null}), Progressing, "first status"),
            (json!({"status": {"lastScheduleTime": null}}), Healthy, "has not been scheduled yet"),
            (json!({"status": {"lastSuccessfulTime": null}}), Degraded, "never completed an execution"),
            (json!({"status": {"active": [{}]}}), Healthy, ""),
            (json!({"status": {"lastSuccessfulTime": null, "active": [{}]}}), Progressing, "LastRunUnknown"),
            (json!({"status": {"lastSuccessfulTime": LONG_AGO, "active": [{}]}}), Progressing, "run before"),
            (json!({"status": {"lastSuccessfulTime": LONG_AGO}}), Degraded, "last execution"),
        ],
    );
}

/// A CronJob whose Jobs of these uids run, the newest of them scheduled at this time.
fn running_cron_job(active: &[&str], scheduled: &str, succeeded: &str) -> Value {
    let active: Vec<Value> = active.iter().map(|uid| json!({"uid": uid})).collect();
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "status":
        {"active": active, "lastScheduleTime": scheduled, "lastSuccessfulTime": succeeded}})
}

fn assess_run(object: &Value, before: Option<&Health>, runs: Option<&CronJobRuns>) -> Health {
    retain_last_run(assess(object, true, now()), object, before, runs)
}

#[test]
fn a_cron_job_whose_job_runs_is_what_its_run_before_led_to() {
    let running = running_cron_job(&["b"], NOW, LONG_AGO);
    let failed = degraded("LastRunFailed", "no");
    assert_eq!(assess_run(&running, Some(&failed), None), failed);
    let unscheduled = healthy("has not been scheduled yet");
    assert_eq!(assess_run(&running, Some(&unscheduled), None), healthy("running"));
    let ended = running_cron_job(&[], NOW, NOW);
    assert_eq!(assess_run(&ended, Some(&failed), None), healthy(""), "its last run succeeded");
}

#[test]
fn a_cron_job_whose_job_runs_is_not_healthy_unless_its_run_before_is_known() {
    let running = running_cron_job(&["b"], NOW, LONG_AGO);
    let unknown = assess(&running, true, now());
    assert_eq!((unknown.status, unknown.reason.as_str()), (Progressing, "LastRunUnknown"));
    for before in [None, Some(&unknown), Some(&suspended("CronJobSuspended", "is suspended"))] {
        assert_eq!(assess_run(&running, before, None), unknown, "{before:?}");
    }
}

#[test]
fn a_run_that_fails_in_the_write_that_starts_the_next_one_is_a_failure() {
    let before = running_cron_job(&["a"], JUST_NOW, LONG_AGO);
    let (healthy_before, runs) = (healthy("running"), CronJobRuns::of(&before));
    let assess_next = |next: &Value| assess_run(next, Some(&healthy_before), runs.as_ref());
    assert_eq!(assess_next(&running_cron_job(&["b"], NOW, LONG_AGO)).reason, "LastRunFailed");
    assert_eq!(assess_next(&running_cron_job(&["b"], NOW, JUST_NOW)), healthy("running"));
    assert_eq!(assess_next(&running_cron_job(&["a", "b"], NOW, LONG_AGO)), healthy("running"));
}

#[test]
fn a_run_that_the_next_one_replaces_is_no_failure() {
    let replacing = |active: &[&str], succeeded: &str| {
        let mut object = running_cron_job(active, NOW, succeeded);
        object["spec"] = json!({"concurrencyPolicy": "Replace"});
        object
    };
    let runs = CronJobRuns::of(&running_cron_job(&["a"], JUST_NOW, LONG_AGO));
    let next = |object: &Value, before: &Health| assess_run(object, Some(before), runs.as_ref());
    assert_eq!(next(&replacing(&["b"], LONG_AGO), &healthy("running")), healthy("running"));
    let failed = degraded("LastRunFailed", "no");
    assert_eq!(next(&replacing(&["b"], LONG_AGO), &failed), failed, "the run before it failed");
    assert_eq!(next(&replacing(&["b"], JUST_NOW), &failed), healthy("running"), "it succeeded before");
    assert_eq!(next(&replacing(&[], LONG_AGO), &healthy("running")).reason, "LastRunFailed");
}

#[test]
fn pods_follow_phase_readiness_and_containers() {
    let unschedulable = condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available");
    let ended = json!([{"name": "web", "state": {"terminated": {"exitCode": 3}}}]);
    assert_health(
        "v1",
        "Pod",
        &json!({"status": {"phase": "Running"}}),
        &[
            (json!({"status": {"conditions": [condition("Ready", "True", "", "")]}}), Healthy, ""),
            (json!({}), Progressing, "PodNotReady"),
            (
                json!({"status": {"containerStatuses": [waiting("ErrImagePull", "no such image")]}}),
                Degraded,
                "ErrImagePull no such image",
            ),
            (
                json!({"status": {"phase": "Pending", "conditions": [unschedulable]}}),
                Degraded,
                "Unschedulable cannot be scheduled: 0/3 nodes",
            ),
            (
                json!({"metadata": {"creationTimestamp": JUST_NOW},
                    "status": {"phase": "Pending", "conditions": [unschedulable]}}),
                Progressing,
                "Unschedulable",
            ),
            (json!({"spec": {"restartPolicy": "Never"}}), Progressing, "running to completion"),
            (
                json!({"status": {"containerStatuses": [{"name": "web",
                    "lastState": {"terminated": {"exitCode": 1}}}]}}),
                Degraded,
                "exit code 1",
            ),
            (json!({"status": {"phase": "Succeeded"}}), Healthy, ""),
            (json!({"status": {"phase": "Failed", "message": "Evicted: disk"}}), Degraded, "Evicted: disk"),
            (
                json!({"status": {"phase": "Failed", "containerStatuses": ended}}),
                Degraded,
                "container \"web\" failed with exit code 3",
            ),
            (json!({"status": {"phase": "Odd"}}), Unknown, "Odd"),
        ],
    );
}
