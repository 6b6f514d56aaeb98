//! Servers that respond slowly take places of the user who named them, and of nobody else (P20).

use domain::chart_repository::NewChartRepository;
use domain::remote::{OnNewCommit, RemoteSource};
use testkit::{HttpResponse, HttpServer};
use tokio::task::JoinSet;

use super::chart_repositories::{TestRepository, fleet_with_repositories};
use super::git_sources::{draft_source, git_fleet, git_workload, repository as git_repository};
use super::turns::client_of;
use super::*;

/// What a Git server names the list of its refs. Other clients do not look at it.
const GIT_REFS: &str = "application/x-git-upload-pack-advertisement";

/// Servers that send a byte now and then; to the product each is another host.
async fn slow_servers(count: usize) -> Vec<HttpServer> {
    let mut servers = Vec::new();
    for _ in 0..count {
        servers
            .push(HttpServer::start(|_, _| HttpResponse::slow().with_header("content-type", GIT_REFS)).await);
    }
    servers
}

fn count_requests(servers: &[HttpServer]) -> usize {
    servers.iter().map(|server| server.requests().len()).sum()
}

async fn wait_for_requests(servers: &[HttpServer], count: usize) {
    while count_requests(servers) < count {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn repository(name: impl Into<String>, url: impl Into<String>) -> NewChartRepository {
    NewChartRepository { name: name.into(), url: url.into(), ..NewChartRepository::default() }
}

/// A registry over plain HTTP.
fn registry(name: &str, server: &HttpServer) -> NewChartRepository {
    let url = server.url("/charts").replace("http://", "oci://");
    NewChartRepository { plain_http: true, ..repository(name, url) }
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_repository_is_read_while_two_other_users_have_named_more_slow_servers_than_are_read_at_once() {
    with_timeout(Box::pin(async {
        let good = TestRepository::start().await;
        let fleet = fleet_with_repositories().await;
        let others = [client_of(&fleet, "eve").await, client_of(&fleet, "mallory").await];
        let slow = slow_servers(10).await;
        let mut of_others = JoinSet::new();
        for (n, server) in slow.iter().enumerate() {
            let new = repository(format!("slow-{n}"), server.url("/charts"));
            let client = others[n % others.len()].clone();
            of_others.spawn(async move { client.create_chart_repository(&new).await });
        }
        // Each of them has a third of the places.
        wait_for_requests(&slow, 6).await;
        while fleet.client.list_chart_repositories().await.unwrap().len() < slow.len() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let added = fleet.client.create_chart_repository(&repository("acme", good.url())).await.unwrap();
        assert_eq!((added.status.chart_count, added.status.failure), (Some(1), None));
        assert!(of_others.try_join_next().is_none(), "a slow server was waited for");
        // Each slow server is left after a while, and the user sees why.
        let first = of_others.join_next().await.unwrap().unwrap().unwrap();
        let failure = first.status.failure.unwrap().message;
        assert!(failure.contains("127.0.0.1") && failure.contains("bytes within 10 s"), "{failure}");
        drop(of_others);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_versions_of_a_chart_are_listed_while_another_user_requests_those_of_many_charts_of_a_slow_registry()
 {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_repositories().await;
        let eve = client_of(&fleet, "eve").await;
        let slow = slow_servers(1).await;
        let good = HttpServer::start(|_, _| HttpResponse::ok(r#"{"tags":["1.0.0"]}"#)).await;
        eve.create_chart_repository(&registry("slow", &slow[0])).await.unwrap();
        fleet.client.create_chart_repository(&registry("good", &good)).await.unwrap();
        let mut of_eve = JoinSet::new();
        for n in 0..12 {
            let eve = eve.clone();
            of_eve.spawn(async move { eve.list_chart_versions("slow", &format!("chart-{n}")).await });
        }
        wait_for_requests(&slow, 2).await;
        let versions = fleet.client.list_chart_versions("good", "web").await.unwrap();
        assert_eq!(versions.iter().map(|found| found.version.as_str()).collect::<Vec<_>>(), ["1.0.0"]);
        assert_eq!(count_requests(&slow), 2, "one host has two places");
        drop(of_eve);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_branch_is_read_while_another_user_has_named_more_slow_git_servers_than_are_read_at_once() {
    with_timeout(Box::pin(async {
        let (good, commit) = git_repository().await;
        let fleet = git_fleet().await;
        let eve = client_of(&fleet, "eve").await;
        let slow = slow_servers(9).await;
        let mut of_eve = JoinSet::new();
        for n in 0..4 * slow.len() {
            let mut new = git_workload(&good, OnNewCommit::Draft);
            new.name = format!("slow-{n}");
            new.spec.source = Source::Git(Box::new(RemoteSource {
                repository: slow[n % slow.len()].url(&format!("/deploy-{n}.git")),
                reference: "main".into(),
                ..RemoteSource::default()
            }));
            let eve = eve.clone();
            of_eve.spawn(async move { eve.create_workload(&new).await });
        }
        wait_for_requests(&slow, 10).await;
        fleet.client.create_workload(&git_workload(&good, OnNewCommit::Draft)).await.unwrap();
        assert_eq!(draft_source(&fleet).await.pinned.map(|pinned| pinned.commit), Some(commit));
        // Requests beyond those of one user end without a turn; no slow server has been given up.
        while let Some(ended) = of_eve.try_join_next() {
            assert_eq!(ended.unwrap().unwrap_err().code(), "ServerBusy", "a slow server was waited for");
        }
        drop(of_eve);
        fleet.stop().await;
    }))
    .await;
}
