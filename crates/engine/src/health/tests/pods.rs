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

fn causes(pods: &[Value]) -> Vec<String> {
    diagnose(pods, NO_WARNINGS, now()).sentences()
}

#[test]
fn s0_8_a_diagnosis_names_the_image_and_what_the_registry_said() {
    let back_off = "Back-off pulling image \"nginx:nope\": ErrImagePull: manifest unknown";
    let pods = [
        pod(json!([waiting("ErrImagePull", "manifest unknown")])),
        pod(json!([waiting("ImagePullBackOff", back_off)])),
    ];
    assert_eq!(causes(&pods), ["cannot pull image nginx:nope: manifest unknown (2 pods)"]);
    let diagnosis = diagnose(&pods, NO_WARNINGS, now());
    assert!(diagnosis.causes[0].is_about_image());
    assert_eq!(diagnosis.health().unwrap().status, Degraded);
}

#[test]
fn a_diagnosis_names_exit_code_restarts_and_last_words() {
    let mut crashing = waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container");
    crashing["restartCount"] = 7.into();
    crashing["lastState"] =
        json!({"terminated": {"exitCode": 1, "message": "starting\npanic: no database\n"}});
    assert_eq!(
        causes(&[pod(json!([crashing]))]),
        ["container web exits with 1, last said \"panic: no database\", 7 restarts"]
    );
    let mut killed = waiting("CrashLoopBackOff", "");
    killed["lastState"] = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
    assert_eq!(causes(&[pod(json!([killed]))]), ["container web was killed: memory limit 128Mi"]);
}

#[test]
fn between_two_crashes_a_container_is_still_crashing() {
    let between = |finished: &str| {
        json!([{"name": "web", "ready": false, "restartCount": 2, "state": {"running": {}},
            "lastState": {"terminated": {"exitCode": 1, "finishedAt": finished}}}])
    };
    assert_eq!(causes(&[pod(between(JUST_NOW))]), ["container web exits with 1, 2 restarts"]);
    assert!(causes(&[pod(between(LONG_AGO))]).is_empty());
}

#[test]
fn a_diagnosis_names_missing_configuration_and_full_clusters() {
    let missing = pod(json!([waiting("CreateContainerConfigError", "configmap \"x\" not found")]));
    let said = causes(&[missing]);
    assert!(
        said[0].contains("ConfigMap or Secret") && said[0].contains("configmap \"x\" not found"),
        "{said:?}"
    );
    let unschedulable = condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available");
    let mut stuck =
        object("v1", "Pod", json!({"status": {"phase": "Pending", "conditions": [unschedulable]}}));
    assert_eq!(diagnose([&stuck], NO_WARNINGS, now()).health().unwrap().status, Degraded);
    stuck["metadata"]["creationTimestamp"] = JUST_NOW.into();
    let young = diagnose([&stuck], NO_WARNINGS, now());
    assert_eq!(young.health().unwrap().status, Progressing, "the scheduler gets 15 s");
    assert_eq!(young.sentences(), ["cannot be scheduled: 0/3 nodes are available"]);
}

#[test]
fn at_most_five_causes_are_told_worst_first_and_pods_on_their_way_out_are_left_out() {
    let pods: Vec<Value> =
        (0..8).map(|n| pod(json!([waiting("RunContainerError", &format!("cause {n}"))]))).collect();
    assert_eq!(causes(&pods).len(), 5);
    let mut leaving = pods[0].clone();
    leaving["metadata"]["deletionTimestamp"] = NOW.into();
    assert_eq!(diagnose([&leaving], NO_WARNINGS, now()), Diagnosis::default());
}

#[test]
fn a_diagnosis_names_what_probes_and_volumes_say() {
    let mut quiet =
        pod(json!([{"name": "web", "ready": false, "restartCount": 0, "state": {"running": {}}}]));
    quiet["metadata"]["uid"] = "u".into();
    let warning = |reason: &str, message: &str, at: &str| json!({"involvedObject": {"uid": "u"}, "reason": reason, "message": message, "lastTimestamp": at});
    let probe = warning("Unhealthy", "Readiness probe failed: HTTP 503", JUST_NOW);
    let old = warning("FailedMount", "configmap \"x\" not found", LONG_AGO);
    let diagnosis = diagnose([&quiet], &[old.clone(), probe], now());
    assert_eq!(diagnosis.sentences(), ["is not ready: Readiness probe failed: HTTP 503"]);
    assert_eq!(diagnosis.health().unwrap().status, Progressing);
    let mount = diagnose([&quiet], &[old], now());
    assert_eq!(mount.health().unwrap().status, Degraded, "two hours are more than a grace");
    quiet["status"]["conditions"] = json!([condition("Ready", "True", "", "")]);
    assert!(diagnose([&quiet], &[warning("Unhealthy", "once", NOW)], now()).causes.is_empty());
}

#[test]
fn a_failed_pod_alone_does_not_judge_its_owner() {
    let failed = object("v1", "Pod", json!({"status": {"phase": "Failed", "reason": "Evicted"}}));
    let diagnosis = diagnose([&failed], NO_WARNINGS, now());
    assert_eq!(diagnosis.sentences(), ["a pod failed: Evicted"]);
    assert_eq!(diagnosis.health(), None);
}
