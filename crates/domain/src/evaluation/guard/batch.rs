//! Jobs and CronJobs (G222).

use super::rule_context::{RuleContext, RuleObject, quote};
use super::schedule;
use crate::text::finding::Finding;

/// G222: the pods of a job terminate; "Always", which is also the default, is rejected.
pub(super) fn jobs(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in context.pods.iter().filter(|pod| pod.owner.name.group == "batch") {
        let policy = pod.spec["restartPolicy"].as_str().unwrap_or_default();
        if matches!(policy, "OnFailure" | "Never") {
            continue;
        }
        let shown = if policy.is_empty() { "not set, which means Always".to_owned() } else { quote(policy) };
        let message = format!(
            "restartPolicy is {shown}; a job needs OnFailure or Never, and Kubernetes rejects others."
        );
        let hint = "Write \"restartPolicy: OnFailure\" in the pod template.";
        findings.push(pod.owner.error("G222", &pod.spec_pointer("/restartPolicy"), message, hint));
    }
    findings
}

/// G222: schedule, time zone and concurrency policy of CronJobs.
pub(super) fn schedules(context: &RuleContext<'_>) -> Vec<Finding> {
    context.objects_of_kind("batch", "CronJob").flat_map(check_cron_job).collect()
}

fn check_cron_job(job: &RuleObject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let text = job.text("/spec/schedule");
    if let Err(error) = schedule::check(text) {
        let message = format!("CronJob {}: schedule {} {error}.", quote(&job.name.name), quote(text));
        findings.push(job.error(
            "G222",
            "/spec/schedule",
            message,
            "Write five fields, such as \"30 2 * * *\" for 02:30 every day.",
        ));
    }
    let zone = job.text("/spec/timeZone");
    if job.get("/spec/timeZone").is_some() && !is_time_zone(zone) {
        let message = format!("timeZone {} is not a name of the IANA time zone database.", quote(zone));
        findings.push(job.error(
            "G222",
            "/spec/timeZone",
            message,
            "Write it as \"Europe/Zurich\" or \"Etc/UTC\".",
        ));
    }
    let policy = job.text("/spec/concurrencyPolicy");
    if !matches!(policy, "" | "Allow" | "Forbid" | "Replace") {
        let message = format!("concurrencyPolicy {} is none of Allow, Forbid and Replace.", quote(policy));
        findings.push(job.error("G222", "/spec/concurrencyPolicy", message, "Choose one of the three."));
    }
    findings
}

/// Whether a text has the form of a time zone name. Whether a cluster has that zone is not known here.
fn is_time_zone(zone: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+'))
    };
    zone != "Local" && zone.split('/').all(part)
}
