//! Pods of an earlier revision than the one that their StatefulSet or DaemonSet rolls out.
//!
//! What such a pod fails with says nothing about the desired revision. A DaemonSet replaces it whatever its state. A StatefulSet with
//! the pod management policy `OrderedReady` waits until every pod is ready before it replaces any, also after a rollback: Kubernetes
//! documents that somebody has to delete the pod then (StatefulSets, "Forced rollback"). With the update strategy `OnDelete` both
//! wait for that always. The pods of a Deployment are distinguished by their replica sets.

use std::sync::Arc;

use domain::failure_cause::{FailureCause, UPDATE_BLOCKED};
use domain::health::HealthStatus;
use serde_json::Value;

/// The label with the revision of a pod: the name of the revision for a StatefulSet, a hash for a DaemonSet.
const REVISION_LABEL: &str = "controller-revision-hash";
/// The label of a DaemonSet's pod with the generation of the template that it was created from.
const TEMPLATE_GENERATION_LABEL: &str = "pod-template-generation";
/// The annotation of a DaemonSet with the generation of its template.
const TEMPLATE_GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

/// What becomes of the pods of an earlier revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutdatedPodHandling {
    /// Their controller deletes them.
    Replaced,
    /// One that is not ready stops the update until it is ready or deleted.
    BlocksUpdate,
    /// They stay until somebody deletes them.
    RetainedUntilDeleted,
}

impl OutdatedPodHandling {
    pub(super) fn of_controller(controller: &Value) -> Self {
        let spec = &controller["spec"];
        if spec["updateStrategy"]["type"] == "OnDelete" {
            return Self::RetainedUntilDeleted;
        }
        match controller["kind"].as_str() {
            Some("StatefulSet") if spec["podManagementPolicy"] != "Parallel" => Self::BlocksUpdate,
            _ => Self::Replaced,
        }
    }

    /// The cause that is reported instead of what fails in the pod. The whole text of that is the detail.
    pub(super) fn replace_cause(self, pod: &str, cause: &FailureCause) -> FailureCause {
        let (status, effect) = match self {
            Self::Replaced => (HealthStatus::Progressing, "is not replaced yet"),
            Self::BlocksUpdate => (cause.status, "blocks the update: delete it"),
            Self::RetainedUntilDeleted => {
                (cause.status, "is replaced only when it is deleted (update strategy OnDelete)")
            }
        };
        let message = match cause.detail.as_str() {
            "" => cause.message(),
            detail => format!("{}: {detail}", cause.message()),
        };
        FailureCause {
            reason: UPDATE_BLOCKED.to_owned(),
            status,
            summary: format!("pod {pod} of an earlier revision {effect}"),
            detail: message,
            pod: pod.to_owned(),
            container: String::new(),
            restarts: 0,
            pods: 1,
        }
    }
}

/// The pods of the revision that a controller rolls out, and those of earlier revisions. A pod whose revision is unknown is of the
/// current one: its failure must be reported. So is one that has ended, because its controller replaces it.
pub(crate) fn split_outdated(
    controller: &Value,
    pods: Vec<Arc<Value>>,
) -> (Vec<Arc<Value>>, Vec<Arc<Value>>) {
    let has_ended = |pod: &Value| matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let kind = controller["kind"].as_str().unwrap_or_default();
    let generation = template_generation(controller);
    let current_hash = generation.and_then(|number| find_hash(&pods, number));
    let former_hash = generation.and_then(|number| find_hash(&pods, number - 1));
    let is_outdated = |pod: &Value| match kind {
        "StatefulSet" => is_outdated_of_stateful_set(controller, pod),
        "DaemonSet" => is_outdated_of_daemon_set(pod, current_hash.as_deref(), former_hash.as_deref()),
        _ => false,
    };
    let (outdated, current) = pods.into_iter().partition(|pod| !has_ended(pod) && is_outdated(pod));
    (current, outdated)
}

fn label<'a>(pod: &'a Value, name: &str) -> &'a str {
    pod["metadata"]["labels"][name].as_str().unwrap_or_default()
}

/// The partition of a StatefulSet retains the pods below it at the former revision: that is what was published.
fn is_outdated_of_stateful_set(set: &Value, pod: &Value) -> bool {
    let (desired, actual) =
        (set["status"]["updateRevision"].as_str().unwrap_or_default(), label(pod, REVISION_LABEL));
    if desired.is_empty() || actual.is_empty() || desired == actual {
        return false;
    }
    let strategy = &set["spec"]["updateStrategy"];
    let partition = strategy["rollingUpdate"]["partition"].as_i64().unwrap_or(0);
    let start = set["spec"]["ordinals"]["start"].as_i64().unwrap_or(0);
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let ordinal = name.rsplit('-').next().and_then(|ordinal| ordinal.parse::<i64>().ok());
    strategy["type"] == "OnDelete" || ordinal.is_none_or(|ordinal| ordinal - start >= partition)
}

fn template_generation(set: &Value) -> Option<i64> {
    set["metadata"]["annotations"][TEMPLATE_GENERATION_ANNOTATION].as_str()?.parse().ok()
}

/// The revision of the template of this generation, if a pod was created from it.
fn find_hash(pods: &[Arc<Value>], generation: i64) -> Option<String> {
    let generation = generation.to_string();
    let pod = pods.iter().find(|pod| label(pod, TEMPLATE_GENERATION_LABEL) == generation)?;
    Some(label(pod, REVISION_LABEL).to_owned()).filter(|hash| !hash.is_empty())
}

/// A DaemonSet does not report its revision. It is that of the pods of the current generation of the template. As long as there is none,
/// it differs at least from that of the generation before; a rollback returns to one of those before that.
fn is_outdated_of_daemon_set(pod: &Value, current: Option<&str>, former: Option<&str>) -> bool {
    let hash = label(pod, REVISION_LABEL);
    match (current, former) {
        _ if hash.is_empty() => false,
        (Some(current), _) => hash != current,
        (None, Some(former)) => hash == former,
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, labels: Value) -> Arc<Value> {
        Arc::new(json!({"metadata": {"name": name, "labels": labels}, "status": {"phase": "Pending"}}))
    }

    fn outdated(controller: &Value, pods: Vec<Arc<Value>>) -> Vec<String> {
        let (_, outdated) = split_outdated(controller, pods);
        outdated.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn c3_pods_of_a_stateful_set_with_another_revision_are_outdated_from_its_partition_on() {
        let set = |strategy: Value, revision: &str| {
            json!({"kind": "StatefulSet", "spec": {"updateStrategy": strategy},
                "status": {"updateRevision": revision}})
        };
        let pods = || -> Vec<Arc<Value>> {
            let revisions = ["db-old", "db-old", "db-new"].into_iter().enumerate();
            revisions.map(|(n, hash)| pod(&format!("db-{n}"), json!({REVISION_LABEL: hash}))).collect()
        };
        let rolling = |partition: i64| json!({"rollingUpdate": {"partition": partition}});
        assert_eq!(outdated(&set(json!({}), "db-new"), pods()), ["db-0", "db-1"]);
        assert_eq!(outdated(&set(rolling(1), "db-new"), pods()), ["db-1"]);
        assert_eq!(outdated(&set(json!({}), ""), pods()), Vec::<String>::new(), "its revision is unknown");
        assert_eq!(outdated(&set(json!({}), "db-new"), vec![pod("db-0", json!({}))]), Vec::<String>::new());
        let mut ended = (*pods().remove(0)).clone();
        ended["status"]["phase"] = "Failed".into();
        assert!(outdated(&set(json!({}), "db-new"), vec![Arc::new(ended)]).is_empty(), "it is replaced");
    }

    #[test]
    fn c3_pods_of_a_daemon_set_are_outdated_by_the_generation_of_the_template() {
        let set = |generation: &str| json!({"kind": "DaemonSet", "metadata": {"annotations": {TEMPLATE_GENERATION_ANNOTATION: generation}}});
        let pod = |name: &str, hash: &str, generation: &str| {
            pod(name, json!({REVISION_LABEL: hash, TEMPLATE_GENERATION_LABEL: generation}))
        };
        let update = vec![pod("old", "a", "1"), pod("new", "b", "2")];
        assert_eq!(outdated(&set("2"), update), ["old"]);
        // A rollback to the template of the first generation: its pods are current, and no pod has the third generation yet.
        let rollback = vec![pod("first", "a", "1"), pod("failing", "b", "2")];
        assert_eq!(outdated(&set("3"), rollback), ["failing"]);
        let replaced = vec![pod("first", "a", "1"), pod("again", "a", "3"), pod("failing", "b", "2")];
        assert_eq!(outdated(&set("3"), replaced), ["failing"]);
        assert!(outdated(&set("9"), vec![pod("unknown", "a", "1")]).is_empty());
        assert!(outdated(&json!({"kind": "DaemonSet"}), vec![pod("unknown", "a", "1")]).is_empty());
    }

    #[test]
    fn c3_what_becomes_of_an_outdated_pod_depends_on_the_controller() {
        let handling = |kind: &str, spec: Value| {
            OutdatedPodHandling::of_controller(&json!({"kind": kind, "spec": spec}))
        };
        let on_delete = json!({"updateStrategy": {"type": "OnDelete"}});
        assert_eq!(handling("StatefulSet", json!({})), OutdatedPodHandling::BlocksUpdate);
        let parallel = json!({"podManagementPolicy": "Parallel"});
        assert_eq!(handling("StatefulSet", parallel), OutdatedPodHandling::Replaced);
        assert_eq!(handling("StatefulSet", on_delete.clone()), OutdatedPodHandling::RetainedUntilDeleted);
        assert_eq!(handling("DaemonSet", on_delete), OutdatedPodHandling::RetainedUntilDeleted);
        assert_eq!(handling("DaemonSet", json!({})), OutdatedPodHandling::Replaced);
    }
}
