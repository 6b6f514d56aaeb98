//! Releases that the real Helm installed on a real control plane: their names are in use, they are adopted without a restart, and
//! Helm lists what Flotilla records (S1-6, S1-16, G105).

use std::path::Path;

use domain::chart::ChartSource;
use domain::cluster::Connectivity;
use domain::helm_release::HelmReleaseAdoption;
use domain::policy::NotAssessedPolicy;
use domain::workload::HelmReleasePolicy;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::Api;
use reqwest::{Method, StatusCode};
use testkit::{ControlPlane, ControlPlaneOptions};

use super::charts::{chart, helm_program, set_helm};
use super::deployments::DEPLOYMENTS;
use super::real_clusters::DEPLOYMENT_TEMPLATE;
use super::*;

/// An object with a field that version 1.1.0 no longer has.
const LIMITS_TEMPLATE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: limits}
data:
  kept: yes it is
{{- if eq .Chart.Version \"1.0.0\" }}
  dropped: soon
{{- end }}
";

/// Runs Helm against a control plane; returns what it prints.
fn run_helm(plane: &ControlPlane, arguments: &[&str]) -> String {
    let output = std::process::Command::new(helm_program())
        .args(arguments)
        .args(["--namespace", "shop"])
        .env("KUBECONFIG", plane.kubeconfig_path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The same for what it prints as JSON.
fn helm(plane: &ControlPlane, arguments: &[&str]) -> Value {
    serde_json::from_str(&run_helm(plane, arguments)).unwrap_or(Value::Null)
}

/// Revision, status and chart of every revision of the release, as Helm lists them.
fn history(plane: &ControlPlane) -> Vec<String> {
    let revisions = helm(plane, &["history", "web", "-o", "json"]);
    let text = |revision: &Value| {
        format!("{} {} {}", revision["revision"], revision["status"].as_str().unwrap(), revision["chart"])
    };
    revisions.as_array().unwrap().iter().map(text).collect()
}

fn write_chart(folder: &Path, version: &str) -> (Vec<u8>, String) {
    let files =
        [("templates/deployment.yaml", DEPLOYMENT_TEMPLATE), ("templates/limits.yaml", LIMITS_TEMPLATE)];
    let archive = chart(version, &files);
    let path = folder.join(format!("web-{version}.tgz"));
    std::fs::write(&path, &archive).unwrap();
    (archive, path.display().to_string())
}

async fn deployment(plane: &ControlPlane) -> Deployment {
    Api::namespaced(plane.client(), "shop").get("web").await.unwrap()
}

/// The uids of the pods.
async fn pods(plane: &ControlPlane) -> Vec<String> {
    let pods = Api::<Pod>::namespaced(plane.client(), "shop").list(&Default::default()).await.unwrap();
    let mut uids: Vec<String> = pods.items.into_iter().filter_map(|pod| pod.metadata.uid).collect();
    uids.sort();
    uids
}

fn chart_workload(version: &str, policy: HelmReleasePolicy) -> NewWorkload {
    let mut new = web_workload();
    new.spec.namespace = "shop".into();
    new.spec.source = Source::Chart(ChartSource {
        chart: "local/web".into(),
        version: version.into(),
        values: "replicas: 2\n".into(),
        ..ChartSource::default()
    });
    new.spec.policies.helm_release = policy;
    new.spec.placement.predicates[0].names = vec!["eu-1".into()];
    new
}

/// Reads the installed release through its agent, and creates the workload `web` that continues it.
async fn read_and_adopt(fleet: &TestFleet, plane: &ControlPlane) {
    let read = async |name: &str| fleet.client.read_helm_release("eu-1", "shop", name).await;
    let found = read("web").await.unwrap();
    assert_eq!((found.revision, &*found.status, &*found.values), (1, "deployed", "replicas: 2\n"));
    assert_eq!((&*found.chart_name, &*found.chart_version), ("web", "1.0.0"));
    assert_eq!(found.charts, ["local/web"]);
    assert_eq!(read("api").await.unwrap_err().code(), "NotFound");
    let damaged: Secret = serde_json::from_value(json!({
        "metadata": {"name": "sh.helm.release.v1.old.v7", "labels": {"owner": "helm", "name": "old", "status": "deployed", "version": "7"}},
        "stringData": {"release": "nothing that Helm has written"},
    }))
    .unwrap();
    let secrets = Api::<Secret>::namespaced(plane.client(), "shop");
    secrets.create(&Default::default(), &damaged).await.unwrap();
    let error = read("old").await.unwrap_err().to_string();
    assert!(error.contains("The record of revision 7 is damaged or too large"), "{error}");
    secrets.delete("sh.helm.release.v1.old.v7", &Default::default()).await.unwrap();

    let release = ("eu-1", "shop", "web");
    let other = HelmReleaseAdoption { workload: "taken-over".into(), chart: "local/none".into() };
    let draft = fleet.client.adopt_helm_release(release, &other).await.unwrap().draft;
    assert_eq!(draft.source.chart().unwrap().chart, "local/none", "a chart that is named is not replaced");
    let draft =
        fleet.client.adopt_helm_release(release, &HelmReleaseAdoption::default()).await.unwrap().draft;
    let mut expected = chart_workload("1.0.0", HelmReleasePolicy::Adopt).spec;
    let Source::Chart(source) = &mut expected.source else { unreachable!() };
    source.release_name = "web".into();
    expected.policies.not_assessed = Some(NotAssessedPolicy::Wait);
    assert_eq!(draft, expected);
    let taken = fleet.client.adopt_helm_release(release, &HelmReleaseAdoption::default()).await.unwrap_err();
    assert_eq!(taken.code(), "AlreadyExists");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_of_a_cluster_that_is_not_online_is_unknown_and_one_that_is_not_installed_is_missing() {
    with_timeout(Box::pin(async {
        let mut fleet = TestFleet::start_with(&[]).await;
        fleet.add_cluster("edge").await;
        fleet.wait_for_connectivity("edge", Connectivity::Online).await;
        let client = fleet.client.clone();
        let read = async |cluster: &str| client.read_helm_release(cluster, "apps", "web").await.unwrap_err();
        assert_eq!(read("edge").await.code(), "NotFound");
        assert_eq!(read("none").await.code(), "NotFound");
        fleet.stop_agent(0, "edge").await;
        let unknown = read("edge").await;
        assert_eq!(unknown.code(), "FailedPrecondition", "{unknown}");
        assert!(unknown.to_string().contains("edge is not online"), "{unknown}");
        let adoption = HelmReleaseAdoption::default();
        let refused = fleet.client.adopt_helm_release(("edge", "apps", "web"), &adoption).await.unwrap_err();
        assert_eq!(refused.code(), unknown.code());
        fleet.stop().await;
    }))
    .await;
}

impl TestFleet {
    async fn publish_chart(&self, version: &str, policy: HelmReleasePolicy) {
        let current = self.client.get_workload("web").await.unwrap().workload.revision;
        let put = WorkloadPut { spec: chart_workload(version, policy).spec, ..WorkloadPut::default() };
        self.client.put_workload("web", &put, current).await.unwrap();
        self.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_16_s1_6_g105_a_release_of_helm_blocks_its_name_is_adopted_without_a_restart_and_stays_listed() {
    if !testkit::is_available("a release of helm is adopted") {
        return;
    }
    let scenario = async {
        let plane = ControlPlane::start(ControlPlaneOptions::with_workloads()).await;
        let folder = tempfile::tempdir().unwrap();
        let (first, path) = write_chart(folder.path(), "1.0.0");
        helm(&plane, &["install", "web", &path, "--create-namespace", "--set", "replicas=2"]);
        let wait = ["wait", "deployment/web", "-n", "shop", "--for=condition=Available", "--timeout=60s"];
        assert!(plane.command("kubectl").args(wait).output().unwrap().status.success());
        let installed = deployment(&plane).await;

        let mut fleet = TestFleet::start_with(&[]).await;
        set_helm(&fleet).await;
        fleet.join_cluster("eu-1", plane.client()).await;
        fleet.client.upload_chart(first).await.unwrap();
        fleet.client.upload_chart(write_chart(folder.path(), "1.1.0").0).await.unwrap();
        let has_release = async || {
            let cluster = fleet.client.get_cluster("eu-1").await.unwrap().cluster;
            let shop = cluster.facts.namespace("shop").and_then(|shop| shop.helm_releases.clone());
            shop.is_some_and(|releases| {
                releases.iter().any(|release| release.name == "web" && release.status == "deployed")
            })
        };
        fleet.wait_until(has_release).await;
        let running = pods(&plane).await;

        // The name is in use: in the deployment API, and in a plan.
        fleet.create_europe(&[0]).await;
        let body =
            json!({"name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web"});
        let (status, rejected) = fleet.send(Method::POST, DEPLOYMENTS, body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{rejected}");
        let text = rejected.to_string();
        assert!(text.contains("G105") && text.contains("revision 1, deployed, not managed here"), "{text}");
        read_and_adopt(&fleet, &plane).await;
        let current = fleet.client.get_workload("web").await.unwrap().workload.revision;
        let put = WorkloadPut {
            spec: chart_workload("1.0.0", HelmReleasePolicy::Record).spec,
            ..WorkloadPut::default()
        };
        fleet.client.put_workload("web", &put, current).await.unwrap();
        let refused = fleet.client.publish_workload("web", &PublishRequest::default(), None).await;
        let refused = format!("{:?}", refused.unwrap_err());
        assert!(refused.contains("G105"), "{refused}");

        // Adopted: nothing of the objects changes that would restart a pod.
        fleet.publish_chart("1.0.0", HelmReleasePolicy::Adopt).await;
        fleet.wait_for_status("web", |status| status.counts.healthy() == 1).await;
        let adopted = deployment(&plane).await;
        assert_eq!((&adopted.metadata.uid, &adopted.spec), (&installed.metadata.uid, &installed.spec));
        assert_eq!(pods(&plane).await, running, "no pod was restarted");
        let chart = |version: &str| format!("\"web-{version}\"");
        assert_eq!(
            history(&plane),
            [format!("1 superseded {}", chart("1.0.0")), format!("2 deployed {}", chart("1.0.0"))]
        );

        // Upgraded, with other values than the chart has by default.
        fleet.publish_chart("1.1.0", HelmReleasePolicy::Adopt).await;
        let upgraded =
            || history(&plane).last().is_some_and(|last| *last == format!("3 deployed {}", chart("1.1.0")));
        fleet.wait_until(async || upgraded()).await;
        let limits: ConfigMap = Api::namespaced(plane.client(), "shop").get("limits").await.unwrap();
        assert_eq!(limits.data.unwrap().into_keys().collect::<Vec<_>>(), ["kept"], "Helm keeps no field");
        let listed = helm(&plane, &["list", "-o", "json"]);
        assert_eq!(listed[0]["name"], "web");
        assert_eq!(listed[0]["revision"], "3");
        assert_eq!(helm(&plane, &["get", "values", "web", "-o", "json"]), json!({"replicas": 2}));
        fleet.wait_for_status("web", |status| status.counts.healthy() == 1).await;

        // Removed with all its revisions.
        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        fleet.wait_for_status("web", |status| status.counts.count(ReleaseState::Removed) == 1).await;
        assert_eq!(helm(&plane, &["list", "-o", "json"]), json!([]));
        let secrets = Api::<Secret>::namespaced(plane.client(), "shop");
        assert_eq!(secrets.list(&Default::default()).await.unwrap().items, []);
        fleet.stop().await;
    };
    with_timeout(Box::pin(scenario)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_6_helm_lists_every_recorded_revision_and_none_once_the_policy_is_taken_away() {
    if !testkit::is_available("revisions are recorded for helm") {
        return;
    }
    let scenario = async {
        let plane = ControlPlane::start(ControlPlaneOptions::with_workloads()).await;
        let folder = tempfile::tempdir().unwrap();
        let mut fleet = TestFleet::start_with(&[]).await;
        set_helm(&fleet).await;
        fleet.join_cluster("eu-1", plane.client()).await;
        fleet.wait_for_connectivity("eu-1", Connectivity::Online).await;
        for version in ["1.0.0", "1.1.0"] {
            fleet.client.upload_chart(write_chart(folder.path(), version).0).await.unwrap();
        }
        let new = chart_workload("1.0.0", HelmReleasePolicy::Record);
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_status("web", |status| status.counts.healthy() == 1).await;
        let is_history = |expected: &[(&str, &str)]| {
            let lines = expected.iter().enumerate();
            let lines =
                lines.map(|(index, (status, version))| format!("{} {status} \"web-{version}\"", index + 1));
            history(&plane) == lines.collect::<Vec<_>>()
        };
        assert!(is_history(&[("deployed", "1.0.0")]), "{:?}", history(&plane));
        assert_eq!(helm(&plane, &["get", "values", "web", "-o", "json"]), json!({"replicas": 2}));
        assert!(run_helm(&plane, &["get", "manifest", "web"]).contains("kind: Deployment"));

        // An upgrade and a rollback are revisions of Helm's history too.
        fleet.publish_chart("1.1.0", HelmReleasePolicy::Record).await;
        let upgraded = [("superseded", "1.0.0"), ("deployed", "1.1.0")];
        fleet.wait_until(async || is_history(&upgraded)).await;
        let rollback = PublishRequest { revision: Some(1), ..PublishRequest::default() };
        fleet.client.publish_workload("web", &rollback, None).await.unwrap();
        let rolled_back = [("superseded", "1.0.0"), ("superseded", "1.1.0"), ("deployed", "1.0.0")];
        fleet.wait_until(async || is_history(&rolled_back)).await;
        let listed = helm(&plane, &["list", "-o", "json"]);
        assert_eq!((&listed[0]["name"], &listed[0]["revision"]), (&json!("web"), &json!("3")), "{listed}");

        // Without the policy the records are deleted, and what runs stays.
        fleet.wait_for_status("web", |status| status.counts.healthy() == 1).await;
        let running = (deployment(&plane).await.metadata.uid, pods(&plane).await);
        fleet.publish_chart("1.0.0", HelmReleasePolicy::None).await;
        fleet.wait_until(async || helm(&plane, &["list", "-o", "json"]) == json!([])).await;
        fleet.wait_for_status("web", |status| status.counts.healthy() == 1).await;
        let secrets = Api::<Secret>::namespaced(plane.client(), "shop");
        assert_eq!(secrets.list(&Default::default()).await.unwrap().items, []);
        assert_eq!((deployment(&plane).await.metadata.uid, pods(&plane).await), running);
        fleet.stop().await;
    };
    with_timeout(Box::pin(scenario)).await;
}
