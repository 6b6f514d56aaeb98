//! A rollout over 40 simulated and 3 real clusters: a bad image stops it in its first wave, and it completes with the next
//! revision while a cluster is offline.

use domain::cluster::Connectivity;
use domain::incident::{IncidentQuery, IncidentState, IncidentSummary};
use domain::notification::{ChannelKind, DeliveryState, NewChannel, NewSubscription};
use domain::overrides::ClusterSelector;
use domain::rollout::{Rollout, RolloutAction, RolloutState, RolloutStrategy, Wave};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use reqwest::{Method, StatusCode};
use server::args::RepositoryArg;
use testkit::{ControlPlane, ControlPlaneOptions};

use super::incidents::{Received, start_receiver};
use super::rollout_gates::{ended_status, poll_until};
use super::*;

const REAL: [&str; 3] = ["eu-1", "eu-2", "eu-3"];
const SIMULATED: usize = 40;
const GOOD: &str = "docker.io/library/nginx:1.29.3";
const MISSING: &str = "docker.io/library/nginx:1.29.33";
const FIXED: &str = "docker.io/library/nginx:1.29.4";

struct CanaryFleet {
    fleet: TestFleet,
    planes: Vec<ControlPlane>,
    received: Received,
}

impl CanaryFleet {
    async fn start() -> Self {
        let start = || ControlPlane::start(ControlPlaneOptions::with_workloads());
        let (a, b, c) = tokio::join!(start(), start(), start());
        let planes = vec![a, b, c];
        let incident_delay = Duration::from_secs(1);
        let mut fleet =
            TestFleet::start_with_config(&[], |config| HubConfig { incident_delay, ..config }).await;
        server::notifications::set_message_sender(&fleet.hub, RepositoryArg::PrivateHttp);
        for (plane, name) in planes.iter().zip(REAL) {
            fleet.join_cluster(name, plane.client()).await;
        }
        for number in 1..=SIMULATED {
            fleet.add_cluster(&simulated(number)).await;
        }
        // As on the real clusters, by the annotation of the pods.
        for cluster in &fleet.clusters {
            cluster.faults().fail_pulls_of(MISSING);
        }
        let received = Received::default();
        let url = start_receiver(received.clone()).await;
        let channel =
            NewChannel { name: "ops".into(), kind: ChannelKind::Webhook, url, ..NewChannel::default() };
        fleet.client.create_channel(&channel).await.unwrap();
        let owner = Some("team-web".to_owned());
        let owned = NewSubscription { channel: "ops".into(), owner, ..NewSubscription::default() };
        fleet.client.create_subscription(&owned).await.unwrap();
        Self { fleet, planes, received }
    }

    async fn publish(&self, spec: WorkloadSpec) {
        let put = WorkloadPut { spec, ..WorkloadPut::default() };
        let current = self.fleet.client.get_workload("web").await.unwrap().workload;
        self.fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        self.fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
    }

    async fn wait_for_rollout(&self, revision: u32, condition: impl Fn(&Rollout) -> bool) -> Rollout {
        let mut watch = self.fleet.client.watch(None);
        loop {
            let rollout = self.fleet.client.get_rollout("web", Some(revision)).await.unwrap();
            if condition(&rollout) {
                return rollout;
            }
            await_event(&mut watch).await;
        }
    }

    /// The image that a real cluster runs.
    async fn real_image(&self, cluster: usize) -> String {
        let api: Api<Deployment> = Api::namespaced(self.planes[cluster].client(), "apps");
        let template = api.get("web").await.unwrap().spec.unwrap().template;
        template.spec.unwrap().containers[0].image.clone().unwrap()
    }

    /// Pauses or resumes the Deployment of a real cluster by hand.
    async fn set_paused(&self, cluster: usize, paused: bool) {
        let api: Api<Deployment> = Api::namespaced(self.planes[cluster].client(), "apps");
        let patch = Patch::Merge(json!({"spec": {"paused": paused}}));
        api.patch("web", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Ends a pod with this image on the first real cluster, as its node does when it is shut down, and waits until it is replaced.
    async fn end_pod(&self, image: &str) {
        let api: Api<Pod> = Api::namespaced(self.planes[0].client(), "apps");
        let pods = async || {
            let mut pods = api.list(&ListParams::default()).await.unwrap().items;
            pods.retain(|pod| {
                let image_of = |pod: &Pod| pod.spec.as_ref()?.containers.first()?.image.clone();
                image_of(pod).as_deref() == Some(image)
            });
            pods
        };
        let before = pods().await;
        let name = before[0].metadata.name.clone().unwrap();
        let at = serde_json::to_value(&before[0].metadata.creation_timestamp).unwrap();
        let status = Patch::Merge(ended_status(image, &at));
        api.patch_status(&name, &PatchParams::default(), &status).await.unwrap();
        let deployments: Api<Deployment> = Api::namespaced(self.planes[0].client(), "apps");
        poll_until(async || {
            let status = deployments.get("web").await.unwrap().status.unwrap();
            pods().await.len() > before.len() && status.available_replicas == Some(2)
        })
        .await;
    }

    /// The number of simulated clusters that run an image.
    fn simulated_with(&self, image: &str) -> usize {
        let path = "/spec/template/spec/containers/0/image";
        let runs = |cluster: &&SimCluster| {
            let found = cluster.get(DEPLOYMENT, WEB_KEY).unwrap();
            found.pointer(path).and_then(Value::as_str) == Some(image)
        };
        self.fleet.clusters.iter().filter(runs).count()
    }

    /// The only incident, once it is in this state and all its messages are delivered.
    async fn wait_for_incident(&self, state: IncidentState) -> IncidentSummary {
        loop {
            let all = self.fleet.client.list_incidents(&IncidentQuery::default()).await.unwrap().items;
            assert!(all.len() <= 1, "one cause is one incident: {all:#?}");
            if let Some(incident) = all.into_iter().find(|incident| incident.state == state) {
                let details = self.fleet.client.get_incident(incident.id).await.unwrap();
                let is_delivered = |state: DeliveryState| state == DeliveryState::Delivered;
                if !details.deliveries.is_empty()
                    && details.deliveries.iter().all(|delivery| is_delivered(delivery.state))
                {
                    return details.incident;
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The messages of this type that the owners received.
    fn messages(&self, step: &str) -> Vec<String> {
        let all = self.received.lock();
        let of_step = |event: &&Value| event["type"] == format!("dev.flotilla.incident.{step}");
        all.iter().map(|(_, event)| event).filter(of_step).map(Value::to_string).collect()
    }
}

fn simulated(number: usize) -> String {
    format!("us-{number:02}")
}

fn spec(image: &str, strategy: RolloutStrategy) -> WorkloadSpec {
    let mut spec = web_workload().spec;
    let mut text = MANIFESTS.replace(GOOD, image);
    if image == MISSING {
        let labels = "      labels: {app: web}\n";
        text =
            text.replace(labels, &format!("{labels}      annotations: {{testkit/pod-fault: image-pull}}\n"));
    }
    spec.source = Source::Yaml { files: vec![SourceFile { name: "web.yaml".to_owned(), text }] };
    spec.placement.predicates = vec![Predicate::default()];
    spec.rollout = strategy;
    spec
}

/// First a real and a simulated cluster, then all others.
fn canary_first() -> RolloutStrategy {
    let target =
        ClusterSelector { clusters: vec!["eu-1".into(), simulated(1)], ..ClusterSelector::default() };
    let canary = Wave { name: "canary".into(), target, ..Wave::default() };
    let rest = Wave { name: "rest".into(), ..Wave::default() };
    RolloutStrategy {
        waves: vec![canary, rest],
        fail_after: Some("2s".parse().unwrap()),
        ..RolloutStrategy::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_s2_2_e5_a_bad_image_stops_a_rollout_over_43_clusters_and_its_fix_completes_it_without_the_offline_one()
 {
    if !testkit::is_available("a rollout over simulated and real clusters") {
        return;
    }
    let scenario = async {
        let mut canary = CanaryFleet::start().await;
        let owners = vec!["team-web".to_owned()];
        let new = NewWorkload { owners, spec: spec(GOOD, RolloutStrategy::default()), ..web_workload() };
        canary.fleet.client.create_workload(&new).await.unwrap();
        canary.fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        canary.fleet.wait_for_web(|status| status.counts.healthy() == 43).await;

        // The image does not exist: the first wave fails, and no other cluster gets it.
        canary.publish(spec(MISSING, canary_first())).await;
        let is_paused = |rollout: &Rollout| matches!(rollout.state, RolloutState::AutoPaused { .. });
        let paused = canary.wait_for_rollout(2, is_paused).await;
        assert_eq!((paused.waves[0].clusters, paused.waves[1].gated), (2, 41), "{paused:#?}");
        assert_eq!(canary.real_image(0).await, MISSING);
        assert_eq!((canary.real_image(1).await, canary.real_image(2).await), (GOOD.into(), GOOD.into()));
        assert_eq!((canary.simulated_with(MISSING), canary.simulated_with(GOOD)), (1, 39));
        let open = canary.wait_for_incident(IncidentState::Open).await;
        assert_eq!(open.reason, "ImagePullFailed");
        let opened = canary.messages("opened");
        assert_eq!(opened.len(), 1, "the owners get one message: {opened:#?}");
        assert!(
            opened[0].contains(&format!("cannot pull image {MISSING}: it is not in the registry")),
            "{}",
            opened[0]
        );

        // A cluster is offline when the corrected revision is published: it is deferred and holds nothing.
        canary.planes[2].kill_api_server();
        canary.fleet.stop_agent(2, "eu-3").await;
        canary.publish(spec(FIXED, canary_first())).await;
        let is_completed = |rollout: &Rollout| rollout.state == RolloutState::Completed;
        let completed = canary.wait_for_rollout(3, is_completed).await;
        assert_eq!(completed.waves.iter().map(|wave| wave.deferred).collect::<Vec<_>>(), [0, 1]);
        assert_eq!((canary.real_image(0).await, canary.real_image(1).await), (FIXED.into(), FIXED.into()));
        assert_eq!(canary.simulated_with(FIXED), SIMULATED);
        canary.wait_for_incident(IncidentState::Closed).await;
        assert_eq!((canary.messages("opened").len(), canary.messages("closed").len()), (1, 1));

        // It catches up when it returns.
        canary.planes[2].restart_api_server().await;
        canary.fleet.start_agent(2);
        canary.fleet.wait_for_connectivity("eu-3", Connectivity::Online).await;
        canary.fleet.wait_for_web(|status| status.counts.healthy() == 43).await;
        assert_eq!(canary.real_image(2).await, FIXED);
        canary.fleet.stop().await;
    };
    tokio::time::timeout(Duration::from_secs(300), Box::pin(scenario))
        .await
        .expect("the scenario completes in 5 minutes");
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_2_a_canary_that_is_paused_by_hand_holds_the_rollout_until_it_is_resumed() {
    if !testkit::is_available("a rollout over simulated and real clusters") {
        return;
    }
    let scenario = async {
        let canary = CanaryFleet::start().await;
        let new = NewWorkload { spec: spec(GOOD, RolloutStrategy::default()), ..web_workload() };
        canary.fleet.client.create_workload(&new).await.unwrap();
        canary.fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        canary.fleet.wait_for_web(|status| status.counts.healthy() == 43).await;

        canary.set_paused(0, true).await;
        canary.publish(spec(FIXED, canary_first())).await;
        let is_held = |status: &WorkloadStatus| {
            let held = status.target_clusters.iter().filter(|one| one.health.reason == "HeldOutsideManifest");
            held.map(|one| one.cluster_name.as_str()).eq([REAL[0]])
        };
        canary.fleet.wait_for_web(is_held).await;
        let is_half = |rollout: &Rollout| rollout.waves[0].operational == 1;
        let rollout = canary.wait_for_rollout(2, is_half).await;
        assert_eq!((rollout.waves[0].in_transition, rollout.waves[1].gated), (1, 41), "{rollout:#?}");
        assert_eq!((canary.real_image(1).await, canary.simulated_with(FIXED)), (GOOD.into(), 1));

        canary.set_paused(0, false).await;
        canary.wait_for_rollout(2, |rollout| rollout.state == RolloutState::Completed).await;
        assert_eq!((canary.real_image(1).await, canary.simulated_with(FIXED)), (FIXED.into(), SIMULATED));
        canary.fleet.stop().await;
    };
    tokio::time::timeout(Duration::from_secs(300), Box::pin(scenario))
        .await
        .expect("the scenario completes in 5 minutes");
}

#[tokio::test(flavor = "multi_thread")]
async fn c3_a_dead_pod_that_was_replaced_on_a_real_canary_pauses_no_rollout() {
    if !testkit::is_available("a rollout over simulated and real clusters") {
        return;
    }
    let scenario = async {
        let canary = CanaryFleet::start().await;
        let new = NewWorkload { spec: spec(GOOD, RolloutStrategy::default()), ..web_workload() };
        canary.fleet.client.create_workload(&new).await.unwrap();
        canary.fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        canary.fleet.wait_for_web(|status| status.counts.healthy() == 43).await;
        let mut strategy = canary_first();
        strategy.waves[1].approval = true;
        canary.publish(spec(FIXED, strategy)).await;
        let is_waiting = |rollout: &Rollout| rollout.state == RolloutState::AwaitingApproval;
        canary.wait_for_rollout(2, is_waiting).await;

        // The dead pod stays beside the one that replaces it. A canary that is degraded for 2 s would pause the rollout.
        canary.end_pod(FIXED).await;
        let path = "/api/v1/projects/default/workloads/web/releases/eu-1";
        poll_until(async || {
            let (status, release) = canary.fleet.send(Method::GET, path, Value::Null).await;
            assert_eq!(status, StatusCode::OK, "{release}");
            release.to_string().contains("exits with 137")
        })
        .await;
        let is_healthy = |status: &WorkloadStatus| {
            let mut clusters = status.target_clusters.iter();
            clusters.any(|one| one.cluster_name == REAL[0] && one.state == ReleaseState::Healthy)
        };
        canary.fleet.wait_for_web(is_healthy).await;
        canary.wait_for_rollout(2, is_waiting).await;
        canary.fleet.client.control_rollout("web", RolloutAction::Approve).await.unwrap();
        canary.wait_for_rollout(2, |rollout| rollout.state == RolloutState::Completed).await;
        assert_eq!((canary.real_image(2).await, canary.simulated_with(FIXED)), (FIXED.into(), SIMULATED));
        canary.fleet.stop().await;
    };
    tokio::time::timeout(Duration::from_secs(300), Box::pin(scenario))
        .await
        .expect("the scenario completes in 5 minutes");
}
