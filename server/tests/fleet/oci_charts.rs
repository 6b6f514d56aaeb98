//! Charts from an OCI registry: listed by its tags, pinned, fetched once with the credentials of the repository, and published without it.

use domain::Digest;
use domain::chart_repository::{ChartRepositoryPut, NewChartRepository};
use wire::ValidateRequest;

use super::chart_repositories::{fleet_with_repositories, workload_of};
use super::charts::{chart, set_helm, values_of};
use super::registry::{TestRegistry, login};
use super::*;

const CONFIG_TYPE: &str = "application/vnd.cncf.helm.config.v1+json";
const ARCHIVE_TYPE: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
/// The folder of the charts in the registry.
const CHARTS: &str = "team/charts";

/// A registry with the chart `team/charts/web`.
async fn start_registry() -> TestRegistry {
    let registry = TestRegistry::start("team/charts/web").await;
    let tags = json!({
        "name": "team/charts/web",
        "tags": ["1.0.0", "2.0.0-rc.1", "latest", "1.1.0", "sha256-abc.sig"],
    });
    registry.insert("tags/list", tags.to_string());
    for version in ["1.0.0", "1.1.0", "2.0.0-rc.1"] {
        // As `helm push` does.
        registry.push(version, CONFIG_TYPE, &[(ARCHIVE_TYPE, chart(version, &[]))], &json!({}));
    }
    registry
}

/// A fleet with the registry as the repository `acme`.
async fn fleet_with(registry: &TestRegistry, password: &str) -> TestFleet {
    let fleet = fleet_with_repositories().await;
    set_helm(&fleet).await;
    let credentials = login(password);
    let new =
        NewChartRepository { name: "acme".into(), url: registry.url(CHARTS), plain_http: true, credentials };
    let added = fleet.client.create_chart_repository(&new).await.unwrap();
    assert!(!format!("{added:?}").contains(password), "{added:?}");
    fleet
}

/// The blocking findings about a workload, with their codes.
async fn find_blocking(fleet: &TestFleet, new: &NewWorkload) -> Vec<(String, String)> {
    let request = ValidateRequest { name: new.name.clone(), spec: new.spec.clone() };
    let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
    let blocking = findings.into_iter().filter(domain::Finding::is_blocking);
    blocking.map(|found| (found.code, found.message)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_a_chart_of_a_registry_is_pinned_fetched_once_and_published_without_the_registry() {
    with_timeout(Box::pin(async {
        let registry = start_registry().await;
        let mut fleet = fleet_with(&registry, "s3cret").await;
        let versions = fleet.client.list_chart_versions("acme", "web").await.unwrap();
        let shown: Vec<_> = versions.iter().map(|found| (&*found.version, found.is_stored)).collect();
        assert_eq!(shown, [("2.0.0-rc.1", false), ("1.1.0", false), ("1.0.0", false)]);

        // Without a version the newest one that is no pre-release is pinned.
        let created = fleet.client.create_workload(&workload_of("")).await.unwrap();
        assert_eq!(created.draft.source.chart().unwrap().version, "1.1.0");
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        assert_eq!((&values_of(&fleet, 0)["chart"], registry.count_layers()), (&json!("1.1.0"), 1));
        let versions = fleet.client.list_chart_versions("acme", "web").await.unwrap();
        let stored: Vec<&str> =
            versions.iter().filter(|found| found.is_stored).map(|found| &*found.version).collect();
        assert_eq!(stored, ["1.1.0"]);

        // The registry has lost everything: what was fetched runs on another cluster too, and the rest is named.
        registry.clear();
        fleet.add_cluster("eu-3").await;
        fleet.wait_for_connectivity("eu-3", Connectivity::Online).await;
        let mut edited = workload_of("1.1.0");
        edited.spec.placement.predicates[0].names.push("eu-3".into());
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let put = WorkloadPut { spec: edited.spec, ..WorkloadPut::default() };
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 4).await;
        assert_eq!((&values_of(&fleet, 3)["chart"], registry.count_layers()), (&json!("1.1.0"), 1));
        let problems = find_blocking(&fleet, &workload_of("1.0.0")).await;
        assert_eq!(problems[0].0, "G112", "{problems:?}");
        assert!(problems[0].1.starts_with("Chart acme/web 1.0.0 can't be fetched: "), "{problems:?}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g112_content_that_a_registry_announces_otherwise_or_that_is_no_chart_is_refused_and_named() {
    with_timeout(Box::pin(async {
        let registry = start_registry().await;
        let fleet = fleet_with(&registry, "s3cret").await;
        // Another archive below the digest of the layer.
        let digest = Digest::compute(&chart("1.0.0", &[]));
        registry.insert(format!("blobs/{digest}"), chart("1.0.0", &[("NOTES", "changed")]));
        // An image has a manifest without a chart.
        let image = json!({
            "schemaVersion": 2,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": 2},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": digest, "size": 2}],
        });
        registry.insert("manifests/3.0.0", image.to_string());
        for (version, expected) in [
            ("1.0.0", digest.as_str()),
            ("3.0.0", "is no chart: its manifest names no packed chart of Helm"),
            ("9.9.9", "web:9.9.9"),
        ] {
            let problems = find_blocking(&fleet, &workload_of(version)).await;
            assert_eq!(problems[0].0, "G112", "{version}: {problems:?}");
            assert!(problems[0].1.contains(expected), "{version}: {problems:?}");
        }
        assert_eq!(fleet.client.list_charts(None).await.unwrap(), []);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_rejects_the_credentials_is_named_and_right_ones_resume_without_another_draft() {
    with_timeout(Box::pin(async {
        let registry = start_registry().await;
        let fleet = fleet_with(&registry, "wrong-one").await;
        let unknown = fleet.client.list_chart_versions("acme", "web").await.unwrap_err().to_string();
        assert!(unknown.contains("The versions of acme/web are not known now"), "{unknown}");
        let problems = find_blocking(&fleet, &workload_of("1.0.0")).await;
        assert!(problems[0].1.contains("acme/web 1.0.0 can't be fetched"), "{problems:?}");
        fleet.client.create_workload(&workload_of("1.0.0")).await.unwrap();
        let refused =
            fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap_err();
        assert!(!refused.to_string().contains("wrong-one"), "{refused}");

        let put = ChartRepositoryPut {
            url: registry.url(CHARTS),
            plain_http: true,
            credentials: Some(login("s3cret")),
        };
        fleet.client.put_chart_repository("acme", &put).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        assert_eq!(values_of(&fleet, 1)["chart"], "1.0.0");
        fleet.stop().await;
    }))
    .await;
}
