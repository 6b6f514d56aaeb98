//! Fault injection into simulated clusters: the console's "Inject fault".

use std::time::Duration;

use app::{BoxFuture, DemoAction};
use kubesim::SimCluster;
use serde_json::{Value, json};
use wire::{ClusterFault, FaultRequest};

use super::fleet::DemoCluster;

/// Field manager of manual changes: that of `kubectl edit`.
const MANUAL_FIELD_MANAGER: &str = "kubectl-edit";
/// JSON Pointer of the annotation with the workload's name.
const WORKLOAD_POINTER: &str = "/metadata/annotations/flotilla.dev~1workload";
/// Kinds that `DeleteObject` deletes, in order of preference.
const DELETABLE_KINDS: [(&str, &str); 3] =
    [("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "ConfigMap")];
/// What follows from a change of an applied object.
const REVERTED: &str = "Flotilla detects it, and reverts it unless the drift policy says to notify only.";
/// Largest delay that can be injected, in milliseconds.
const MAX_DELAY_MILLIS: u32 = 30_000;

/// Fault injection for the demo's clusters.
pub struct FaultControls(Vec<(DemoCluster, SimCluster)>);

impl FaultControls {
    /// Controls for these clusters.
    pub fn new(clusters: Vec<(DemoCluster, SimCluster)>) -> Self {
        Self(clusters)
    }

    /// Whether there is such a cluster.
    pub fn contains(&self, cluster: &str) -> bool {
        self.0.iter().any(|(member, _)| member.name == cluster)
    }

    /// Injects a fault and returns a sentence that describes it.
    ///
    /// # Errors
    /// A sentence: there is no such cluster, or no object that the fault applies to.
    pub fn inject_fault(&self, cluster: &str, request: &FaultRequest) -> Result<String, String> {
        let found = self.0.iter().find(|(member, _)| member.name == cluster);
        let (_, cluster) = found.ok_or_else(|| format!("{cluster} is not one of the demo's clusters."))?;
        let name = cluster.name();
        let workload = request.workload.as_str();
        match &request.fault {
            ClusterFault::DeleteObject => delete_object(cluster, workload),
            ClusterFault::ChangeReplicas => change_deployment(cluster, workload, |deployment| {
                let replicas = deployment.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
                deployment["spec"]["replicas"] = json!(replicas + 3);
                format!("replicas were changed from {replicas} to {}", replicas + 3)
            }),
            ClusterFault::ChangeImage => change_deployment(cluster, workload, |deployment| {
                deployment["spec"]["template"]["spec"]["containers"][0]["image"] = json!("busybox:1.36");
                "its image was changed to busybox:1.36".to_owned()
            }),
            ClusterFault::FailImagePulls => {
                restart_with(cluster, workload, |image| cluster.faults().fail_pulls_of(image)).map(|(key, image)| {
                    format!("{image} is missing now, and the pods of Deployment {key} were deleted. Flotilla reports the cause until the image is restored.")
                })
            }
            ClusterFault::CrashContainers => {
                restart_with(cluster, workload, |image| cluster.faults().crash_containers_of(image)).map(|(key, image)| {
                    format!("Containers with {image} crash now, and the pods of Deployment {key} were deleted. Flotilla reports the cause until the image is restored.")
                })
            }
            ClusterFault::RestoreImage => {
                restart_with(cluster, workload, |image| cluster.faults().restore_image(image)).map(|(key, image)| {
                    format!("{image} runs again, and the pods of Deployment {key} are created again.")
                })
            }
            ClusterFault::Offline => {
                cluster.faults().set_offline(true);
                Ok(format!("{name} is offline until it is reconnected."))
            }
            ClusterFault::Online => {
                cluster.faults().set_offline(false);
                Ok(format!("{name} is online again."))
            }
            ClusterFault::Slow { millis } => {
                let millis = (*millis).min(MAX_DELAY_MILLIS);
                cluster.faults().set_delay(Duration::from_millis(millis.into()));
                Ok(format!("Every response of {name} is now delayed by {millis} ms."))
            }
        }
    }
}

impl app::DemoControls for FaultControls {
    fn run_action<'a>(
        &'a self,
        cluster: &'a str,
        workload: &'a str,
        action: DemoAction,
    ) -> BoxFuture<'a, Result<String, String>> {
        let breakage = match action {
            DemoAction::DeleteObject => ClusterFault::DeleteObject,
            DemoAction::ChangeReplicas => ClusterFault::ChangeReplicas,
            DemoAction::ChangeImage => ClusterFault::ChangeImage,
            DemoAction::FailImagePulls => ClusterFault::FailImagePulls,
            DemoAction::CrashContainers => ClusterFault::CrashContainers,
            DemoAction::RestoreImage => ClusterFault::RestoreImage,
            DemoAction::Disconnect => ClusterFault::Offline,
            DemoAction::Reconnect => ClusterFault::Online,
        };
        Box::pin(async move {
            self.inject_fault(cluster, &FaultRequest { workload: workload.to_owned(), fault: breakage })
        })
    }
}

fn delete_object(cluster: &SimCluster, workload: &str) -> Result<String, String> {
    let found = DELETABLE_KINDS
        .into_iter()
        .find_map(|kind| find_applied_object(cluster, kind, workload).map(|object| (kind, object)));
    let (kind, object) = found.ok_or_else(|| no_object_message(cluster, workload))?;
    let (namespace, name) = object_key(&object);
    cluster.delete(kind, (namespace, name)).map_err(|problem| problem.to_string())?;
    Ok(format!("{} {namespace}/{name} was deleted on {}. {REVERTED}", kind.1, cluster.name()))
}

fn change_deployment(
    cluster: &SimCluster,
    workload: &str,
    change: impl Fn(&mut Value) -> String,
) -> Result<String, String> {
    let kind = ("apps/v1", "Deployment");
    let mut object =
        find_applied_object(cluster, kind, workload).ok_or_else(|| no_object_message(cluster, workload))?;
    let (namespace, name) = object_key(&object);
    let edit = |live: &mut Value| drop(change(live));
    cluster
        .edit(kind, (namespace, name), MANUAL_FIELD_MANAGER, edit)
        .map_err(|problem| problem.to_string())?;
    let key = format!("{namespace}/{name}");
    Ok(format!("Deployment {key} on {}: {} by hand. {REVERTED}", cluster.name(), change(&mut object)))
}

/// Sets or ends a fault of the image of a Deployment, and deletes its pods, so that new ones start with it. Returns the Deployment and
/// the image.
fn restart_with(
    cluster: &SimCluster,
    workload: &str,
    set_fault: impl Fn(&str),
) -> Result<(String, String), String> {
    let found = find_applied_object(cluster, ("apps/v1", "Deployment"), workload);
    let object = found.ok_or_else(|| no_object_message(cluster, workload))?;
    let (namespace, name) = object_key(&object);
    let image = object.pointer("/spec/template/spec/containers/0/image").and_then(Value::as_str);
    let image = image.ok_or_else(|| format!("Deployment {namespace}/{name} has no container."))?;
    set_fault(image);
    let prefix = format!("{name}-");
    for pod in cluster.list(("v1", "Pod"), Some(namespace)) {
        let (_, pod_name) = object_key(&pod);
        if pod_name.starts_with(&prefix) {
            cluster.delete(("v1", "Pod"), (namespace, pod_name)).map_err(|problem| problem.to_string())?;
        }
    }
    Ok((format!("{namespace}/{name}"), image.to_owned()))
}

/// An object that Flotilla applied for this workload, or for any if the name is empty.
fn find_applied_object(cluster: &SimCluster, kind: (&str, &str), workload: &str) -> Option<Value> {
    let is_ours = |object: &Value| {
        let of = object.pointer(WORKLOAD_POINTER).and_then(Value::as_str);
        let deleting = object.pointer("/metadata/deletionTimestamp").is_some();
        of.is_some_and(|name| workload.is_empty() || name == workload) && !deleting
    };
    cluster.list(kind, None).into_iter().find(is_ours)
}

fn object_key(object: &Value) -> (&str, &str) {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    (text("/metadata/namespace"), text("/metadata/name"))
}

fn no_object_message(cluster: &SimCluster, workload: &str) -> String {
    match workload {
        "" => format!("{} has no objects that Flotilla applied.", cluster.name()),
        workload => format!("{} has no objects of the workload {workload}.", cluster.name()),
    }
}
