//! Jobs and CronJobs (G222).

use super::scene::{Scene, Subject, quoted};
use super::schedule;
use crate::finding::Finding;

/// G222: the pods of a job end; "Always", which is also the default, is refused.
pub(super) fn jobs(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in scene.pods.iter().filter(|pod| pod.owner.name.group == "batch") {
        let policy = pod.spec["restartPolicy"].as_str().unwrap_or_default();
        if matches!(policy, "OnFailure" | "Never") {
            continue;
        }
        let shown = if policy.is_empty() { "not set, which means Always".to_owned() } else { quoted(policy) };
        let message = format!(
            "restartPolicy is {shown}; a job needs OnFailure or Never, and Kubernetes refuses others."
        );
        let hint = "Write \"restartPolicy: OnFailure\" in the pod template.";
        findings.push(pod.owner.error("G222", &pod.at("/restartPolicy"), message, hint));
    }
    findings
}

/// G222: schedule, time zone and concurrency policy of CronJobs.
pub(super) fn schedules(scene: &Scene<'_>) -> Vec<Finding> {
    scene.of("batch", "CronJob").flat_map(cron_job).collect()
}

fn cron_job(job: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let text = job.text("/spec/schedule");
    if let Err(why) = schedule::check(text) {
        let message = format!("CronJob {}: schedule {} {why}.", quoted(&job.name.name), quoted(text));
        findings.push(job.error(
            "G222",
            "/spec/schedule",
            message,
            "Write five fields, such as \"30 2 * * *\" for half past two every night.",
        ));
    }
    let zone = job.text("/spec/timeZone");
    if job.get("/spec/timeZone").is_some() && !is_zone(zone) {
        let message = format!("timeZone {} is not a name of the IANA time zone database.", quoted(zone));
        findings.push(job.error(
            "G222",
            "/spec/timeZone",
            message,
            "Write it as \"Europe/Zurich\" or \"Etc/UTC\".",
        ));
    }
    let policy = job.text("/spec/concurrencyPolicy");
    if !matches!(policy, "" | "Allow" | "Forbid" | "Replace") {
        let message = format!("concurrencyPolicy {} is none of Allow, Forbid and Replace.", quoted(policy));
        findings.push(job.error("G222", "/spec/concurrencyPolicy", message, "Choose one of the three."));
    }
    findings
}

/// The shape of a zone name; whether a cluster knows it, only the cluster can tell.
fn is_zone(zone: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+'))
    };
    zone != "Local" && zone.split('/').all(part)
}
