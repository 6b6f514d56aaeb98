//! One repository has one entry, however its URL is spelled: its signers, credentials and webhook hold for all spellings.

use domain::chart_repository::{ChartRepositoryPut, NewChartRepository};
use domain::git_repository::GitRepositoryPut;
use domain::remote::OnNewCommit;
use sqlx::{AssertSqlSafe, Executor as _};

use super::git_server::GitServer;
use super::git_sources::{
    find_problems, git_fleet, git_workload, manifest, publish, repository, wait_for_replicas,
};
use super::*;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn put_at(url: String) -> GitRepositoryPut {
    GitRepositoryPut { url, ..GitRepositoryPut::default() }
}

/// An SSH key that has signed nothing.
fn unused_key() -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key").display().to_string();
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", &path])
        .status();
    assert!(made.unwrap().success());
    std::fs::read_to_string(format!("{path}.pub")).unwrap()
}

/// The workload with another spelling of the URL of its repository.
fn workload_at(server: &GitServer, url: &str) -> NewWorkload {
    let mut new = git_workload(server, OnNewCommit::All);
    if let Source::Git(source) = &mut new.spec.source {
        url.clone_into(&mut source.repository);
    }
    new
}

async fn execute(fleet: &TestFleet, statement: String) {
    fleet.open_database().await.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_spelling_of_a_git_repository_is_no_second_one_and_replaces_no_signers() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let signers = Some(unused_key());
        let first = GitRepositoryPut { allowed_signers: signers, ..put_at(server.url()) };
        fleet.client.put_git_repository("zoo", &first).await.unwrap();
        let bare = server.url().trim_end_matches(".git").to_owned();
        let in_upper_case = bare.replace("/deploy", "/DEPLOY");
        let mapped = bare.replace("127.0.0.1", "[::ffff:127.0.0.1]");
        assert_ne!(mapped, bare, "the server of this test is named by its address");
        for spelling in [&bare, &format!("{bare}/"), &format!("{bare}.git/"), &in_upper_case, &mapped] {
            // The name sorts before the first one.
            let second = fleet.client.put_git_repository("ant", &put_at(spelling.clone())).await.unwrap_err();
            assert_eq!(
                (second.code(), second.problem().unwrap().status),
                ("AlreadyExists", 409),
                "{spelling}"
            );
            assert!(second.to_string().contains("\"zoo\" has the same URL"), "{second}");
            if [&in_upper_case, &mapped].contains(&spelling) {
                continue; // The server of this test has no such path, and the host may have no IPv6.
            }
            // A commit that nobody signed.
            let problems = find_problems(&fleet, &workload_at(&server, spelling)).await;
            let is_refused =
                |(code, text): &(String, String)| code == "G121" && text.contains("is not signed");
            assert!(problems.iter().any(is_refused), "{spelling}: {problems:?}");
        }
        // The entry itself may be spelled otherwise, and another repository may take its place.
        fleet.client.put_git_repository("zoo", &put_at(bare.clone())).await.unwrap();
        let elsewhere = put_at("http://git.test/other".into());
        fleet.client.put_git_repository("zoo", &elsewhere).await.unwrap();
        fleet.client.put_git_repository("ant", &put_at(bare)).await.unwrap();
        let back = fleet.client.put_git_repository("zoo", &first).await.unwrap_err();
        assert!(back.to_string().contains("\"ant\" has the same URL"), "{back}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_git_repository_that_an_earlier_release_stored_twice_is_not_read_until_one_is_removed() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let signers = Some(unused_key());
        let put = GitRepositoryPut { allowed_signers: signers, ..put_at(server.url()) };
        fleet.client.put_git_repository("zoo", &put).await.unwrap();
        let bare = server.url().trim_end_matches(".git").to_owned();
        fleet.client.put_git_repository("ant", &put_at("http://git.test/other".into())).await.unwrap();
        let as_before =
            format!("UPDATE git_repository SET url_identity = NULL; UPDATE git_repository SET url = '{bare}' WHERE name = 'ant'");
        execute(&fleet, as_before).await;
        let new = workload_at(&server, &bare);
        let problems = find_problems(&fleet, &new).await;
        let is_named = |(code, text): &(String, String)| {
            code == "G121" && text.contains("\"ant\" and \"zoo\" both have the URL") && text.contains("repo remove")
        };
        assert!(problems.iter().any(is_named), "{problems:?}");
        assert_eq!(server.fetches(), 0, "nothing was requested");
        // Both can still be changed, and no third is possible.
        fleet.client.put_git_repository("ant", &put_at(bare.clone())).await.unwrap();
        assert_eq!(fleet.client.put_git_repository("bee", &put_at(bare)).await.unwrap_err().code(), "AlreadyExists");
        fleet.client.remove_git_repository("zoo").await.unwrap();
        publish(&fleet, &new).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_checks_the_refs_of_its_repository_in_every_spelling() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let bare = server.url().trim_end_matches(".git").replace("127.0.0.1", "localhost");
        let put = GitRepositoryPut {
            webhook_secret: Some(SECRET.into()),
            ..put_at(bare.replace("localhost", "LocalHost"))
        };
        fleet.client.put_git_repository("deploy", &put).await.unwrap();
        publish(&fleet, &workload_at(&server, &format!("{bare}.git"))).await;
        server.commit("deploy/web.yaml", &manifest(3), "Run three replicas");
        let url = format!("{}/api/v1/projects/default/git-webhooks/deploy", fleet.url);
        let request = reqwest::Client::new().post(url).header("x-gitlab-token", SECRET).body("{}");
        assert_eq!(request.send().await.unwrap().status().as_u16(), 202);
        wait_for_replicas(&fleet, &[0, 1, 2], 3).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_spelling_of_a_chart_repository_is_no_second_one() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        let new = |name: &str, url: &str| NewChartRepository {
            name: name.into(),
            url: url.into(),
            ..NewChartRepository::default()
        };
        let add = async |name: &str, url: &str| fleet.client.create_chart_repository(&new(name, url)).await;
        for (first, second) in [
            ("https://charts.invalid/team", "https://Charts.invalid:443/%74eam/"),
            ("oci://registry.invalid/charts", "oci://registry.invalid:443/charts/"),
            ("https://192.0.2.7/charts", "https://[::ffff:c000:207]:443/charts/"),
        ] {
            add("zoo", first).await.unwrap();
            let taken = add("ant", second).await.unwrap_err();
            assert_eq!((taken.code(), taken.problem().unwrap().status), ("AlreadyExists", 409), "{second}");
            assert!(taken.to_string().contains("\"zoo\" has the same URL"), "{taken}");
            add("ant", "https://charts.invalid/other").await.unwrap();
            let put = ChartRepositoryPut { url: second.into(), ..ChartRepositoryPut::default() };
            let moved = fleet.client.put_chart_repository("ant", &put).await.unwrap_err();
            assert!(moved.to_string().contains("\"zoo\" has the same URL"), "{moved}");
            fleet.client.put_chart_repository("zoo", &put).await.unwrap();
            for name in ["ant", "zoo"] {
                fleet.client.remove_chart_repository(name).await.unwrap();
            }
        }
        fleet.stop().await;
    })
    .await;
}
