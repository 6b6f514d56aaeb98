//! Defaults of the kinds that run pods.

use serde_json::{Map, Value, json};

use super::pod::default_template;
use crate::object::{bool_at, set_default, set_value, str_at, value_at, value_at_mut};

pub(super) fn default_deployment(object: &mut Value) {
    default_template(object, "spec.template");
    set_default(object, "spec.replicas", 1);
    set_default(object, "spec.strategy.type", "RollingUpdate");
    if str_at(object, "spec.strategy.type") == "RollingUpdate" {
        set_default(object, "spec.strategy.rollingUpdate.maxSurge", "25%");
        set_default(object, "spec.strategy.rollingUpdate.maxUnavailable", "25%");
    }
    set_default(object, "spec.revisionHistoryLimit", 10);
    set_default(object, "spec.progressDeadlineSeconds", 600);
}

pub(super) fn default_replica_set(object: &mut Value) {
    default_template(object, "spec.template");
    set_default(object, "spec.replicas", 1);
}

pub(super) fn default_stateful_set(object: &mut Value) {
    default_template(object, "spec.template");
    set_default(object, "spec.replicas", 1);
    set_default(object, "spec.podManagementPolicy", "OrderedReady");
    set_default(object, "spec.revisionHistoryLimit", 10);
    set_default(object, "spec.updateStrategy.type", "RollingUpdate");
    if str_at(object, "spec.updateStrategy.type") == "RollingUpdate" {
        set_default(object, "spec.updateStrategy.rollingUpdate.partition", 0);
    }
    set_default(object, "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "Retain");
    set_default(object, "spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Retain");
    let claims = value_at_mut(object, "spec").get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
    for claim in claims.into_iter().flatten() {
        set_default(claim, "apiVersion", "v1");
        set_default(claim, "kind", "PersistentVolumeClaim");
        super::default_claim(claim, "spec");
        set_default(claim, "status", json!({"phase": "Pending"}));
    }
}

pub(super) fn default_daemon_set(object: &mut Value) {
    default_template(object, "spec.template");
    set_default(object, "spec.revisionHistoryLimit", 10);
    set_default(object, "spec.updateStrategy.type", "RollingUpdate");
    if str_at(object, "spec.updateStrategy.type") == "RollingUpdate" {
        set_default(object, "spec.updateStrategy.rollingUpdate.maxSurge", 0);
        set_default(object, "spec.updateStrategy.rollingUpdate.maxUnavailable", 1);
    }
}

pub(super) fn default_job(object: &mut Value) {
    default_job_spec(object, "spec");
    if bool_at(object, "spec.manualSelector") {
        return;
    }
    // The server generates the selector from the job's uid and labels the pods with it.
    let (uid, name) = (crate::object::uid(object).to_owned(), crate::object::name(object).to_owned());
    if uid.is_empty() || value_at(object, "spec.template").is_none() {
        return;
    }
    set_default(object, "spec.selector.matchLabels", json!({"batch.kubernetes.io/controller-uid": uid}));
    let labels = value_at_mut(object, "spec.template.metadata.labels");
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

fn default_job_spec(object: &mut Value, path: &str) {
    default_template(object, &format!("{path}.template"));
    let spec = value_at_mut(object, path);
    if value_at(spec, "completions").is_none() && value_at(spec, "parallelism").is_none() {
        set_value(spec, "completions", 1);
    }
    set_default(spec, "parallelism", 1);
    set_default(spec, "backoffLimit", 6);
    set_default(spec, "completionMode", "NonIndexed");
    set_default(spec, "suspend", false);
    set_default(spec, "manualSelector", false);
    set_default(spec, "podReplacementPolicy", "TerminatingOrFailed");
}

pub(super) fn default_cron_job(object: &mut Value) {
    if value_at(object, "spec.jobTemplate").is_some() {
        let template = "spec.jobTemplate.spec.template";
        self::default_template(object, template);
    }
    set_default(object, "spec.concurrencyPolicy", "Allow");
    set_default(object, "spec.suspend", false);
    set_default(object, "spec.successfulJobsHistoryLimit", 3);
    set_default(object, "spec.failedJobsHistoryLimit", 1);
}
