//! Controllers that can't create their pods or Jobs.
//!
//! Only Deployments and ReplicaSets have a condition for it. The other controllers write an event: the cause (a name that is too
//! long for the labels of the pods, a quota, an admission policy) is nowhere else.

use domain::health::Health;
use serde_json::Value;

use super::degraded;
use super::object_view::ObjectView;

/// Reason of the event, and of the health.
pub(crate) const FAILED_CREATE: &str = "FailedCreate";

/// The health of an object about which its controller wrote this warning; `None` if nothing is missing any more or a pod was
/// created since, because an event is never withdrawn. `newest_pod` is when the newest pod of the object was created. All times
/// are those of the API server, to the second.
pub(crate) fn assess_failed_creation(
    view: &ObjectView<'_>,
    warning: &Value,
    newest_pod: Option<&str>,
) -> Option<Health> {
    let failed_at = warning["lastTimestamp"].as_str().unwrap_or_default();
    let is_missing = match view.text("/kind") {
        "StatefulSet" => view.int("/status/replicas") < view.desired_replicas(),
        "DaemonSet" => {
            view.int("/status/currentNumberScheduled") < view.int("/status/desiredNumberScheduled")
        }
        "Job" => {
            let is_over = |kind: &str| view.condition(kind).is_some_and(|condition| condition.is_true());
            let is_suspended = view.value_at("/spec/suspend") == Some(&Value::Bool(true));
            view.int("/status/active") == 0 && !is_suspended && !is_over("Complete") && !is_over("Failed")
        }
        "CronJob" => failed_at > view.text("/status/lastScheduleTime"),
        _ => false,
    };
    let works_again = newest_pod.is_some_and(|created_at| created_at > failed_at);
    (is_missing && !works_again)
        .then(|| degraded(FAILED_CREATE, warning["message"].as_str().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use domain::health::HealthStatus;
    use serde_json::json;

    use super::*;

    fn failure(kind: &str, spec: Value, status: Value) -> Option<Health> {
        failure_beside(kind, spec, status, None)
    }

    fn failure_beside(kind: &str, spec: Value, status: Value, newest_pod: Option<&str>) -> Option<Health> {
        let object = json!({"kind": kind, "spec": spec, "status": status});
        let view = ObjectView { object: &object, has_status: true, now: Timestamp::default() };
        let warning =
            json!({"message": "must be no more than 63 bytes", "lastTimestamp": "2026-01-01T10:00:00Z"});
        assess_failed_creation(&view, &warning, newest_pod)
    }

    #[test]
    fn c1_a_warning_counts_while_something_is_missing() {
        let found = failure("StatefulSet", json!({"replicas": 2}), json!({"replicas": 1})).unwrap();
        assert_eq!((found.status, &*found.reason), (HealthStatus::Degraded, "FailedCreate"));
        assert_eq!(found.message, "must be no more than 63 bytes");
        assert_eq!(failure("StatefulSet", json!({"replicas": 2}), json!({"replicas": 2})), None);
        let nodes = |current: u32| json!({"desiredNumberScheduled": 2, "currentNumberScheduled": current});
        assert!(failure("DaemonSet", json!({}), nodes(1)).is_some());
        assert_eq!(failure("DaemonSet", json!({}), nodes(2)), None);
        assert!(failure("Job", json!({}), json!({})).is_some());
        assert_eq!(failure("Job", json!({}), json!({"active": 1})), None);
        let complete = json!({"conditions": [{"type": "Complete", "status": "True"}]});
        assert_eq!(failure("Job", json!({}), complete), None);
        assert!(failure("CronJob", json!({}), json!({"lastScheduleTime": "2026-01-01T09:59:00Z"})).is_some());
        assert_eq!(failure("CronJob", json!({}), json!({"lastScheduleTime": "2026-01-01T10:01:00Z"})), None);
    }

    #[test]
    fn c1_a_warning_older_than_a_pod_does_not_count() {
        let beside = |created_at: &str| {
            failure_beside("StatefulSet", json!({"replicas": 9}), json!({"replicas": 3}), Some(created_at))
        };
        assert!(beside("2026-01-01T09:59:59Z").is_some());
        assert!(beside("2026-01-01T10:00:00Z").is_some(), "within the same second the order is unknown");
        assert_eq!(beside("2026-01-01T10:00:01Z"), None, "the controller creates pods again");
    }

    #[test]
    fn c1_a_suspended_job_lacks_no_pod() {
        assert_eq!(failure("Job", json!({"suspend": true}), json!({})), None);
    }
}
