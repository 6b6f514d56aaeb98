//! "Break it": what goes wrong in life, done to a simulated cluster on request.

use std::time::Duration;

use app::{DemoAction, Later};
use kubesim::Cluster;
use serde_json::{Value, json};
use wire::{BreakRequest, Breakage};

use super::fleet::Member;

/// Who changes things by hand: the field manager of `kubectl edit`.
const SOMEBODY: &str = "kubectl-edit";
/// The annotation by which applied objects name their workload.
const WORKLOAD: &str = "/metadata/annotations/flotilla.dev~1workload";
/// Kinds that are deleted by "delete an object", the most telling first.
const DELETED: [(&str, &str); 3] = [("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "ConfigMap")];
/// The longest delay that can be asked for, in milliseconds.
const SLOWEST: u32 = 30_000;

/// The demo's clusters, to be broken.
pub struct Levers(Vec<(Member, Cluster)>);

impl Levers {
    /// Levers on these clusters.
    pub fn new(clusters: Vec<(Member, Cluster)>) -> Self {
        Self(clusters)
    }

    /// Whether there is such a cluster.
    pub fn has(&self, cluster: &str) -> bool {
        self.0.iter().any(|(member, _)| member.name == cluster)
    }

    /// Breaks something and says in a sentence what was done.
    ///
    /// # Errors
    /// There is no such cluster, or nothing there to break; the sentence says which.
    pub fn pull(&self, cluster: &str, request: &BreakRequest) -> Result<String, String> {
        let found = self.0.iter().find(|(member, _)| member.name == cluster);
        let (_, cluster) = found.ok_or_else(|| format!("{cluster} is not one of the demo's clusters."))?;
        let name = cluster.name();
        let workload = request.workload.as_str();
        match &request.breakage {
            Breakage::DeleteObject => delete_object(cluster, workload),
            Breakage::ChangeReplicas => change_deployment(cluster, workload, |deployment| {
                let replicas = deployment.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
                deployment["spec"]["replicas"] = json!(replicas + 3);
                format!("replicas were changed from {replicas} to {}", replicas + 3)
            }),
            Breakage::ChangeImage => change_deployment(cluster, workload, |deployment| {
                deployment["spec"]["template"]["spec"]["containers"][0]["image"] = json!("busybox:1.36");
                "its image was changed to busybox:1.36".to_owned()
            }),
            Breakage::Offline => {
                cluster.faults().set_offline(true);
                Ok(format!("{name} is cut off. Bring it back when you have seen enough."))
            }
            Breakage::Online => {
                cluster.faults().set_offline(false);
                Ok(format!("{name} can be reached again."))
            }
            Breakage::Slow { millis } => {
                let millis = (*millis).min(SLOWEST);
                cluster.faults().set_delay(Duration::from_millis(millis.into()));
                Ok(format!("Every answer of {name} now takes {millis} ms longer."))
            }
        }
    }
}

impl app::Demo for Levers {
    fn act<'a>(&'a self, cluster: &'a str, action: DemoAction) -> Later<'a, Result<String, String>> {
        let breakage = match action {
            DemoAction::DeleteObject => Breakage::DeleteObject,
            DemoAction::ChangeReplicas => Breakage::ChangeReplicas,
            DemoAction::ChangeImage => Breakage::ChangeImage,
            DemoAction::TakeOffline => Breakage::Offline,
            DemoAction::BringBack => Breakage::Online,
        };
        Box::pin(async move { self.pull(cluster, &BreakRequest { workload: String::new(), breakage }) })
    }
}

fn delete_object(cluster: &Cluster, workload: &str) -> Result<String, String> {
    let found =
        DELETED.into_iter().find_map(|kind| ours(cluster, kind, workload).map(|object| (kind, object)));
    let (kind, object) = found.ok_or_else(|| nothing(cluster, workload))?;
    let (namespace, name) = place(&object);
    cluster.delete(kind, (namespace, name)).map_err(|problem| problem.to_string())?;
    Ok(format!("{} {namespace}/{name} was deleted on {}.", kind.1, cluster.name()))
}

fn change_deployment(
    cluster: &Cluster,
    workload: &str,
    change: impl Fn(&mut Value) -> String,
) -> Result<String, String> {
    let kind = ("apps/v1", "Deployment");
    let mut object = ours(cluster, kind, workload).ok_or_else(|| nothing(cluster, workload))?;
    let (namespace, name) = place(&object);
    let edit = |live: &mut Value| drop(change(live));
    cluster.touch(kind, (namespace, name), SOMEBODY, edit).map_err(|problem| problem.to_string())?;
    let place = format!("{namespace}/{name}");
    Ok(format!("Deployment {place} on {}: {} by hand.", cluster.name(), change(&mut object)))
}

/// An object that Flotilla applied: of this workload, or of any.
fn ours(cluster: &Cluster, kind: (&str, &str), workload: &str) -> Option<Value> {
    let is_ours = |object: &Value| {
        let of = object.pointer(WORKLOAD).and_then(Value::as_str);
        let deleting = object.pointer("/metadata/deletionTimestamp").is_some();
        of.is_some_and(|name| workload.is_empty() || name == workload) && !deleting
    };
    cluster.list(kind, None).into_iter().find(is_ours)
}

fn place(object: &Value) -> (&str, &str) {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    (text("/metadata/namespace"), text("/metadata/name"))
}

fn nothing(cluster: &Cluster, workload: &str) -> String {
    match workload {
        "" => format!("Nothing of Flotilla's runs on {} yet.", cluster.name()),
        workload => format!("Nothing of {workload} runs on {}.", cluster.name()),
    }
}
