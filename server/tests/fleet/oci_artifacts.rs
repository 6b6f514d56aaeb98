//! OCI artifacts as a source: pinned by the digest of their manifest, followed by policy, refused with the entry named.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Digest;
use domain::chart_repository::{NewChartRepository, RepositoryCredentials};
use domain::remote::{GitContent, OnNewCommit, RemoteSource};
use parking_lot::Mutex;
use source::RemoteAccess;
use source::repository::RepositoryClient;
use tar::{Builder, EntryType, Header};
use testkit::{HttpRequest, HttpResponse, HttpServer};

use super::charts::set_helm;
use super::git_sources::{draft_source, find_problems, manifest, publish, replicas, wait_for_replicas};
use super::*;

const FLUX_LAYER: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
const HELM_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A layer: its media type and its bytes.
type Layer = (&'static str, Vec<u8>);

/// What the registry has, by the path below `/v2/acme/deploy/`.
type Blobs = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A registry with the repository `acme/deploy`, which requires a user name and a password.
struct Registry {
    server: HttpServer,
    blobs: Blobs,
}

/// The bytes of an archive with these entries; the content of a link is its target.
fn pack(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default()));
    for (path, entry_type, content) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*entry_type);
        header.set_mode(0o644);
        // Names as an attacker writes them: the builder would refuse some.
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        let bytes = match entry_type {
            EntryType::Symlink => {
                header.set_link_name(content).unwrap();
                &[][..]
            }
            _ => content.as_bytes(),
        };
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        builder.append(&header, bytes).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

impl Registry {
    async fn start() -> Self {
        let blobs = Blobs::default();
        let state = blobs.clone();
        let server = HttpServer::start(move |_, request| respond(&state, request)).await;
        Self { server, blobs }
    }

    fn url(&self) -> String {
        self.server.url("/acme/deploy").replace("http://", "oci://")
    }

    /// Pushes an artifact with these layers and returns the digest of its manifest.
    fn push(&self, tag: &str, layers: &[Layer]) -> String {
        let mut blobs = self.blobs.lock();
        let mut described = Vec::new();
        for (media_type, bytes) in layers {
            let digest = Digest::compute(bytes);
            described.push(json!({"mediaType": media_type, "digest": digest, "size": bytes.len()}));
            blobs.insert(format!("blobs/{digest}"), bytes.clone());
        }
        let manifest = json!({
            "schemaVersion": 2,
            "config": {"mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": Digest::compute(b"{}"), "size": 2},
            "layers": described,
            "annotations": {
                "org.opencontainers.image.revision": format!("main@sha1:{tag}"),
                "org.opencontainers.image.created": "2026-01-02T03:04:05Z",
            },
        });
        let bytes = manifest.to_string().into_bytes();
        let digest = Digest::compute(&bytes).to_string();
        blobs.insert(format!("manifests/{tag}"), bytes.clone());
        blobs.insert(format!("manifests/{digest}"), bytes);
        digest
    }

    fn push_replicas(&self, tag: &str, count: u32) -> String {
        let files = pack(&[("./deploy/web.yaml", EntryType::Regular, &manifest(count))]);
        self.push(tag, &[(FLUX_LAYER, files)])
    }

    fn count_layers(&self) -> usize {
        self.server.paths().iter().filter(|path| path.contains("/blobs/")).count()
    }
}

fn respond(blobs: &Blobs, request: &HttpRequest) -> HttpResponse {
    // ci:s3cret
    if request.header("authorization") != Some("Basic Y2k6czNjcmV0") {
        return HttpResponse::status(401).with_header("www-authenticate", "Basic realm=\"registry\"");
    }
    let found =
        request.path.strip_prefix("/v2/acme/deploy/").and_then(|path| blobs.lock().get(path).cloned());
    found.map_or_else(|| HttpResponse::status(404), HttpResponse::ok)
}

/// A fleet with the credentials of the registry. Tags are checked when a test requests it.
async fn fleet_with(registry: &Registry) -> TestFleet {
    let fleet = TestFleet::start().await;
    fleet.hub.set_repository_client(RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap());
    fleet.hub.set_git_check_interval(Duration::from_secs(3_600));
    let new = NewChartRepository {
        name: "acme".into(),
        url: registry.url().replace("/deploy", ""),
        plain_http: true,
        credentials: RepositoryCredentials::Basic {
            user_name: "ci".into(),
            password: "s3cret".into(),
            token_endpoint: String::new(),
        },
    };
    fleet.client.create_chart_repository(&new).await.unwrap();
    fleet
}

fn workload_of(registry: &Registry, tag: &str, on_new_commit: OnNewCommit) -> NewWorkload {
    let mut new = web_workload();
    new.spec.source = Source::from(RemoteSource {
        repository: registry.url(),
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
        let registry = Registry::start().await;
        let first = registry.push_replicas("stable", 2);
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

        let second = registry.push_replicas("stable", 4);
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!(status.status.commit.as_ref(), Some(&second), "{}", status.message);
        wait_for_replicas(&fleet, &[0, 1, 2], 4).await;
        assert_eq!(draft_source(&fleet).await.pinned.unwrap().commit, second);

        // A tag that is gone is no reason to remove anything.
        registry.blobs.lock().remove("manifests/stable");
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
        let registry = Registry::start().await;
        let digest = registry.push_replicas("v1", 2);
        let fleet = fleet_with(&registry).await;
        set_helm(&fleet).await;
        let mut new = workload_of(&registry, &digest, OnNewCommit::All);
        publish(&fleet, &new).await;
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!((status.next_check_at, status.draft.unwrap().commit), (None, digest));

        let chart = super::charts::chart("1.0.0", &[]);
        registry.push("chart", &[(HELM_LAYER, chart)]);
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
        let registry = Registry::start().await;
        let fleet = fleet_with(&registry).await;
        let web = manifest(2);
        let regular = EntryType::Regular;
        let cases: [(&str, Vec<Layer>, &str); 6] = [
            (
                "link",
                vec![(FLUX_LAYER, pack(&[("deploy/web.yaml", EntryType::Symlink, "/etc/passwd")]))],
                "deploy/web.yaml",
            ),
            (
                "outside",
                vec![(FLUX_LAYER, pack(&[("../deploy/web.yaml", regular, &web)]))],
                "../deploy/web.yaml",
            ),
            (
                "twice",
                vec![(
                    FLUX_LAYER,
                    pack(&[("deploy/a.yaml", regular, &web), ("deploy/A.yaml", regular, &web)]),
                )],
                "deploy/A.yaml",
            ),
            ("no-path", vec![(FLUX_LAYER, pack(&[("other/web.yaml", regular, &web)]))], "has no \"deploy\""),
            (
                "image",
                vec![(
                    "application/vnd.docker.image.rootfs.diff.tar.gzip",
                    pack(&[("deploy/web.yaml", regular, &web)]),
                )],
                "only layers of the types",
            ),
            (
                "two",
                vec![
                    (FLUX_LAYER, pack(&[("deploy/web.yaml", regular, &web)])),
                    (FLUX_LAYER, pack(&[("a.yaml", regular, &web)])),
                ],
                "several archives",
            ),
        ];
        for (tag, layers, named) in cases {
            registry.push(tag, &layers);
            let problems = find_problems(&fleet, &workload_of(&registry, tag, OnNewCommit::Draft)).await;
            let found = problems.iter().find(|(code, _)| code == "G121");
            assert!(found.is_some_and(|(_, text)| text.contains(named)), "{tag}: {problems:?}");
        }
        // A registry that changes the bytes of an archive.
        let digest = registry.push_replicas("tampered", 2);
        for (path, bytes) in registry.blobs.lock().iter_mut() {
            if path.starts_with("blobs/") {
                bytes.push(0);
            }
        }
        let problems = find_problems(&fleet, &workload_of(&registry, &digest, OnNewCommit::Draft)).await;
        assert!(problems.iter().any(|(_, text)| text.contains("but its manifest names")), "{problems:?}");

        // The credentials are those of the registry's path, and the setting of the server decides about addresses.
        let mut other = workload_of(&registry, "v1", OnNewCommit::Draft);
        other.spec.source.remote_mut().unwrap().repository =
            registry.url().replace("acme/deploy", "beta/deploy");
        let problems = find_problems(&fleet, &other).await;
        assert!(problems.iter().any(|(code, _)| code == "G122"), "{problems:?}");
        for (source, reason) in [
            (json!({"type": "git", "repository": registry.url()}), "has the type oci"),
            (json!({"type": "oci", "repository": "https://a.test/b"}), "begins with oci://"),
            (
                json!({"type": "oci", "repository": registry.url(), "chart": "a/b"}),
                "none of files, chart and version",
            ),
        ] {
            let error = serde_json::from_value::<Source>(source).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }))
    .await;
}
