//! Real charts with hooks: on a real control plane, where kwok completes their jobs, and on a simulated cluster.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use reqwest::{Method, StatusCode};
use testkit::{ControlPlane, ControlPlaneOptions};

use super::charts::{chart, corpus_chart, fleet_with_helm, update_chart};
use super::deployments::{DEPLOYMENTS, EU, fleet_of, outcomes};
use super::*;
use domain::chart::ChartSource;

/// A workload of this chart on these clusters.
pub(super) fn chart_workload((chart, version): (&str, &str), values: &str, clusters: &[&str]) -> NewWorkload {
    let mut new = web_workload();
    new.spec.source = Source::Chart(ChartSource {
        chart: format!("local/{chart}"),
        version: version.into(),
        values: values.into(),
        ..ChartSource::default()
    });
    new.spec.placement.predicates[0].names = clusters.iter().map(|name| (*name).to_owned()).collect();
    new
}

impl TestFleet {
    /// Adds a real cluster.
    async fn add_real_cluster(&self, name: &str, plane: &ControlPlane) {
        self.add_cluster_over(name, plane.client()).await;
    }

    /// Adds a cluster whose agent has this connection.
    async fn add_cluster_over(&self, name: &str, client: kube::Client) {
        let new = NewCluster::new(name, ClusterKind::Agent);
        let id = self.hub.register_cluster(&Actor::system(), new).await.unwrap().id;
        let (options, stop) = (server::serve::agent_options(&self.hub), self.stop.clone());
        tokio::spawn(agent::run(InProcessLink::new(self.site.clone(), id), client, options, stop));
    }
}

/// The objects of a kind on a real cluster whose name begins with that of the release.
async fn names_of(plane: &ControlPlane, group: &str, kind: &str) -> Vec<String> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    let all = Api::<DynamicObject>::all_with(plane.client(), &kind).list(&Default::default()).await.unwrap();
    let names = all.items.into_iter().filter_map(|object| object.metadata.name);
    names.filter(|name| name.starts_with("web")).collect()
}

async fn hook_progress(plane: &ControlPlane) -> Value {
    let kind = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("flotilla.dev", "v1alpha1", "AppliedRelease"),
        "appliedreleases",
    );
    let records =
        Api::<DynamicObject>::all_with(plane.client(), &kind).list(&Default::default()).await.unwrap();
    records.items[0].data["spec"]["hooks"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_4_the_hooks_of_ingress_nginx_run_on_a_real_cluster_and_nothing_of_them_is_left() {
    let test = "s4_4_the_hooks_of_ingress_nginx_run_on_a_real_cluster";
    let Some(chart) = corpus_chart(test, "ingress-nginx-4.15.1").filter(|_| testkit::is_available(test))
    else {
        return;
    };
    with_timeout(async {
        let plane = ControlPlane::start(ControlPlaneOptions::with_workloads()).await;
        let fleet = fleet_with_helm().await;
        fleet.add_real_cluster("real", &plane).await;
        fleet.client.upload_chart(chart).await.unwrap();
        let values = |replicas: u32| {
            format!("controller: {{replicaCount: {replicas}, service: {{type: ClusterIP}}}}\n")
        };
        let name = ("ingress-nginx", "4.15.1");
        fleet.client.create_workload(&chart_workload(name, &values(1), &["eu-1", "real"])).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 2).await;
        // An account, two roles, two bindings and a job before the installation, and the same after it.
        let installed = hook_progress(&plane).await;
        assert_eq!((&installed["operation"], &installed["finished"]), (&json!("install"), &json!(true)));
        assert_eq!(installed["succeeded"].as_array().unwrap().len(), 12, "{installed}");
        assert!(names_of(&plane, "batch", "Job").await.is_empty(), "deleted by hook-succeeded");
        assert_eq!(names_of(&plane, "", "ServiceAccount").await, ["web-ingress-nginx"]);
        assert_eq!(names_of(&plane, "apps", "Deployment").await, ["web-ingress-nginx-controller"]);

        update_chart(&fleet, |spec| {
            *spec = chart_workload(name, &values(2), &["eu-1", "real"]).spec;
        })
        .await;
        fleet
            .wait_for_web(|status| {
                status.counts.healthy() == 2
                    && status.target_clusters.iter().all(|target| target.revision == Some(2))
            })
            .await;
        let upgraded = hook_progress(&plane).await;
        assert_eq!((&upgraded["operation"], &upgraded["finished"]), (&json!("upgrade"), &json!(true)));

        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        fleet.wait_for_web(|status| status.counts.count(ReleaseState::Removed) == 2).await;
        for (group, kind) in
            [("", "ServiceAccount"), ("batch", "Job"), ("rbac.authorization.k8s.io", "ClusterRole")]
        {
            assert_eq!(names_of(&plane, group, kind).await, Vec::<String>::new(), "{kind}");
        }
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_4_the_hooks_of_cockroachdb_run_at_installation_and_removal() {
    let test = "s4_4_the_hooks_of_cockroachdb_run_at_installation_and_removal";
    let Some(chart) = corpus_chart(test, "cockroachdb-21.0.1") else { return };
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        fleet.client.upload_chart(chart).await.unwrap();
        let new = chart_workload(("cockroachdb", "21.0.1"), "", &["eu-1"]);
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 1).await;
        let jobs = || {
            let jobs = fleet.clusters[0].list(("batch/v1", "Job"), Some("apps")).into_iter();
            jobs.map(|job| job["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(jobs(), ["web-cockroachdb-init"], "the job of the certificates is deleted by its policy");
        let ran = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
        let log = ran.clone();
        fleet.clusters[0].observe_changes(move |change| {
            if change.object["kind"] == "Job"
                && change.object["status"]["succeeded"] == 1
                && !change.is_deleted
            {
                log.lock().push(change.object["metadata"]["name"].clone());
            }
        });
        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        fleet.wait_for_web(|status| status.counts.count(ReleaseState::Removed) == 1).await;
        assert!(ran.lock().contains(&json!("web-cockroachdb-self-signer-cleaner")), "{:?}", ran.lock());
        assert_eq!(jobs(), Vec::<String>::new());
        fleet.stop().await;
    })
    .await;
}

/// The list of the chart is made of the names of all target clusters, and the name of the whole is a text with all of them.
const JOIN_VALUES: &str = "tls: {enabled: false}\nconf:\n  \
    join: ${{ fleet.targets | map(\"cockroachdb-0.{}.example.com:26257\") }}\n  \
    cluster-name: ${{ fleet.targets | join(\"-\") }}\n";

/// The command that starts CockroachDB on a cluster, without its line breaks; empty while there is none.
fn start_command(fleet: &TestFleet, cluster: usize, key: (&str, &str)) -> String {
    let Some(found) = fleet.clusters[cluster].get(("apps/v1", "StatefulSet"), key) else {
        return String::new();
    };
    let containers = found["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let database = containers.iter().find(|container| container["name"] == "db").unwrap();
    let args = database["args"].as_array().unwrap().iter().filter_map(Value::as_str);
    args.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// What the command has for these clusters.
fn join_arguments(clusters: &[&str]) -> String {
    let hosts: Vec<String> =
        clusters.iter().map(|name| format!("cockroachdb-0.{name}.example.com:26257")).collect();
    format!("start --join={} --cluster-name={} ", hosts.join(","), clusters.join("-"))
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_25_cockroachdb_joins_the_nodes_of_all_target_clusters_by_one_line_of_values() {
    let test = "s1_25_cockroachdb_joins_the_nodes_of_all_target_clusters_by_one_line_of_values";
    let Some(chart) = corpus_chart(test, "cockroachdb-21.0.1") else { return };
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        fleet.client.upload_chart(chart).await.unwrap();
        let new = chart_workload(("cockroachdb", "21.0.1"), JOIN_VALUES, &["eu-1", "us-1"]);
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 2).await;
        let command = |cluster: usize| start_command(&fleet, cluster, ("apps", "web-cockroachdb"));
        let two = join_arguments(&["eu-1", "us-1"]);
        assert!(command(0).contains(&two) && command(2).contains(&two), "{}", command(0));

        // With another cluster the list is another one, also where the workload was before.
        update_chart(&fleet, |spec| spec.placement.predicates[0].names.push("eu-2".to_owned())).await;
        let names = ["eu-1", "eu-2", "us-1"];
        let three = join_arguments(&names);
        let is_joined = || (0..3).all(|cluster| command(cluster).contains(&three));
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && is_joined()).await;

        // In the values it is a list, with its origin.
        let query = wire::ValuesQuery { cluster: "us-1".into(), source: true, revision: Some(2) };
        let traced = fleet.client.get_values("web", &query).await.unwrap();
        let hosts = names.map(|name| format!("cockroachdb-0.{name}.example.com:26257"));
        assert_eq!(traced.values["conf"]["join"], json!(hosts));
        let join = traced.provenance.iter().find(|leaf| leaf.path == "/conf/join").unwrap();
        assert_eq!(join.settings[0].layer.to_string(), "common");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_9_s1_25_a_deployment_of_cockroachdb_joins_all_members_and_a_new_one_with_the_next_edit() {
    let test = "s1_9_s1_25_a_deployment_of_cockroachdb_joins_all_members_and_a_new_one_with_the_next_edit";
    let Some(chart) = corpus_chart(test, "cockroachdb-21.0.1") else { return };
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2", "eu-3"]).await;
        fleet.client.upload_chart(chart).await.unwrap();
        fleet.create_europe(&[0, 1]).await;
        let body = json!({
            "name": "local/cockroachdb", "version": "21.0.1", "namespace": "shop", "releaseName": "roach",
            "values": {"tls": {"enabled": false}, "conf": {
                "join": "${{ fleet.targets | map(\"cockroachdb-0.{}.example.com:26257\") }}",
                "cluster-name": "${{ fleet.targets | join(\"-\") }}",
            }},
            "valueOverrides": {"eu-2": {"conf": {"attrs": ["${{ cluster.name }}"]}}},
        });
        let (status, created) = fleet.send(Method::POST, DEPLOYMENTS, body).await;
        assert_eq!(status, StatusCode::CREATED, "{created}");
        let command = |cluster: usize| start_command(&fleet, cluster, ("shop", "roach-cockroachdb"));
        let two = join_arguments(&["eu-1", "eu-2"]);
        assert!(command(0).contains(&two) && !command(0).contains("--attrs"), "{}", command(0));
        assert!(command(1).contains(&two) && command(1).contains("--attrs=eu-2"), "{}", command(1));

        let members = json!({"members": fleet.ids(&[0, 1, 2])});
        assert_eq!(fleet.send(Method::PUT, EU, members).await.0, StatusCode::OK);
        let path = format!("{DEPLOYMENTS}/roach");
        let (status, edited) = fleet.send(Method::PUT, &path, json!({"reuseValues": true})).await;
        assert_eq!((status, outcomes(&edited).len()), (StatusCode::OK, 3), "{edited}");
        let three = join_arguments(&["eu-1", "eu-2", "eu-3"]);
        for cluster in 0..3 {
            assert!(command(cluster).contains(&three), "{}", command(cluster));
        }
        fleet.stop().await;
    }))
    .await;
}

/// A password that is kept as charts keep it, by `lookup`, which finds nothing where only templates are rendered.
const LOGIN: &str = r#"{{- $existing := lookup "v1" "Secret" .Release.Namespace "login" }}
apiVersion: v1
kind: Secret
metadata: {name: login}
data:
  password: {{ if $existing }}{{ $existing.data.password }}{{ else }}{{ randAlphaNum 20 | b64enc }}{{ end }}
  monitored: {{ .Capabilities.APIVersions.Has "gauges.example.com/v1" | toString | b64enc }}
"#;

/// The password and whether the cluster has the kind, as the Secret has them.
async fn read_login(plane: &ControlPlane) -> (Vec<u8>, String) {
    let secrets: Api<Secret> = Api::namespaced(plane.client(), "apps");
    let data = secrets.get("login").await.unwrap().data.unwrap();
    (data["password"].0.clone(), String::from_utf8(data["monitored"].0.clone()).unwrap())
}

async fn create_gauges(plane: &ControlPlane) {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gauges.gauges.example.com"},
        "spec": {"group": "gauges.example.com", "scope": "Namespaced",
            "names": {"plural": "gauges", "singular": "gauge", "kind": "Gauge", "listKind": "GaugeList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let object: DynamicObject = serde_json::from_value(definition).unwrap();
    let definitions = Api::<DynamicObject>::all_with(plane.client(), &kind);
    definitions.create(&Default::default(), &object).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_random_password_stays_when_a_real_cluster_gets_a_kind_and_when_the_chart_is_published_again() {
    if !testkit::is_available("a random password on a real cluster") {
        return;
    }
    with_timeout(async {
        let plane = ControlPlane::start(ControlPlaneOptions::with_workloads()).await;
        let fleet = fleet_with_helm().await;
        fleet.add_real_cluster("real", &plane).await;
        fleet.client.upload_chart(chart("1.0.0", &[("templates/login.yaml", LOGIN)])).await.unwrap();
        let name = ("web", "1.0.0");
        fleet.client.create_workload(&chart_workload(name, "", &["real"])).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 1).await;
        let (password, monitored) = read_login(&plane).await;
        assert_eq!((password.len(), monitored.as_str()), (20, "false"));

        // Somebody else installs a kind that the chart asks for: that is noted, and changes nothing.
        create_gauges(&plane).await;
        let status = fleet.wait_for_web(|status| !status.target_clusters[0].facts_notice.is_empty()).await;
        let notice = &status.target_clusters[0].facts_notice;
        assert!(notice.contains("gauges.example.com/v1"), "{notice}");
        assert_eq!(status.target_clusters[0].revision, Some(1));
        assert_eq!(read_login(&plane).await, (password.clone(), monitored));

        update_chart(&fleet, |spec| *spec = chart_workload(name, "replicas: 2\n", &["real"]).spec).await;
        fleet
            .wait_for_web(|status| {
                status.counts.healthy() == 1 && status.target_clusters[0].revision == Some(2)
            })
            .await;
        assert_eq!(read_login(&plane).await, (password, "true".to_owned()), "only the asked kind is news");
        fleet.stop().await;
    })
    .await;
}

/// A password and a certificate authority, beside the version of the cluster for which they were rendered.
const AUTHORITY: &str = r#"{{- $authority := genCA "web" 365 }}
apiVersion: v1
kind: Secret
metadata: {name: login}
data:
  password: {{ randAlphaNum 20 | b64enc }}
  ca.crt: {{ $authority.Cert | b64enc }}
  version: {{ .Capabilities.KubeVersion.Version | b64enc }}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_password_and_an_authority_stay_when_the_api_server_of_a_cluster_is_upgraded() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        fleet.client.upload_chart(chart("1.0.0", &[("templates/login.yaml", AUTHORITY)])).await.unwrap();
        let name = ("web", "1.0.0");
        fleet.client.create_workload(&chart_workload(name, "", &["eu-1"])).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 1).await;
        let login = || fleet.clusters[0].get(("v1", "Secret"), ("apps", "login")).unwrap()["data"].clone();
        let before = login();

        fleet.clusters[0].upgrade("v1.39.9");
        let status =
            fleet.wait_for_web(|status| status.target_clusters[0].facts_notice.contains("v1.39.9")).await;
        assert_eq!(status.target_clusters[0].revision, Some(1));
        assert_eq!(login(), before);

        update_chart(&fleet, |spec| *spec = chart_workload(name, "replicas: 2\n", &["eu-1"]).spec).await;
        fleet
            .wait_for_web(|status| {
                status.counts.healthy() == 1 && status.target_clusters[0].revision == Some(2)
            })
            .await;
        let after = login();
        assert_eq!((&after["password"], &after["ca.crt"]), (&before["password"], &before["ca.crt"]));
        assert_ne!(after["version"], before["version"], "the publish renders for the new version");
        fleet.stop().await;
    })
    .await;
}

/// A connection to a real API server, which has this version as soon as there is one.
fn client_with_version(plane: &ControlPlane, version: &Arc<parking_lot::Mutex<String>>) -> kube::Client {
    let (client, version) = (plane.client(), version.clone());
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, version) = (client.clone(), version.lock().clone());
        async move {
            if version.is_empty() || request.uri().path() != "/version" {
                return client.send(request).await;
            }
            let body = json!({ "gitVersion": version }).to_string().into_bytes();
            Ok(http::Response::new(kube::client::Body::from(body)))
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_and_an_authority_stay_when_the_api_server_of_a_real_cluster_is_upgraded() {
    if !testkit::is_available("an upgrade of a real cluster") {
        return;
    }
    with_timeout(Box::pin(async {
        let plane = ControlPlane::start(ControlPlaneOptions::with_workloads()).await;
        let fleet = fleet_with_helm().await;
        let version = Arc::new(parking_lot::Mutex::new(String::new()));
        fleet.add_cluster_over("real", client_with_version(&plane, &version)).await;
        fleet.client.upload_chart(chart("1.0.0", &[("templates/login.yaml", AUTHORITY)])).await.unwrap();
        let name = ("web", "1.0.0");
        fleet.client.create_workload(&chart_workload(name, "", &["real"])).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 1).await;
        let secrets: Api<Secret> = Api::namespaced(plane.client(), "apps");
        let login = async || secrets.get("login").await.unwrap().data.unwrap();
        let before = login().await;

        *version.lock() = "v1.39.9".to_owned();
        // The agent reads the version again when the cluster serves other kinds.
        create_gauges(&plane).await;
        let is_noticed = |status: &WorkloadStatus| status.target_clusters[0].facts_notice.contains("v1.39.9");
        let status = fleet.wait_for_web(is_noticed).await;
        assert_eq!(status.target_clusters[0].revision, Some(1));
        assert_eq!(login().await, before);

        update_chart(&fleet, |spec| *spec = chart_workload(name, "replicas: 2\n", &["real"]).spec).await;
        let is_published = |status: &WorkloadStatus| {
            status.counts.healthy() == 1 && status.target_clusters[0].revision == Some(2)
        };
        fleet.wait_for_web(is_published).await;
        let after = login().await;
        assert_eq!((&after["password"], &after["ca.crt"]), (&before["password"], &before["ca.crt"]));
        assert_eq!(after["version"].0, b"v1.39.9", "the publish renders for the new version");
        fleet.stop().await;
    }))
    .await;
}
