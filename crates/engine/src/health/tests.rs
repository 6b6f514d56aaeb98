//! One table per kind: live objects and their expected health.

use domain::Timestamp;
use domain::health::HealthStatus::{
    self, Degraded, Healthy, Missing, NotAssessed, Progressing, Suspended, Unknown,
};
use serde_json::{Value, json};

use super::*;

mod kinds;
mod pods;
mod workloads;

const NOW: &str = "2026-11-20T12:00:00Z";
const LONG_AGO: &str = "2026-11-20T10:00:00Z";
const JUST_NOW: &str = "2026-11-20T11:59:55Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// An object created two hours ago, with `more` merged in.
fn object(api_version: &str, kind: &str, more: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": "a", "namespace": "shop", "generation": 2, "creationTimestamp": LONG_AGO}});
    merge(&mut object, more);
    object
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": LONG_AGO})
}

/// Asserts the rows: merged fields, expected status, a part of reason and message.
fn assert_health(api_version: &str, kind: &str, base: &Value, rows: &[(Value, HealthStatus, &str)]) {
    for (more, status, text) in rows {
        let mut all = base.clone();
        merge(&mut all, more.clone());
        let health = assess(&object(api_version, kind, all), true, now());
        let actual = format!("{} {}", health.reason, health.message);
        assert_eq!(health.status, *status, "{kind} {more}: {actual}");
        assert!(actual.contains(text), "{kind} {more}: {actual:?} does not contain {text:?}");
    }
}

const NO_WARNINGS: &[Value] = &[];

fn waiting(reason: &str, message: &str) -> Value {
    json!({"name": "web", "image": "nginx:1", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": reason, "message": message}}})
}
