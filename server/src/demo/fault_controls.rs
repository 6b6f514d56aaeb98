//! Fault injection into simulated clusters: the console's "Break it".

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
            ClusterFault::Offline => {
                cluster.faults().set_offline(true);
                Ok(format!("{name} is offline until you bring it back online."))
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
        action: DemoAction,
    ) -> BoxFuture<'a, Result<String, String>> {
        let breakage = match action {
            DemoAction::DeleteObject => ClusterFault::DeleteObject,
            DemoAction::ChangeReplicas => ClusterFault::ChangeReplicas,
            DemoAction::ChangeImage => ClusterFault::ChangeImage,
            DemoAction::TakeOffline => ClusterFault::Offline,
            DemoAction::BringBack => ClusterFault::Online,
        };
        Box::pin(async move {
            self.inject_fault(cluster, &FaultRequest { workload: String::new(), fault: breakage })
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
    Ok(format!("{} {namespace}/{name} was deleted on {}.", kind.1, cluster.name()))
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
    Ok(format!("Deployment {key} on {}: {} by hand.", cluster.name(), change(&mut object)))
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
