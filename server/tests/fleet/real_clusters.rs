//! A chart on three real control planes through the deployment API: upgraded while a cluster is down, rolled back, removed
//! from one cluster, deleted by force while another is gone.

use domain::cluster::Connectivity;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use reqwest::{Method, StatusCode};
use testkit::{ControlPlane, ControlPlaneOptions};

use super::charts::{chart, set_helm};
use super::deployments::{DEPLOYMENTS, EU, WEB, outcomes};
use super::*;

pub(super) const DEPLOYMENT_TEMPLATE: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      containers:
        - name: web
          image: docker.io/library/nginx:1.29.3
          resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 32Mi}}
";

struct RealFleet {
    fleet: TestFleet,
    planes: Vec<ControlPlane>,
}

impl RealFleet {
    async fn start() -> Self {
        let options = ControlPlaneOptions::with_workloads;
        let (a, b, c) = tokio::join!(
            ControlPlane::start(options()),
            ControlPlane::start(options()),
            ControlPlane::start(options())
        );
        let planes = vec![a, b, c];
        let mut fleet = TestFleet::start_with(&[]).await;
        set_helm(&fleet).await;
        for (plane, name) in planes.iter().zip(["eu-1", "eu-2", "eu-3"]) {
            fleet.join_cluster(name, plane.client()).await;
        }
        for name in ["eu-1", "eu-2", "eu-3"] {
            fleet.wait_for_connectivity(name, Connectivity::Online).await;
        }
        for version in ["1.0.0", "1.1.0"] {
            let archive = chart(version, &[("templates/deployment.yaml", DEPLOYMENT_TEMPLATE)]);
            fleet.client.upload_chart(archive).await.unwrap();
        }
        Self { fleet, planes }
    }

    /// The chart version and the replicas that a cluster runs; `None` if it has nothing of the deployment.
    async fn running(&self, cluster: usize) -> Option<(String, i32)> {
        let client = self.planes[cluster].client();
        let config: Option<ConfigMap> = Api::namespaced(client.clone(), "shop").get_opt("web").await.unwrap();
        let deployment: Option<Deployment> = Api::namespaced(client, "shop").get_opt("web").await.unwrap();
        let version = config?.data?.get("chart")?.clone();
        Some((version, deployment?.spec?.replicas?))
    }

    async fn take_down(&mut self, cluster: usize, name: &str) {
        self.planes[cluster].kill_api_server();
        self.fleet.stop_agent(cluster, name).await;
    }

    async fn bring_back(&mut self, cluster: usize) {
        self.planes[cluster].restart_api_server().await;
        self.fleet.start_agent(cluster);
    }
}

fn version(chart: &str, replicas: i32) -> Option<(String, i32)> {
    Some((chart.to_owned(), replicas))
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_4_s1_5_s1_6_a_chart_on_three_real_clusters_survives_the_loss_of_one() {
    if !testkit::is_available("a chart on three real clusters") {
        return;
    }
    let scenario = async {
        let mut real = RealFleet::start().await;
        real.fleet.create_europe(&[0, 1, 2]).await;
        let body = json!({"name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web",
            "values": {"replicas": 1}, "valueOverrides": {"eu-2": {"replicas": 2}, "eu-3": {"replicas": 3}}});
        let (status, created) = real.fleet.send(Method::POST, DEPLOYMENTS, body).await;
        assert_eq!(status, StatusCode::CREATED, "{created}");
        for cluster in 0..3 {
            assert_eq!(real.running(cluster).await, version("1.0.0", cluster as i32 + 1));
        }
        real.fleet.wait_for_status("web", |status| status.counts.healthy() == 3).await;

        // One cluster is down: the others are upgraded, and it follows when it returns (S1-5).
        real.take_down(2, "eu-3").await;
        let upgrade =
            json!({"version": "1.1.0", "reuseValues": true, "valueOverrides": {"eu-2": {"replicas": 4}}});
        let (status, upgraded) = real.fleet.send(Method::PUT, WEB, upgrade).await;
        assert_eq!(status, StatusCode::MULTI_STATUS, "{upgraded}");
        assert_eq!(outcomes(&upgraded), ["eu-1 SUCCEEDED", "eu-2 SUCCEEDED", "eu-3 DEFERRED"]);
        assert_eq!(
            (real.running(0).await, real.running(1).await),
            (version("1.1.0", 1), version("1.1.0", 4))
        );
        assert_eq!(
            real.fleet.statuses(WEB).await,
            ["eu-1 DEPLOYED 1.1.0", "eu-2 DEPLOYED 1.1.0", "eu-3 UNKNOWN 1.0.0 stale"]
        );
        real.bring_back(2).await;
        real.fleet.wait_until(async || real.running(2).await == version("1.1.0", 3)).await;

        // Rolled back: the workload of the deployment has the history.
        real.fleet
            .client
            .restore_revision("web", &wire::RestoreRevisionRequest { revision: 1 })
            .await
            .unwrap();
        real.fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        real.fleet.wait_until(async || real.running(1).await == version("1.0.0", 2)).await;
        real.fleet.wait_for_status("web", |status| status.counts.healthy() == 3).await;

        // Removed from one cluster, which stays.
        let members = json!({"members": real.fleet.ids(&[0, 2])});
        assert_eq!(real.fleet.send(Method::PUT, EU, members).await.0, StatusCode::OK);
        real.fleet.wait_until(async || real.running(1).await.is_none()).await;

        // Deleted by force while a cluster is gone, which is cleaned up when it returns.
        real.take_down(2, "eu-3").await;
        assert_eq!(real.fleet.send(Method::DELETE, WEB, Value::Null).await.0, StatusCode::MULTI_STATUS);
        assert_eq!(real.running(0).await, None);
        let (status, _) = real.fleet.send(Method::DELETE, &format!("{WEB}?force=true"), Value::Null).await;
        assert_eq!(status, StatusCode::OK);
        let gone = async || real.fleet.send(Method::GET, WEB, Value::Null).await.0 == StatusCode::NOT_FOUND;
        real.fleet.wait_until(gone).await;
        real.bring_back(2).await;
        let cleaned = async || {
            let query = EventQuery { cluster: Some("eu-3".to_owned()), ..EventQuery::default() };
            let events = real.fleet.client.list_events(&query).await.unwrap().items;
            let found = events.into_iter().find(|event| event.kind == EventKind::ReleaseCleanedUp);
            found.is_some_and(|event| event.message.contains("eu-3"))
        };
        real.fleet.wait_until(cleaned).await;
        assert_eq!(real.running(2).await, None);
        real.fleet.stop().await;
    };
    tokio::time::timeout(Duration::from_secs(420), Box::pin(scenario))
        .await
        .expect("the scenario completes in 7 minutes");
}
