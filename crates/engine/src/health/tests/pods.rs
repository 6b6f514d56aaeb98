//! The diagnosis of pods.

use super::*;

fn pod(statuses: Value) -> Value {
    object(
        "v1",
        "Pod",
        json!({"spec": {"containers": [{"name": "web", "image": "nginx:nope",
            "resources": {"limits": {"memory": "128Mi"}}}]},
            "status": {"phase": "Pending", "containerStatuses": statuses}}),
    )
}

fn cause_messages(pods: &[Value]) -> Vec<String> {
    diagnose(pods, NO_WARNINGS, now()).messages()
}

#[test]
fn s0_8_a_diagnosis_contains_the_image_and_the_registry_error() {
    let back_off = "Back-off pulling image \"nginx:nope\": ErrImagePull: manifest unknown";
    let pods = [
        pod(json!([waiting("ErrImagePull", "manifest unknown")])),
        pod(json!([waiting("ImagePullBackOff", back_off)])),
    ];
    assert_eq!(
        cause_messages(&pods),
        ["container web cannot pull image nginx:nope: it is not in the registry (2 pods)"]
    );
    let diagnosis = diagnose(&pods, NO_WARNINGS, now());
    assert!(diagnosis.causes[0].is_image_failure());
    assert_eq!(diagnosis.causes[0].detail, "manifest unknown", "the text of the registry is reported whole");
    assert_eq!(diagnosis.health().unwrap().status, Degraded);
}

#[test]
fn a_diagnosis_contains_exit_code_restarts_and_last_output() {
    let mut crashing = waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container");
    crashing["restartCount"] = 7.into();
    crashing["lastState"] =
        json!({"terminated": {"exitCode": 1, "message": "starting\npanic: no database\n"}});
    assert_eq!(
        cause_messages(&[pod(json!([crashing]))]),
        ["container web exits with 1, last output \"panic: no database\", 7 restarts"]
    );
    let mut killed = waiting("CrashLoopBackOff", "");
    killed["lastState"] = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
    assert_eq!(cause_messages(&[pod(json!([killed]))]), ["container web was killed: memory limit 128Mi"]);
}

#[test]
fn a_container_running_between_two_crashes_is_still_crashing() {
    let between = |finished: &str| {
        json!([{"name": "web", "ready": false, "restartCount": 2, "state": {"running": {}},
            "lastState": {"terminated": {"exitCode": 1, "finishedAt": finished}}}])
    };
    assert_eq!(cause_messages(&[pod(between(JUST_NOW))]), ["container web exits with 1, 2 restarts"]);
    assert!(cause_messages(&[pod(between(LONG_AGO))]).is_empty());
}

#[test]
fn a_diagnosis_contains_missing_configuration_and_scheduling_failures() {
    let missing = pod(json!([waiting("CreateContainerConfigError", "configmap \"x\" not found")]));
    let messages = cause_messages(&[missing]);
    assert!(
        messages[0].contains("ConfigMap or Secret") && messages[0].contains("configmap \"x\" not found"),
        "{messages:?}"
    );
    let unschedulable = condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available");
    let mut stuck =
        object("v1", "Pod", json!({"status": {"phase": "Pending", "conditions": [unschedulable]}}));
    assert_eq!(diagnose([&stuck], NO_WARNINGS, now()).health().unwrap().status, Degraded);
    stuck["metadata"]["creationTimestamp"] = "2026-11-20T11:55:10Z".into();
    let young = diagnose([&stuck], NO_WARNINGS, now());
    assert_eq!(young.health().unwrap().status, Progressing, "the grace period is 5 min");
    assert_eq!(young.messages(), ["cannot be scheduled: 0/3 nodes are available"]);
}

#[test]
fn a_pod_that_waits_for_a_volume_or_a_gate_says_so_and_not_that_containers_are_created() {
    let text = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
    let waiting = |reason: &str, message: &str| {
        object(
            "v1",
            "Pod",
            json!({"metadata": {"creationTimestamp": JUST_NOW},
                "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]},
                "status": {"phase": "Pending", "conditions": [condition("PodScheduled", "False", reason, message)]}}),
        )
    };
    let volume = waiting("Unschedulable", text);
    let diagnosis = diagnose([&volume], NO_WARNINGS, now());
    let health = diagnosis.health().unwrap();
    assert_eq!((health.status, &*health.reason), (Progressing, "VolumePending"));
    assert_eq!(health.message, format!("waits for the volume of claim data-db-0: {text}"));
    assert_eq!(assess(&volume, true, now()).reason, "VolumePending", "also for a bare pod");
    let mut images = ImagePullStatus::default();
    images.add("StatefulSet db", &progressing("PodsNotReady", ""), &diagnosis);
    let domain::release::StageState::Running { message } = images.stage() else { panic!("not running") };
    assert!(message.contains("waits for the volume of claim data-db-0"), "{message}");
    let mut gated = waiting("SchedulingGated", "");
    gated["metadata"]["creationTimestamp"] = LONG_AGO.into();
    let gated = diagnose([&gated], NO_WARNINGS, now()).health().unwrap();
    assert_eq!((gated.status, &*gated.reason), (Progressing, "SchedulingGated"));
}

#[test]
fn at_most_five_causes_are_returned_worst_first_and_terminating_pods_are_excluded() {
    let pods: Vec<Value> =
        (0..8).map(|n| pod(json!([waiting("RunContainerError", &format!("cause {n}"))]))).collect();
    assert_eq!(cause_messages(&pods).len(), 5);
    let mut terminating = pods[0].clone();
    terminating["metadata"]["deletionTimestamp"] = NOW.into();
    assert_eq!(diagnose([&terminating], NO_WARNINGS, now()), Diagnosis::default());
}

#[test]
fn a_diagnosis_contains_probe_and_volume_warnings() {
    let mut unready =
        pod(json!([{"name": "web", "ready": false, "restartCount": 0, "state": {"running": {}}}]));
    unready["metadata"]["uid"] = "u".into();
    let warning = |reason: &str, message: &str, at: &str| json!({"involvedObject": {"uid": "u"}, "reason": reason, "message": message, "lastTimestamp": at});
    let probe = warning("Unhealthy", "Readiness probe failed: HTTP 503", JUST_NOW);
    let old = warning("FailedMount", "configmap \"x\" not found", LONG_AGO);
    let diagnosis = diagnose([&unready], &[old.clone(), probe], now());
    assert_eq!(diagnosis.messages(), ["is not ready: Readiness probe failed: HTTP 503"]);
    assert_eq!(diagnosis.health().unwrap().status, Progressing);
    let mount = diagnose([&unready], &[old], now());
    assert_eq!(mount.health().unwrap().status, Degraded, "two hours exceed the grace period");
    unready["status"]["conditions"] = json!([condition("Ready", "True", "", "")]);
    assert!(diagnose([&unready], &[warning("Unhealthy", "once", NOW)], now()).causes.is_empty());
}

#[test]
fn a_failed_pod_alone_does_not_degrade_its_owner() {
    let failed = object("v1", "Pod", json!({"status": {"phase": "Failed", "reason": "Evicted"}}));
    let diagnosis = diagnose([&failed], NO_WARNINGS, now());
    assert_eq!(diagnosis.messages(), ["a pod failed: Evicted"]);
    assert_eq!(diagnosis.health(), None);
}

#[test]
fn c3_a_failing_pod_of_an_earlier_revision_is_a_cause_of_its_own() {
    let failing = pod(json!([waiting("ImagePullBackOff", "manifest unknown")]));
    let diagnose_outdated = |pod: &Value, spec: Value| {
        let mut diagnosis = Diagnosis::default();
        let set = json!({"kind": "StatefulSet", "spec": spec});
        diagnosis.add_outdated(&set, [pod], NO_WARNINGS, now());
        diagnosis
    };
    let blocked = diagnose_outdated(&failing, json!({}));
    assert_eq!(blocked.messages(), ["pod a of an earlier revision blocks the update: delete it"]);
    assert_eq!(blocked.health().unwrap().status, Degraded);
    assert!(blocked.causes[0].detail.contains("manifest unknown"), "{blocked:?}");
    assert!(!blocked.causes[0].is_image_failure() && blocked.causes[0].remedy().is_some());
    let mut images = ImagePullStatus::default();
    images.add("StatefulSet db", &progressing("PodsNotReady", ""), &blocked);
    let domain::release::StageState::Running { message } = images.stage() else { panic!("not running") };
    assert!(message.contains("blocks the update"), "{message}");
    let parallel = diagnose_outdated(&failing, json!({"podManagementPolicy": "Parallel"}));
    assert_eq!(parallel.health().unwrap().status, Progressing, "its controller replaces it");
    let mut ready = failing;
    ready["status"]["conditions"] = json!([condition("Ready", "True", "", "")]);
    let ready = diagnose_outdated(&ready, json!({}));
    assert_eq!((ready.causes.len(), ready.pods, ready.starting), (0, 1, 0));
}

#[test]
fn c3_a_dead_pod_that_its_controller_has_replaced_is_a_note() {
    let ended = json!([{"name": "web", "ready": false, "state": {"terminated":
        {"exitCode": 137, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}}}]);
    let status = json!({"status": {"phase": "Failed", "reason": "Evicted", "containerStatuses": ended},
        "spec": {"restartPolicy": "Always"}});
    let dead = object("v1", "Pod", status);
    let now = "2026-01-01T00:01:00Z".parse().unwrap();
    let diagnosis = diagnose([&dead], NO_WARNINGS, now);
    assert_eq!(diagnosis.health(), None);
    assert_eq!(diagnosis.messages().len(), 1, "it is named");
    let mut running = dead;
    running["status"]["phase"] = "Running".into();
    assert!(diagnose([&running], NO_WARNINGS, now).health().is_some());
}

#[test]
fn a_pod_that_ended_while_its_image_was_pulled_fails_no_stage() {
    let mut ended = pod(json!([waiting("ImagePullBackOff", "manifest unknown")]));
    let stage = |pod: &Value| {
        let mut images = ImagePullStatus::default();
        images.add("Deployment web", &healthy(""), &diagnose([pod], NO_WARNINGS, now()));
        images.stage()
    };
    assert!(matches!(stage(&ended), domain::release::StageState::Failed(_)));
    ended["status"]["phase"] = "Failed".into();
    assert_eq!(stage(&ended), domain::release::StageState::Done);
    assert_eq!(diagnose([&ended], NO_WARNINGS, now()).causes.len(), 1, "its cause is told");
    ended["status"]["containerStatuses"] = json!([waiting("ContainerCreating", "")]);
    assert_eq!(diagnose([&ended], NO_WARNINGS, now()).starting, 0);
}
