//! What a person or a node does on the canary while a rollout runs: a controller that is held by hand keeps the next wave closed,
//! and a dead pod that was replaced pauses nothing.

use domain::overrides::ClusterSelector;
use domain::rollout::{Rollout, RolloutAction, RolloutState, RolloutStrategy, Wave};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use reqwest::{Method, StatusCode};

use super::*;

const STATEFUL_SET: (&str, &str) = ("apps/v1", "StatefulSet");
const IMAGE: &str = "docker.io/library/nginx:1.29.3";
const NEXT_IMAGE: &str = "docker.io/library/nginx:1.29.4";

/// First `eu-1`, then both other clusters.
fn canary_first(approval: bool) -> RolloutStrategy {
    let target = ClusterSelector { clusters: vec!["eu-1".into()], ..ClusterSelector::default() };
    let canary = Wave { name: "canary".into(), target, ..Wave::default() };
    let rest = Wave { name: "rest".into(), approval, ..Wave::default() };
    RolloutStrategy { waves: vec![canary, rest], ..RolloutStrategy::default() }
}

/// A workload of one controller with two pods.
fn workload(kind: &str, image: &str, rollout: RolloutStrategy) -> WorkloadSpec {
    let mut text = MANIFESTS.replace(IMAGE, image);
    if kind == "StatefulSet" {
        text = text.replace("kind: Deployment", "kind: StatefulSet");
        text = text.replace("  replicas: 2\n", "  serviceName: web\n  replicas: 2\n");
    }
    let mut spec = web_workload().spec;
    spec.source = Source::Yaml { files: vec![SourceFile { name: "web.yaml".to_owned(), text }] };
    spec.rollout = rollout;
    spec
}

impl TestFleet {
    /// Publishes this content as the next revision of `web`, or as its first one.
    async fn publish_spec(&self, spec: WorkloadSpec) -> u32 {
        match self.client.get_workload("web").await {
            Ok(current) => {
                let put = WorkloadPut { spec, ..WorkloadPut::default() };
                self.client.put_workload("web", &put, current.workload.revision).await.unwrap();
            }
            Err(_) => {
                let new = NewWorkload { spec, ..web_workload() };
                self.client.create_workload(&new).await.unwrap();
            }
        }
        self.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap().revision
    }

    /// The rollout of a revision, once `condition` holds. It fails if the rollout is paused because of a failure.
    async fn wait_for_rollout(&self, revision: u32, condition: impl Fn(&Rollout) -> bool) -> Rollout {
        let mut watch = self.client.watch(None);
        loop {
            // The placer creates it after the publish.
            if let Ok(rollout) = self.client.get_rollout("web", Some(revision)).await {
                assert!(!matches!(rollout.state, RolloutState::AutoPaused { .. }), "{rollout:#?}");
                if condition(&rollout) {
                    return rollout;
                }
            }
            await_event(&mut watch).await;
        }
    }

    /// The image that each cluster has in the pod template of this kind.
    fn images(&self, kind: (&str, &str)) -> [String; 3] {
        [0, 1, 2].map(|cluster| {
            let found = self.clusters[cluster].get(kind, WEB_KEY).unwrap();
            found["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned()
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_2_a_stateful_set_that_is_held_by_hand_on_the_canary_keeps_the_next_wave_closed() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start().await;
        let strategy = |update: Value| {
            let edit = |object: &mut Value| object["spec"]["updateStrategy"] = update.clone();
            fleet.clusters[0].edit(STATEFUL_SET, WEB_KEY, "kubectl-edit", edit).unwrap();
        };
        let content = |image: &str| workload("StatefulSet", image, canary_first(false));
        fleet.publish_spec(content(IMAGE)).await;
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        let mut published = IMAGE;
        for (hold, image) in [
            (json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}), NEXT_IMAGE),
            (json!({"type": "OnDelete"}), IMAGE),
        ] {
            strategy(hold.clone());
            let revision = fleet.publish_spec(content(image)).await;
            let is_held = |status: &WorkloadStatus| {
                let held =
                    status.target_clusters.iter().filter(|one| one.health.reason == "HeldOutsideManifest");
                held.map(|one| one.cluster_name.as_str()).eq(["eu-1"])
            };
            fleet.wait_for_web(is_held).await;
            let is_open = |rollout: &Rollout| rollout.waves[0].in_transition == 1;
            let rollout = fleet.wait_for_rollout(revision, is_open).await;
            assert_eq!(
                (rollout.waves[0].operational, rollout.waves[1].gated),
                (0, 2),
                "{hold}: {rollout:#?}"
            );
            assert_eq!(fleet.images(STATEFUL_SET), [image, published, published], "{hold}");

            strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}));
            fleet.wait_for_rollout(revision, |rollout| rollout.state == RolloutState::Completed).await;
            assert_eq!(fleet.images(STATEFUL_SET), [image; 3], "{hold}");
            published = image;
        }
        fleet.stop().await;
    }))
    .await;
}

/// A definition, and an object of its kind with this size.
fn lamp(size: u32) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: lamps.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{kind: Lamp, listKind: LampList, plural: lamps, singular: lamp}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {{type: object, properties: {{size: {{type: integer}}}}}}
          status: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: example.com/v1
kind: Lamp
metadata: {{name: web}}
spec: {{size: {size}}}
"
    )
}

/// Reports this phase as the controller of a cluster, beside the Ready=True of before, once the object is there.
async fn report_phase(fleet: &TestFleet, cluster: usize, phase: &str) {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Lamp"));
    let client = fleet.agents[cluster].client.clone();
    let api: Api<DynamicObject> = Api::namespaced_with(client, "apps", &kind);
    let status = json!({"status": {"phase": phase, "conditions": [{"type": "Ready", "status": "True"}]}});
    let patch = Patch::Merge(status);
    poll_until(async || api.patch_status("web", &PatchParams::default(), &patch).await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_2_a_custom_object_that_reports_a_pause_on_the_canary_keeps_the_next_wave_closed() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start().await;
        let content = |size: u32| {
            let file = SourceFile { name: "web.yaml".to_owned(), text: lamp(size) };
            let spec = workload("Deployment", IMAGE, canary_first(false));
            WorkloadSpec { source: Source::Yaml { files: vec![file] }, ..spec }
        };
        let sizes = || {
            let found = fleet.clusters.iter().map(|one| one.get(("example.com/v1", "Lamp"), WEB_KEY));
            found.map(|lamp| lamp.unwrap()["spec"]["size"].clone()).collect::<Vec<Value>>()
        };
        fleet.publish_spec(content(1)).await;
        for cluster in 0..fleet.clusters.len() {
            report_phase(&fleet, cluster, "Running").await;
        }
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        report_phase(&fleet, 0, "Paused").await;
        let revision = fleet.publish_spec(content(2)).await;
        let is_paused = |status: &WorkloadStatus| {
            let mut paused = status.target_clusters.iter().filter(|one| one.health.reason == "Paused");
            paused.any(|one| one.cluster_name == "eu-1" && one.revision == Some(revision))
        };
        fleet.wait_for_web(is_paused).await;
        let rollout = fleet.wait_for_rollout(revision, |rollout| rollout.waves[0].in_transition == 1).await;
        assert_eq!((rollout.waves[0].operational, rollout.waves[1].gated), (0, 2), "{rollout:#?}");
        assert_eq!(sizes()[1..], [1, 1]);

        report_phase(&fleet, 0, "Running").await;
        fleet.wait_for_rollout(revision, |rollout| rollout.state == RolloutState::Completed).await;
        assert_eq!(sizes(), [2, 2, 2]);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c3_a_dead_pod_that_was_replaced_on_the_canary_pauses_no_rollout() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start().await;
        let content = |image: &str| workload("Deployment", image, canary_first(true));
        let first = fleet.publish_spec(content(IMAGE)).await;
        let is_waiting = |rollout: &Rollout| rollout.state == RolloutState::AwaitingApproval;
        fleet.wait_for_rollout(first, is_waiting).await;
        fleet.client.control_rollout("web", RolloutAction::Approve).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let revision = fleet.publish_spec(content(NEXT_IMAGE)).await;
        fleet.wait_for_rollout(revision, is_waiting).await;

        // The node of the canary is shut down and ends a pod, which the controller replaces. The dead one stays, with an exit code
        // that would be a crash of a pod that still runs.
        end_pod(&fleet).await;
        let path = "/api/v1/projects/default/workloads/web/releases/eu-1";
        let is_reported = async || {
            let (status, release) = fleet.send(Method::GET, path, Value::Null).await;
            assert_eq!(status, StatusCode::OK, "{release}");
            release.to_string().contains("exits with 137")
        };
        poll_until(is_reported).await;
        let is_healthy = |status: &WorkloadStatus| {
            let mut clusters = status.target_clusters.iter();
            clusters.any(|one| one.cluster_name == "eu-1" && one.state == ReleaseState::Healthy)
        };
        fleet.wait_for_web(is_healthy).await;
        // While the pod was replaced, the canary was in transition.
        fleet.wait_for_rollout(revision, is_waiting).await;
        fleet.client.control_rollout("web", RolloutAction::Approve).await.unwrap();
        fleet.wait_for_rollout(revision, |rollout| rollout.state == RolloutState::Completed).await;
        assert_eq!(fleet.images(DEPLOYMENT), [NEXT_IMAGE; 3]);
        fleet.stop().await;
    }))
    .await;
}

/// The status of a pod with this image that its node ended at this time, with an exit code that would be a crash of a pod that runs.
pub(super) fn ended_status(image: &str, at: &Value) -> Value {
    let ended = json!({"exitCode": 137, "reason": "Error", "startedAt": at, "finishedAt": at});
    json!({"status": {"phase": "Failed", "reason": "Terminated",
        "message": "Pod was terminated in response to imminent node shutdown.",
        "containerStatuses": [{"name": "web", "image": image, "imageID": "", "ready": false,
            "restartCount": 0, "state": {"terminated": ended}}]}})
}

/// Ends a pod of the new revision on the first cluster, as its node does when it is shut down, and waits until it is replaced.
async fn end_pod(fleet: &TestFleet) {
    let pods = || {
        let mut pods = fleet.clusters[0].list(("v1", "Pod"), Some("apps"));
        pods.retain(|pod| pod["spec"]["containers"][0]["image"] == NEXT_IMAGE);
        pods
    };
    let before = pods();
    let name = before[0]["metadata"]["name"].as_str().unwrap();
    // So late that an exit at that time would count as a crash.
    let status = ended_status(NEXT_IMAGE, &before[0]["metadata"]["creationTimestamp"]);
    let api: Api<Pod> = Api::namespaced(fleet.agents[0].client.clone(), "apps");
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let is_replaced = async || {
        let available = fleet.deployment(0).map(|found| found["status"]["availableReplicas"].clone());
        pods().len() > before.len() && available == Some(json!(2))
    };
    poll_until(is_replaced).await;
}

/// Waits for what is no event of the hub.
pub(super) async fn poll_until(condition: impl AsyncFn() -> bool) {
    while !condition().await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
