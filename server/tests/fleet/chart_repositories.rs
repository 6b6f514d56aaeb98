//! Charts from repositories: fetched from a local server, stored, and published without it.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::SeqCst;

use domain::Digest;
use domain::chart_repository::{
    ChartRepositoryPut, NewChartRepository, RepositoryCredentials, RepositoryLogin,
};
use source::RemoteAccess;
use source::repository::RepositoryClient;
use sqlx::Executor as _;
use testkit::{HttpRequest, HttpResponse, HttpServer};
use wire::{CatalogQuery, ValidateRequest};

use super::charts::{chart, chart_workload, set_helm, values_of};
use super::*;

/// What the repository does.
pub(super) const WORKS: u8 = 0;
pub(super) const IS_DOWN: u8 = 1;
pub(super) const HAS_OTHER_CONTENT: u8 = 2;
pub(super) const ANNOUNCES_OTHER_CONTENT: u8 = 3;

/// A repository with the chart `web` in 1.0.0, 1.1.0 and 2.0.0-rc.1.
pub struct TestRepository {
    server: HttpServer,
    mode: Arc<AtomicU8>,
}

impl TestRepository {
    pub async fn start() -> Self {
        let mode = Arc::new(AtomicU8::new(WORKS));
        let state = mode.clone();
        let server = HttpServer::start(move |_, request| respond(state.load(SeqCst), request)).await;
        Self { server, mode }
    }

    pub(super) fn set(&self, mode: u8) {
        self.mode.store(mode, SeqCst);
    }

    pub fn url(&self) -> String {
        self.server.url("/charts")
    }

    fn count(&self, path: &str) -> usize {
        self.server.paths().iter().filter(|found| *found == path).count()
    }
}

fn archive(version: &str, mode: u8) -> Vec<u8> {
    match mode {
        HAS_OTHER_CONTENT | ANNOUNCES_OTHER_CONTENT => chart(version, &[("NOTES", "changed")]),
        _ => chart(version, &[]),
    }
}

fn respond(mode: u8, request: &HttpRequest) -> HttpResponse {
    if mode == IS_DOWN {
        return HttpResponse::status(503);
    }
    if request.path == "/charts/index.yaml" {
        let announced = if mode == ANNOUNCES_OTHER_CONTENT { mode } else { WORKS };
        let etag = format!("\"{announced}\"");
        if request.header("if-none-match") == Some(&etag) {
            return HttpResponse::status(304);
        }
        let entry = |version: &str| {
            let digest = Digest::compute(&archive(version, announced));
            format!(
                "  - {{name: web, version: {version}, appVersion: 9.{version}, description: A test chart, created: 2026-01-02T03:04:05Z, \
                 digest: {}, urls: [web-{version}.tgz]}}\n",
                digest.as_str().trim_start_matches("sha256:")
            )
        };
        let entries: String = ["1.0.0", "1.1.0", "2.0.0-rc.1"].into_iter().map(entry).collect();
        let index = format!("apiVersion: v1\nentries:\n  web:\n{entries}");
        return HttpResponse::ok(index).with_header("etag", etag);
    }
    let version = request.path.strip_prefix("/charts/web-").and_then(|rest| rest.strip_suffix(".tgz"));
    version.map_or_else(|| HttpResponse::status(404), |version| HttpResponse::ok(archive(version, mode)))
}

/// A fleet whose server may read repositories of its own network.
pub async fn fleet_with_repositories() -> TestFleet {
    let fleet = TestFleet::start().await;
    fleet.hub.set_repository_client(RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap());
    fleet
}

pub(super) fn new_repository(url: &str) -> NewChartRepository {
    NewChartRepository { name: "acme".into(), url: url.into(), ..NewChartRepository::default() }
}

pub(super) fn workload_of(version: &str) -> NewWorkload {
    let mut new = chart_workload(version, "replicas: 2\n");
    if let Source::Chart(source) = &mut new.spec.source {
        source.chart = "acme/web".into();
    }
    new
}

async fn find_problems(fleet: &TestFleet, new: &NewWorkload) -> Vec<(String, String)> {
    let request = ValidateRequest { name: new.name.clone(), spec: new.spec.clone() };
    let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
    findings.into_iter().map(|found| (found.code, found.message)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_a_chart_of_a_repository_is_pinned_fetched_once_and_published_without_the_repository() {
    with_timeout(Box::pin(async {
        let repository = TestRepository::start().await;
        let mut fleet = fleet_with_repositories().await;
        set_helm(&fleet).await;
        let added = fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        assert_eq!((added.status.chart_count, added.status.failure), (Some(1), None));
        let found = fleet
            .client
            .search_charts(&CatalogQuery { q: "test acme".into(), ..CatalogQuery::default() })
            .await
            .unwrap();
        assert_eq!(found.items.len(), 1, "{found:?}");
        assert_eq!(
            (&*found.items[0].chart, &*found.items[0].version, found.items[0].version_count),
            ("acme/web", "1.1.0", 3)
        );

        // Without a version the newest one that is no pre-release is pinned when the draft is saved.
        let created = fleet.client.create_workload(&workload_of("")).await.unwrap();
        let Source::Chart(source) = &created.draft.source else { panic!("{created:?}") };
        assert_eq!(source.version, "1.1.0");
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        assert_eq!(values_of(&fleet, 0)["chart"], "1.1.0");
        assert_eq!(repository.count("/charts/web-1.1.0.tgz"), 1, "the chart is fetched once");
        let versions = fleet.client.list_chart_versions("acme", "web").await.unwrap();
        let shown: Vec<_> = versions.iter().map(|found| (&*found.version, found.is_stored)).collect();
        assert_eq!(shown, [("2.0.0-rc.1", false), ("1.1.0", true), ("1.0.0", false)]);
        assert_eq!(versions[1].created_at, "2026-01-02T03:04:05Z".parse().ok());

        // The repository is gone: what was fetched works, also on a further cluster; what was not is named.
        repository.set(IS_DOWN);
        fleet.add_cluster("eu-3").await;
        let mut edited = workload_of("1.1.0");
        edited.spec.placement.predicates[0].names.push("eu-3".into());
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let put = WorkloadPut { spec: edited.spec, ..WorkloadPut::default() };
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 4).await;
        assert_eq!(values_of(&fleet, 3)["chart"], "1.1.0");
        let problems = find_problems(&fleet, &workload_of("1.0.0")).await;
        assert_eq!(problems[0].0, "G117", "{problems:?}");
        assert!(
            problems[0].1.contains("acme/web 1.0.0 can't be fetched") && problems[0].1.contains("503"),
            "{problems:?}"
        );
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_8_the_lost_archive_of_a_stored_chart_is_fetched_again_for_another_rendering() {
    with_timeout(Box::pin(async {
        let repository = TestRepository::start().await;
        let fleet = fleet_with_repositories().await;
        set_helm(&fleet).await;
        fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        fleet.client.create_workload(&workload_of("1.0.0")).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        assert_eq!(repository.count("/charts/web-1.0.0.tgz"), 1);

        let mut connection = fleet.open_database().await;
        let statement = "DELETE FROM artifact WHERE digest IN (SELECT digest FROM chart)";
        assert_eq!(connection.execute(statement).await.unwrap().rows_affected(), 1);
        let mut edited = workload_of("1.0.0");
        if let Source::Chart(source) = &mut edited.spec.source {
            source.values = "replicas: 5\n".to_owned();
        }
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let put = WorkloadPut { spec: edited.spec, ..WorkloadPut::default() };
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|_| values_of(&fleet, 0)["replicas"] == "5").await;
        assert_eq!(repository.count("/charts/web-1.0.0.tgz"), 2, "it is fetched once more");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_9_a_workload_waits_for_a_chart_that_is_gone_and_resumes_when_its_repository_is_back() {
    with_timeout(async {
        let repository = TestRepository::start().await;
        let mut fleet = fleet_with_repositories().await;
        set_helm(&fleet).await;
        fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        fleet.client.create_workload(&workload_of("1.0.0")).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        // As after a restore of the database without this row: the archive has to be fetched again. A new cluster starts a pass.
        repository.set(IS_DOWN);
        let mut connection = fleet.open_database().await;
        connection.execute("DELETE FROM chart WHERE version = '1.0.0'").await.unwrap();
        fleet.client.refresh_chart_repository("acme").await.unwrap();
        fleet.add_cluster("eu-3").await;
        fleet
            .wait_for_web(|status| {
                let stages = status.target_clusters.iter().map(|target| format!("{:?}", target.stages));
                status.counts.healthy() == 0
                    && stages.take(3).all(|stages| stages.contains("WaitingForArtifact"))
            })
            .await;
        assert_eq!(values_of(&fleet, 0)["chart"], "1.0.0", "what runs is not touched");
        repository.set(WORKS);
        fleet.client.refresh_chart_repository("acme").await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() >= 3).await;
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_down_keeps_its_last_index_and_an_unchanged_one_is_not_sent_again() {
    with_timeout(async {
        let repository = TestRepository::start().await;
        let fleet = fleet_with_repositories().await;
        let added = fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        repository.set(IS_DOWN);
        let failed = fleet.client.refresh_chart_repository("acme").await.unwrap();
        assert_eq!(
            (failed.status.chart_count, failed.status.refreshed_at),
            (Some(1), added.status.refreshed_at)
        );
        let failure = failed.status.failure.unwrap();
        assert!(failure.message.contains("503") && failure.attempts == 1, "{failure:?}");
        let found = fleet.client.search_charts(&CatalogQuery::default()).await.unwrap();
        assert_eq!(found.items.len(), 1, "the last complete index stays in use");
        repository.set(WORKS);
        let back = fleet.client.refresh_chart_repository("acme").await.unwrap();
        assert_eq!((back.status.chart_count, back.status.failure), (Some(1), None));
        let last = repository.server.requests().pop().unwrap();
        assert_eq!(last.header("if-none-match"), Some("\"0\""), "the stored index is named");

        // A repository that never answered has no charts, which is not the same as an empty one.
        let unknown = NewChartRepository { name: "unknown".into(), ..new_repository("http://127.0.0.1:9/") };
        let unknown = fleet.client.create_chart_repository(&unknown).await.unwrap();
        assert_eq!((unknown.status.chart_count, unknown.status.failure.is_some()), (None, true));
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_with_other_content_than_its_index_or_the_stored_chart_is_refused_and_named() {
    with_timeout(async {
        let repository = TestRepository::start().await;
        let fleet = fleet_with_repositories().await;
        set_helm(&fleet).await;
        fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        let stored = fleet.client.get_chart("acme", "web", "1.0.0").await.unwrap().chart;
        repository.set(HAS_OTHER_CONTENT);
        let problems = find_problems(&fleet, &workload_of("1.1.0")).await;
        assert_eq!(problems[0].0, "G112", "{problems:?}");
        assert!(
            problems[0].1.contains("but the repository publishes")
                || problems[0].1.contains("the repository publishes"),
            "{problems:?}"
        );
        // The index now announces other content for the stored version: the stored one stays, and the list names it.
        repository.set(ANNOUNCES_OTHER_CONTENT);
        let refreshed = fleet.client.refresh_chart_repository("acme").await.unwrap();
        assert_eq!(refreshed.status.changed_versions, ["web 1.0.0"]);
        assert_eq!(fleet.client.get_chart("acme", "web", "1.0.0").await.unwrap().chart, stored);
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn private_addresses_are_refused_unless_the_server_allows_them_and_redirects_get_no_credentials() {
    with_timeout(async {
        let repository = TestRepository::start().await;
        let fleet = TestFleet::start().await;
        fleet.hub.set_repository_client(RepositoryClient::new(RemoteAccess::Https).unwrap());
        let added = fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        let failure = added.status.failure.unwrap();
        assert!(failure.message.contains("not allowed"), "{failure:?}");
        assert!(repository.server.requests().is_empty(), "nothing was sent");
        fleet.stop().await;

        let fleet = fleet_with_repositories().await;
        let target = repository.url();
        let redirecting = HttpServer::start(move |_, request| {
            let path = request.path.trim_start_matches("/charts");
            HttpResponse::redirect(format!("{target}{path}"))
        })
        .await;
        let credentials = RepositoryCredentials::Basic {
            user_name: "ci".into(),
            password: "s3cret".into(),
            token_endpoint: String::new(),
        };
        let new = NewChartRepository { credentials, ..new_repository(&redirecting.url("/charts")) };
        let added = fleet.client.create_chart_repository(&new).await.unwrap();
        assert_eq!(added.status.failure, None);
        assert!(redirecting.requests()[0].header("authorization").is_some());
        assert_eq!(repository.server.requests()[0].header("authorization"), None);
        assert!(
            matches!(added.login, RepositoryLogin::Basic { .. }) && !format!("{added:?}").contains("s3cret")
        );

        // Stored credentials can't be directed to another server by a change of the URL.
        let put = ChartRepositoryPut { url: repository.url(), ..ChartRepositoryPut::default() };
        let refused = fleet.client.put_chart_repository("acme", &put).await.unwrap_err();
        assert!(refused.to_string().contains("the stored credentials are for the previous one"), "{refused}");
        let put = ChartRepositoryPut { credentials: Some(RepositoryCredentials::None), ..put };
        let changed = fleet.client.put_chart_repository("acme", &put).await.unwrap();
        assert_eq!((changed.login, changed.status.chart_count), (RepositoryLogin::None, Some(1)));
        let events = fleet.client.list_events(&EventQuery::default()).await.unwrap();
        assert!(!format!("{events:?}").contains("s3cret"));
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_and_charts_that_workloads_name_are_not_deleted() {
    with_timeout(async {
        let repository = TestRepository::start().await;
        let fleet = fleet_with_repositories().await;
        fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        let again =
            fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap_err();
        assert_eq!(again.code(), "AlreadyExists");
        let local = NewChartRepository { name: "local".into(), ..new_repository(&repository.url()) };
        let local = fleet.client.create_chart_repository(&local).await.unwrap_err();
        assert!(local.to_string().contains("uploaded charts"), "{local}");
        fleet.client.create_workload(&workload_of("1.0.0")).await.unwrap();
        fleet.client.get_chart("acme", "web", "1.0.0").await.unwrap();
        fleet.client.get_chart("acme", "web", "1.1.0").await.unwrap();
        fleet.client.delete_chart("acme", "web", "1.1.0").await.unwrap();
        for refused in [
            fleet.client.delete_chart("acme", "web", "1.0.0").await.unwrap_err(),
            fleet.client.remove_chart_repository("acme").await.unwrap_err(),
        ] {
            assert_eq!(refused.code(), "FailedPrecondition");
            assert!(refused.to_string().contains("1 workload (web)"), "{refused}");
        }
        fleet.client.delete_workload("web", &RemovalOptions::default()).await.unwrap();
        let mut watch = fleet.client.watch(None);
        while fleet.client.get_workload("web").await.is_ok() {
            await_event(&mut watch).await;
        }
        fleet.client.remove_chart_repository("acme").await.unwrap();
        assert!(fleet.client.get_chart_repository("acme").await.unwrap_err().is_not_found());
        assert_eq!(fleet.client.list_charts(None).await.unwrap(), []);
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_may_read_private_addresses_never_requests_the_metadata_service_of_a_cloud() {
    with_timeout(async {
        let fleet = fleet_with_repositories().await;
        let git = source::git::GitClient::new(RemoteAccess::PrivateHttp, fleet.scratch()).unwrap();
        fleet.hub.set_git_client(git);
        let hosts = [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "192.0.0.192",
            "[fd00:ec2::254]",
            "[fd20:ce::254]",
            "[fd00:c1::a9fe:a9fe]",
            "[fd00:42::42]",
            "[fd12:3456::a9fe:a9fe]",
            "[::ffff:100.100.100.200]",
            "[64:ff9b::6464:64c8]",
            "[2002:a9fe:a9fe::1]",
            "[fe80::1]",
        ];
        for scheme in ["http", "https"] {
            for host in hosts {
                let url = format!("{scheme}://{host}/latest");
                let added = fleet.client.create_chart_repository(&new_repository(&url)).await.unwrap();
                let failure = added.status.failure.unwrap();
                assert!(failure.message.contains("its address is"), "{url}: {failure:?}");
                fleet.client.remove_chart_repository("acme").await.unwrap();
                let mut new = web_workload();
                let remote = domain::remote::RemoteSource { repository: url.clone(), ..Default::default() };
                new.spec.source = Source::Git(Box::new(remote));
                let problems = find_problems(&fleet, &new).await;
                let is_refused =
                    |(code, text): &(String, String)| code == "G122" && text.contains("its address is");
                assert!(problems.iter().any(is_refused), "{url}: {problems:?}");
            }
        }
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_an_index_is_read_while_more_repositories_of_a_slow_host_wait_than_are_read_at_once() {
    with_timeout(Box::pin(async {
        let repository = TestRepository::start().await;
        let fleet = fleet_with_repositories().await;
        let slow = HttpServer::start(|_, _| HttpResponse::unfinished()).await;
        let mut waiting = tokio::task::JoinSet::new();
        for n in 0..12 {
            let new = NewChartRepository {
                name: format!("slow-{n}"),
                ..new_repository(&slow.url(&format!("/charts-{n}")))
            };
            let client = fleet.client.clone();
            waiting.spawn(async move { client.create_chart_repository(&new).await });
        }
        while fleet.client.list_chart_repositories().await.unwrap().len() < 12 || slow.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let added = fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        assert_eq!((added.status.chart_count, added.status.failure), (Some(1), None));
    }))
    .await;
}
