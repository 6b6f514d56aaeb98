//! OCI artifacts as a source: pinned by the digest of their manifest, followed by policy, refused with the entry named.

use domain::chart_repository::NewChartRepository;
use domain::remote::{GitContent, OnNewCommit, RemoteSource};
use source::RemoteAccess;
use source::repository::RepositoryClient;
use tar::EntryType;

use super::charts::set_helm;
use super::git_sources::{draft_source, find_problems, manifest, publish, replicas, wait_for_replicas};
use super::raw_archive::{file, pack_raw, special};
use super::registry::{Layer, TestRegistry, login};
use super::*;

const FLUX_LAYER: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
const HELM_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// The repository of the artifacts.
const REPOSITORY: &str = "acme/deploy";

async fn start_registry() -> TestRegistry {
    TestRegistry::start(REPOSITORY).await
}

/// Pushes an artifact with these layers and returns the digest of its manifest.
fn push(registry: &TestRegistry, tag: &str, layers: &[Layer]) -> String {
    let annotations = json!({
        "org.opencontainers.image.revision": format!("main@sha1:{tag}"),
        "org.opencontainers.image.created": "2026-01-02T03:04:05Z",
    });
    registry.push(tag, "application/vnd.cncf.flux.config.v1+json", layers, &annotations)
}

fn push_replicas(registry: &TestRegistry, tag: &str, count: u32) -> String {
    let files = pack_raw(&[file("./deploy/web.yaml", manifest(count).as_bytes())]);
    push(registry, tag, &[(FLUX_LAYER, files)])
}

/// A fleet with the credentials of the registry. Tags are checked when a test requests it.
async fn fleet_with(registry: &TestRegistry) -> TestFleet {
    let fleet = TestFleet::start().await;
    fleet.hub.set_repository_client(RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap());
    fleet.hub.set_git_check_interval(Duration::from_secs(3_600));
    let new = NewChartRepository {
        name: "acme".into(),
        url: registry.url("acme"),
        plain_http: true,
        credentials: login("s3cret"),
    };
    fleet.client.create_chart_repository(&new).await.unwrap();
    fleet
}

fn workload_of(registry: &TestRegistry, tag: &str, on_new_commit: OnNewCommit) -> NewWorkload {
    let mut new = web_workload();
    new.spec.source = Source::from(RemoteSource {
        repository: registry.url(REPOSITORY),
        reference: tag.into(),
        path: "deploy".into(),
        on_new_commit,
        ..RemoteSource::default()
    });
    new
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_an_oci_artifact_is_pinned_by_its_digest_and_a_moved_tag_is_published_by_policy() {
    with_timeout(Box::pin(async {
        let registry = start_registry().await;
        let first = push_replicas(&registry, "stable", 2);
        let fleet = fleet_with(&registry).await;
        let new = workload_of(&registry, "stable", OnNewCommit::All);
        let sent = serde_json::to_value(&new.spec.source).unwrap();
        assert_eq!(sent["type"], "oci", "{sent}");
        publish(&fleet, &new).await;
        assert_eq!(replicas(&fleet, 0), 2);
        let pinned = draft_source(&fleet).await.pinned.unwrap();
        assert_eq!((&*pinned.commit, pinned.content, pinned.files), (&*first, GitContent::Manifests, 1));
        assert_eq!(
            (&*pinned.subject, pinned.committed_at),
            ("main@sha1:stable", "2026-01-02T03:04:05Z".parse().unwrap())
        );
        assert_eq!(registry.count_layers(), 1, "the archive is fetched once");

        // Nothing has moved: only the manifest is read.
        fleet.client.check_git_source("web").await.unwrap();
        assert_eq!(registry.count_layers(), 1);

        let second = push_replicas(&registry, "stable", 4);
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!(status.status.commit.as_ref(), Some(&second), "{}", status.message);
        wait_for_replicas(&fleet, &[0, 1, 2], 4).await;
        assert_eq!(draft_source(&fleet).await.pinned.unwrap().commit, second);

        // A tag that is gone is no reason to remove anything.
        registry.remove_tag("stable");
        let status = fleet.client.check_git_source("web").await.unwrap();
        let failure = status.status.failure.unwrap();
        assert!(failure.message.contains("acme/deploy:stable"), "{failure:?}");
        assert_eq!(replicas(&fleet, 0), 4);
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_a_digest_is_never_followed_and_a_chart_in_an_artifact_has_values() {
    with_timeout(Box::pin(async {
        let registry = start_registry().await;
        let digest = push_replicas(&registry, "v1", 2);
        let fleet = fleet_with(&registry).await;
        set_helm(&fleet).await;
        let mut new = workload_of(&registry, &digest, OnNewCommit::All);
        publish(&fleet, &new).await;
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!((status.next_check_at, status.draft.unwrap().commit), (None, digest));

        let chart = super::charts::chart("1.0.0", &[]);
        push(&registry, "chart", &[(HELM_LAYER, chart)]);
        new = workload_of(&registry, "chart", OnNewCommit::Draft);
        new.name = "in-chart".into();
        let Some(source) = new.spec.source.remote_mut() else { unreachable!() };
        source.path = "web".into();
        source.values = "replicas: 3\n".into();
        fleet.client.create_workload(&new).await.unwrap();
        let draft = fleet.client.get_workload("in-chart").await.unwrap().workload.draft;
        assert_eq!(draft.source.remote().unwrap().pinned.as_ref().unwrap().content, GitContent::Chart);
        let query = wire::ValuesQuery { cluster: "eu-1".into(), ..wire::ValuesQuery::default() };
        let values = fleet.client.get_values("in-chart", &query).await;
        assert_eq!(values.unwrap().values["replicas"], 3);
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g121_hostile_artifacts_are_refused_with_the_entry_named() {
    with_timeout(Box::pin(async {
        let registry = start_registry().await;
        let fleet = fleet_with(&registry).await;
        let web = manifest(2);
        let web = web.as_bytes();
        let cases: [(&str, Vec<Layer>, &str); 6] = [
            (
                "link",
                vec![(FLUX_LAYER, pack_raw(&[special("deploy/web.yaml", EntryType::Symlink)]))],
                "deploy/web.yaml",
            ),
            (
                "outside",
                vec![(FLUX_LAYER, pack_raw(&[file("../deploy/web.yaml", web)]))],
                "../deploy/web.yaml",
            ),
            (
                "twice",
                vec![(FLUX_LAYER, pack_raw(&[file("deploy/a.yaml", web), file("deploy/A.yaml", web)]))],
                "deploy/A.yaml",
            ),
            ("no-path", vec![(FLUX_LAYER, pack_raw(&[file("other/web.yaml", web)]))], "has no \"deploy\""),
            (
                "image",
                vec![(
                    "application/vnd.docker.image.rootfs.diff.tar.gzip",
                    pack_raw(&[file("deploy/web.yaml", web)]),
                )],
                "only layers of the types",
            ),
            (
                "two",
                vec![
                    (FLUX_LAYER, pack_raw(&[file("deploy/web.yaml", web)])),
                    (FLUX_LAYER, pack_raw(&[file("a.yaml", web)])),
                ],
                "several archives",
            ),
        ];
        for (tag, layers, named) in cases {
            push(&registry, tag, &layers);
            let problems = find_problems(&fleet, &workload_of(&registry, tag, OnNewCommit::Draft)).await;
            let found = problems.iter().find(|(code, _)| code == "G121");
            assert!(found.is_some_and(|(_, text)| text.contains(named)), "{tag}: {problems:?}");
        }
        // A registry that changes the bytes of an archive.
        let digest = push_replicas(&registry, "tampered", 2);
        registry.change_layers();
        let problems = find_problems(&fleet, &workload_of(&registry, &digest, OnNewCommit::Draft)).await;
        assert!(problems.iter().any(|(_, text)| text.contains("but its manifest names")), "{problems:?}");

        // The credentials are those of the registry's path, and the setting of the server decides about addresses.
        let mut other = workload_of(&registry, "v1", OnNewCommit::Draft);
        other.spec.source.remote_mut().unwrap().repository = registry.url("beta/deploy");
        let problems = find_problems(&fleet, &other).await;
        assert!(problems.iter().any(|(code, _)| code == "G122"), "{problems:?}");
        for (source, reason) in [
            (json!({"type": "git", "repository": registry.url(REPOSITORY)}), "has the type oci"),
            (json!({"type": "oci", "repository": "https://a.test/b"}), "begins with oci://"),
            (
                json!({"type": "oci", "repository": registry.url(REPOSITORY), "chart": "a/b"}),
                "none of files, chart and version",
            ),
        ] {
            let error = serde_json::from_value::<Source>(source).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }))
    .await;
}
