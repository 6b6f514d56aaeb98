//! Defaults of the kinds that run pods.

use serde_json::{Map, Value, json};

use super::pod::template;
use crate::object::{at, flag, place, put, put_default, text};

pub(super) fn deployment(object: &mut Value) {
    template(object, "spec.template");
    put_default(object, "spec.replicas", 1);
    put_default(object, "spec.strategy.type", "RollingUpdate");
    if text(object, "spec.strategy.type") == "RollingUpdate" {
        put_default(object, "spec.strategy.rollingUpdate.maxSurge", "25%");
        put_default(object, "spec.strategy.rollingUpdate.maxUnavailable", "25%");
    }
    put_default(object, "spec.revisionHistoryLimit", 10);
    put_default(object, "spec.progressDeadlineSeconds", 600);
}

pub(super) fn replica_set(object: &mut Value) {
    template(object, "spec.template");
    put_default(object, "spec.replicas", 1);
}

pub(super) fn stateful_set(object: &mut Value) {
    template(object, "spec.template");
    put_default(object, "spec.replicas", 1);
    put_default(object, "spec.podManagementPolicy", "OrderedReady");
    put_default(object, "spec.revisionHistoryLimit", 10);
    put_default(object, "spec.updateStrategy.type", "RollingUpdate");
    if text(object, "spec.updateStrategy.type") == "RollingUpdate" {
        put_default(object, "spec.updateStrategy.rollingUpdate.partition", 0);
    }
    put_default(object, "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "Retain");
    put_default(object, "spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Retain");
    let claims = place(object, "spec").get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
    for claim in claims.into_iter().flatten() {
        put_default(claim, "apiVersion", "v1");
        put_default(claim, "kind", "PersistentVolumeClaim");
        super::claim(claim, "spec");
        put_default(claim, "status", json!({"phase": "Pending"}));
    }
}

pub(super) fn daemon_set(object: &mut Value) {
    template(object, "spec.template");
    put_default(object, "spec.revisionHistoryLimit", 10);
    put_default(object, "spec.updateStrategy.type", "RollingUpdate");
    if text(object, "spec.updateStrategy.type") == "RollingUpdate" {
        put_default(object, "spec.updateStrategy.rollingUpdate.maxSurge", 0);
        put_default(object, "spec.updateStrategy.rollingUpdate.maxUnavailable", 1);
    }
}

pub(super) fn job(object: &mut Value) {
    job_spec(object, "spec");
    if flag(object, "spec.manualSelector") {
        return;
    }
    // The server generates the selector from the job's uid and labels the pods with it.
    let (uid, name) = (crate::object::uid(object).to_owned(), crate::object::name(object).to_owned());
    if uid.is_empty() || at(object, "spec.template").is_none() {
        return;
    }
    put_default(object, "spec.selector.matchLabels", json!({"batch.kubernetes.io/controller-uid": uid}));
    let labels = place(object, "spec.template.metadata.labels");
    for (key, value) in [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ] {
        if !labels.is_object() {
            *labels = Value::Object(Map::new());
        }
        labels[key] = value.as_str().into();
    }
}

fn job_spec(object: &mut Value, path: &str) {
    template(object, &format!("{path}.template"));
    let spec = place(object, path);
    if at(spec, "completions").is_none() && at(spec, "parallelism").is_none() {
        put(spec, "completions", 1);
    }
    put_default(spec, "parallelism", 1);
    put_default(spec, "backoffLimit", 6);
    put_default(spec, "completionMode", "NonIndexed");
    put_default(spec, "suspend", false);
    put_default(spec, "manualSelector", false);
    put_default(spec, "podReplacementPolicy", "TerminatingOrFailed");
}

pub(super) fn cron_job(object: &mut Value) {
    if at(object, "spec.jobTemplate").is_some() {
        let template = "spec.jobTemplate.spec.template";
        self::template(object, template);
    }
    put_default(object, "spec.concurrencyPolicy", "Allow");
    put_default(object, "spec.suspend", false);
    put_default(object, "spec.successfulJobsHistoryLimit", 3);
    put_default(object, "spec.failedJobsHistoryLimit", 1);
}
