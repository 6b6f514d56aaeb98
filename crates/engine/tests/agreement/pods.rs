//! Why pods do not run: the cause, not the symptom (`health.md` C.3).

use std::time::Duration;

use domain::health::HealthStatus::{Degraded, Healthy, Progressing};
use domain::workload::Policies;
use serde_json::{Value, json};
use testkit::Ailment;

use crate::place::*;

fn pod(name: &str, ailment: Option<Ailment>) -> Value {
    let mut pod = template(name, ailment);
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = name.into();
    pod
}

pub async fn c3_a_crash_loop_is_told_with_its_exit_code(place: Place) {
    place.wants(vec![workload("Deployment", "web", Some(Ailment::Crash))], Policies::default());
    let (_, causes) = place.until_health("web", Degraded, "CrashLoop").await;
    assert!(causes[0].contains("container web exits with 1"), "{causes:?}");
}

pub async fn c3_a_container_out_of_memory_is_told_with_its_limit(place: Place) {
    let mut hungry = workload("Deployment", "web", Some(Ailment::OutOfMemory));
    hungry["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"limits": {"memory": "128Mi"}});
    place.wants(vec![hungry], Policies::default());
    let (_, causes) = place.until_health("web", Degraded, "OOMKilled").await;
    assert!(causes[0].contains("memory limit 128Mi"), "{causes:?}");
}

pub async fn c3_an_image_that_cannot_be_pulled_is_named(place: Place) {
    place.wants(vec![workload("Deployment", "web", Some(Ailment::ImagePull))], Policies::default());
    let (_, causes) = place.until_health("web", Degraded, "ImagePullFailed").await;
    assert!(causes[0].contains("cannot pull image does-not-exist:1"), "{causes:?}");
}

/// At first it is progressing: the scheduler tries again by itself.
async fn unschedulable(mut place: Place, object: Value, sentence: &str) {
    place.wants(vec![object.clone()], Policies::default());
    let found =
        place.until("unschedulable", |report| report.resources.iter().any(|one| !one.causes.is_empty()));
    let report = found.await;
    assert_eq!(report.health.status, Progressing);
    place.later(Duration::from_secs(30), vec![object]).await;
    let (_, causes) = place.until_health("web", Degraded, "Unschedulable").await;
    assert!(causes[0].contains(sentence), "{causes:?}");
}

pub async fn c3_a_pod_no_node_has_room_for_is_unschedulable(place: Place) {
    let mut greedy = workload("Deployment", "web", None);
    greedy["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "99"}});
    unschedulable(place, greedy, "0/3 nodes are available: 3 Insufficient cpu").await;
}

pub async fn c3_a_selector_no_node_matches_is_unschedulable(place: Place) {
    let mut picky = workload("Deployment", "web", None);
    picky["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "fast"});
    let sentence = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector";
    unschedulable(place, picky, sentence).await;
}

pub async fn c3_a_failing_probe_is_the_cause_while_it_waits(place: Place) {
    place.wants(vec![workload("Deployment", "web", Some(Ailment::NeverReady))], Policies::default());
    let told = |report: &domain::report::ReleaseReport| report.health.message.contains("probe failed");
    let report = place.until("explained", told).await;
    assert_eq!(report.health.status, Progressing);
    let web = &report.resources[0];
    assert!(
        web.causes[0].contains("Readiness probe failed: HTTP probe failed with statuscode: 503"),
        "{web:?}"
    );
}

pub async fn c3_a_bare_pod_runs_and_is_healthy(place: Place) {
    place.wants(vec![pod("alone", None)], Policies::default());
    place.until_operational().await;
    place.until_health("alone", Healthy, "").await;
}

pub async fn c3_a_bare_pod_that_fails_is_degraded(place: Place) {
    let mut failing = pod("alone", Some(Ailment::Crash));
    failing["spec"]["restartPolicy"] = "Never".into();
    place.wants(vec![failing], Policies::default());
    place.until("degraded", |report| report.health.status == Degraded).await;
}
