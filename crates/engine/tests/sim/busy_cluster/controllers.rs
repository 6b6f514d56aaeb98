//! What the controllers do in the life of a busy cluster: pods for the Deployment `web` on nodes that exist, its status and that of its
//! disruption budget, the status of the Deployment `pool`, and the Jobs of the CronJob `report`. Their objects are of others: Flotilla must
//! not touch them.

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kubesim::SimCluster;
use serde_json::{Value, json};

use super::{CRON_JOB, DISRUPTION_BUDGET, Kind, NODE};
use crate::harness::DEPLOYMENT;

const JOB: Kind = ("batch/v1", "Job");
const POD: Kind = ("v1", "Pod");
const REPLICA_SET: Kind = ("apps/v1", "ReplicaSet");
const MANAGER: &str = "kube-controller-manager";

/// The controllers, and what they wrote last.
#[derive(Default)]
pub struct Controllers {
    /// Their objects, as they wrote them last.
    pub objects: Vec<(Kind, String, Value)>,
    /// Number of their deletions.
    pub deletes: u64,
    /// Number of the pods that they created.
    created: usize,
    /// Number of the Jobs that they created.
    runs: usize,
}

impl Controllers {
    /// Does what is missing.
    pub async fn run(&mut self, cluster: &SimCluster) {
        let Some(web) = cluster.get(DEPLOYMENT, ("default", "web")) else { return };
        let set = self.ensure_replica_set(cluster, &web);
        self.replace_pods(cluster, &web, &set).await;
        write_status(cluster, &web).await;
        if let Some(pool) = cluster.get(DEPLOYMENT, ("default", "pool")) {
            write_status(cluster, &pool).await;
        }
        write_budget_status(cluster, &web).await;
    }

    /// A run of the CronJob, whose Job ends at once.
    pub async fn run_job(&mut self, cluster: &SimCluster) {
        let report = cluster.get(CRON_JOB, ("default", "report")).unwrap();
        let name = format!("report-{:05}", self.runs);
        self.runs += 1;
        let job = json!({"apiVersion": JOB.0, "kind": JOB.1,
            "metadata": {"name": name, "namespace": "default", "ownerReferences": [owner_reference(&report)]},
            "spec": report["spec"]["jobTemplate"]["spec"]});
        let created = cluster.create(job, MANAGER).unwrap();
        let at = &created["metadata"]["creationTimestamp"];
        let status = json!({"succeeded": 1, "startTime": at, "completionTime": at,
            "conditions": [{"type": "Complete", "status": "True"}]});
        patch_status(cluster, JOB, &name, status).await;
        let written = cluster.get(JOB, ("default", &name)).unwrap();
        self.objects.push((JOB, name, written));
        let status = json!({"lastScheduleTime": at, "lastSuccessfulTime": at});
        patch_status(cluster, CRON_JOB, "report", status).await;
    }

    fn ensure_replica_set(&mut self, cluster: &SimCluster, web: &Value) -> Value {
        if let Some(set) = cluster.get(REPLICA_SET, ("default", "web-1")) {
            return set;
        }
        let set = json!({"apiVersion": REPLICA_SET.0, "kind": REPLICA_SET.1,
            "metadata": {"name": "web-1", "namespace": "default", "labels": {"app": "web"},
                "ownerReferences": [owner_reference(web)]},
            "spec": {"replicas": 1, "selector": web["spec"]["selector"], "template": web["spec"]["template"]}});
        cluster.create(set, MANAGER).unwrap();
        let set = cluster.get(REPLICA_SET, ("default", "web-1")).unwrap();
        self.objects.push((REPLICA_SET, "web-1".to_owned(), set.clone()));
        set
    }

    /// Deletes the pods whose node is gone and those beyond the number of replicas, and creates the missing ones.
    async fn replace_pods(&mut self, cluster: &SimCluster, web: &Value, set: &Value) {
        let nodes: Vec<String> = cluster.list(NODE, None).iter().map(name).collect();
        let is_on_node = |pod: &Value| nodes.iter().any(|node| pod["spec"]["nodeName"] == node.as_str());
        let (mut running, lost): (Vec<Value>, Vec<Value>) =
            cluster.list(POD, Some("default")).into_iter().partition(is_on_node);
        let desired = usize::try_from(web["spec"]["replicas"].as_u64().unwrap()).unwrap();
        let surplus = running.split_off(desired.min(running.len()));
        for pod in lost.into_iter().chain(surplus) {
            self.delete_pod(cluster, &name(&pod)).await;
        }
        for _ in running.len()..desired {
            let node = &nodes[self.created % nodes.len()];
            self.create_pod(cluster, set, node).await;
        }
    }

    async fn delete_pod(&mut self, cluster: &SimCluster, pod: &str) {
        let params = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        api(cluster, POD).delete(pod, &params).await.unwrap();
        self.deletes += 1;
        self.objects.retain(|(kind, name, _)| *kind != POD || name != pod);
    }

    async fn create_pod(&mut self, cluster: &SimCluster, set: &Value, node: &str) {
        let name = format!("web-1-{:05}", self.created);
        self.created += 1;
        let template = &set["spec"]["template"];
        let mut spec = template["spec"].clone();
        spec["nodeName"] = node.into();
        let pod = json!({"apiVersion": POD.0, "kind": POD.1,
            "metadata": {"name": name, "namespace": "default", "labels": template["metadata"]["labels"],
                "ownerReferences": [owner_reference(set)]},
            "spec": spec});
        cluster.create(pod, MANAGER).unwrap();
        let condition = |kind: &str| json!({"type": kind, "status": "True"});
        let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition);
        let status = json!({"phase": "Running", "conditions": conditions,
            "containerStatuses": [{"name": "web", "ready": true, "started": true, "restartCount": 0,
                "image": template["spec"]["containers"][0]["image"], "imageID": "sha256:0",
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]});
        patch_status(cluster, POD, &name, status).await;
        let written = cluster.get(POD, ("default", &name)).unwrap();
        self.objects.push((POD, name, written));
    }
}

/// All replicas of the latest generation are available.
async fn write_status(cluster: &SimCluster, deployment: &Value) {
    let (generation, replicas) = (&deployment["metadata"]["generation"], &deployment["spec"]["replicas"]);
    let status = &deployment["status"];
    if status["observedGeneration"] == *generation && status["availableReplicas"] == *replicas {
        return;
    }
    let status = json!({"observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": replicas, "availableReplicas": replicas,
        "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}]});
    patch_status(cluster, DEPLOYMENT, &name(deployment), status).await;
}

/// Every pod is healthy, and one of them may be disrupted.
async fn write_budget_status(cluster: &SimCluster, web: &Value) {
    let Some(budget) = cluster.get(DISRUPTION_BUDGET, ("default", "web")) else { return };
    let (generation, pods) = (&budget["metadata"]["generation"], &web["spec"]["replicas"]);
    let status = &budget["status"];
    if status["observedGeneration"] == *generation && status["expectedPods"] == *pods {
        return;
    }
    let status = json!({"observedGeneration": generation, "expectedPods": pods, "currentHealthy": pods,
        "desiredHealthy": pods.as_u64().unwrap() - 1, "disruptionsAllowed": 1,
        "conditions": [{"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods"}]});
    patch_status(cluster, DISRUPTION_BUDGET, "web", status).await;
}

async fn patch_status(cluster: &SimCluster, kind: Kind, name: &str, status: Value) {
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"status": status}));
    api(cluster, kind).patch_status(name, &params, &patch).await.unwrap();
}

fn api(cluster: &SimCluster, (version, kind): Kind) -> Api<DynamicObject> {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(kube::Client::new(cluster.service(), "default"), "default", &resource)
}

fn owner_reference(owner: &Value) -> Value {
    let metadata = &owner["metadata"];
    json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"],
        "uid": metadata["uid"], "controller": true, "blockOwnerDeletion": true})
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}
