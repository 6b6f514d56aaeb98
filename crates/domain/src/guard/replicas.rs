//! Replicas, grace periods, and the Service of a StatefulSet (G213, G223).

use super::scene::{Scene, integer, quoted};
use crate::finding::Finding;

/// G213: a whole number of replicas, and not none by accident.
pub(super) fn replicas(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = "/spec/replicas";
    for subject in scene.pods.iter().map(|pod| pod.owner) {
        let Some(value) = subject.get(path) else { continue };
        if value.as_i64().is_none_or(|replicas| replicas < 0) {
            let message = format!(
                "replicas: {} is not allowed; it must be a whole number, 0 or more.",
                quoted(&value.to_string())
            );
            findings.push(subject.error("G213", path, message, "Write a number without quotes, such as 3."));
        } else if value == 0 {
            let message = "replicas is 0: it is applied, but nothing runs.".to_owned();
            findings.push(subject.warning(
                "G213",
                path,
                message,
                "Set at least 1, unless that is what you want.",
            ));
        }
    }
    findings
}

/// G223: a grace period is not negative.
pub(super) fn grace_period(scene: &Scene<'_>) -> Vec<Finding> {
    let negative = scene.pods.iter().filter_map(|pod| {
        let seconds =
            integer(pod.spec.get("terminationGracePeriodSeconds")).filter(|seconds| *seconds < 0)?;
        let message =
            format!("terminationGracePeriodSeconds: {seconds} is less than nothing; Kubernetes refuses it.");
        Some(pod.owner.error(
            "G223",
            &pod.at("/terminationGracePeriodSeconds"),
            message,
            "Write 0 or more seconds.",
        ))
    });
    negative.collect()
}

/// G223: the Service that gives a StatefulSet's pods their names is there, and is headless.
pub(super) fn headless_service(scene: &Scene<'_>) -> Vec<Finding> {
    let path = "/spec/serviceName";
    let mut findings = Vec::new();
    for set in scene.of("apps", "StatefulSet") {
        let name = set.text(path);
        if name.is_empty() {
            continue;
        }
        let why = match scene.beside(set, "Service", name) {
            None => "is not among these objects; without it the pods get no names in DNS",
            Some(service) if service.text("/spec/clusterIP") != "None" => {
                "is not headless, so the pods get no names of their own in DNS"
            }
            Some(_) => continue,
        };
        let message = format!("Service {} of this StatefulSet {why}.", quoted(name));
        findings.push(set.warning(
            "G223",
            path,
            message,
            "Add a Service of that name with \"clusterIP: None\".",
        ));
    }
    findings
}
