//! Drafts of users who may not read repositories: their checks use what is stored, and send no request to an address that a draft names.

use domain::Digest;
use domain::chart_repository::{NewChartRepository, RepositoryCredentials};
use domain::git_repository::{GitCredentials, GitRepositoryPut};
use domain::remote::{GitContent, OnNewCommit, PinnedCommit, RemoteSource};
use source::RemoteAccess;
use source::repository::RepositoryClient;
use testkit::{HttpResponse, HttpServer};
use wire::ValidateRequest;

use super::git_sources::{draft_source, git_fleet, git_workload, manifest, repository};
use super::*;

/// A client with a token of the role viewer.
pub async fn viewer_of(fleet: &TestFleet) -> Client {
    let user = fleet.hub.ensure_user("eve", "correct horse battery").await.unwrap();
    let actor = Actor::new("eve", ActorKind::Session(user), Role::Admin);
    let token = NewApiToken { role: Some(Role::Viewer), ..NewApiToken::new("reader", 1) };
    let token = fleet.hub.create_token(&actor, &token).await.unwrap().secret;
    Client::new(&fleet.url, &token).unwrap()
}

/// A client with a token that may only change drafts.
async fn draft_writer_of(fleet: &TestFleet) -> Client {
    let user = fleet.hub.ensure_user("eve", "correct horse battery").await.unwrap();
    let actor = Actor::new("eve", ActorKind::Session(user), Role::Admin);
    let actions = Some(vec!["edit".to_owned()]);
    let token = NewApiToken { role: Some(Role::Editor), actions, ..NewApiToken::new("drafts", 1) };
    let token = fleet.hub.create_token(&actor, &token).await.unwrap().secret;
    Client::new(&fleet.url, &token).unwrap()
}

/// The findings on a draft with this source, as `CODE message hint`.
async fn check(client: &Client, source: RemoteSource) -> Vec<String> {
    let mut new = web_workload();
    new.spec.source = Source::from(source);
    let request = ValidateRequest { name: new.name, spec: new.spec };
    let findings = client.validate_workload(&request).await.unwrap().findings;
    findings.into_iter().map(|found| format!("{} {} {}", found.code, found.message, found.hint)).collect()
}

fn is_refused(findings: &[String]) -> bool {
    findings.iter().any(|found| {
        found.starts_with("G122")
            && found.contains("is not stored on this server")
            && (found.contains("you need the role editor") || found.contains("needs the action check-source"))
    })
}

async fn count_snapshots(fleet: &TestFleet) -> i64 {
    let mut database = fleet.open_database().await;
    sqlx::query_scalar("SELECT COUNT(*) FROM git_snapshot").fetch_one(&mut database).await.unwrap()
}

/// What a client may claim about a commit.
fn claim(commit: &str) -> PinnedCommit {
    PinnedCommit {
        commit: commit.to_owned(),
        tree: "a".repeat(40),
        digest: Digest::compute(b"claimed"),
        content: GitContent::Chart,
        files: 1,
        author: String::new(),
        subject: String::new(),
        committed_at: domain::Timestamp::from_millis(0),
    }
}

/// Registers the server as a Git repository and as a registry, with credentials.
async fn register(fleet: &TestFleet, server: &HttpServer, git_url: &str) {
    let login = GitCredentials::basic("ci", "s3cret");
    let put =
        GitRepositoryPut { url: git_url.to_owned(), credentials: Some(login), ..GitRepositoryPut::default() };
    fleet.client.put_git_repository("deploy", &put).await.unwrap();
    let registry = NewChartRepository {
        name: "acme".into(),
        url: server.url("/acme").replace("http://", "oci://"),
        plain_http: true,
        credentials: RepositoryCredentials::Basic {
            user_name: "ci".into(),
            password: "s3cret".into(),
            token_endpoint: String::new(),
        },
    };
    fleet.client.create_chart_repository(&registry).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_without_the_right_to_read_sources_sends_no_request_to_the_one_that_its_draft_names() {
    with_timeout(Box::pin(async {
        let server = HttpServer::start(|_, _| HttpResponse::status(404)).await;
        let fleet = git_fleet().await;
        fleet.hub.set_repository_client(RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap());
        let git_url = server.url("/acme/deploy.git");
        register(&fleet, &server, &git_url).await;
        let readers = [viewer_of(&fleet).await, draft_writer_of(&fleet).await];
        let is_sent = || server.paths().iter().any(|path| path.contains("/acme/deploy"));
        let artifact = server.url("/acme/deploy").replace("http://", "oci://");
        let source_of = |url: &str, reference: &str, pinned: Option<&str>| RemoteSource {
            repository: url.to_owned(),
            reference: reference.to_owned(),
            pinned: pinned.map(claim),
            ..RemoteSource::default()
        };
        let (commit, digest) = ("b".repeat(40), Digest::compute(b"artifact").to_string());
        for source in [
            source_of(&git_url, "main", None),
            source_of(&git_url, "main", Some(&commit)),
            source_of(&git_url, &commit, None),
            source_of(&artifact, "stable", None),
            source_of(&artifact, "stable", Some(&digest)),
            source_of(&artifact, &digest, None),
        ] {
            for reader in &readers {
                let findings = check(reader, source.clone()).await;
                assert!(is_refused(&findings), "{source:?}: {findings:?}");
                assert!(!is_sent(), "{source:?}: {:?}", server.paths());
            }
        }
        // Who may check sources has them read, with the same request.
        for url in [&git_url, &artifact] {
            let before = server.paths().len();
            let findings = check(&fleet.client, source_of(url, "main", None)).await;
            assert!(!is_refused(&findings), "{findings:?}");
            assert!(is_sent() && server.paths().len() > before, "{url}: {findings:?}");
        }
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_checks_a_draft_with_the_stored_commit_and_has_no_other_one_fetched() {
    with_timeout(Box::pin(async {
        let (server, first) = repository().await;
        let fleet = git_fleet().await;
        fleet.client.create_workload(&git_workload(&server, OnNewCommit::Draft)).await.unwrap();
        fleet.client.check_git_source("web").await.unwrap();
        let second = server.commit("deploy/web.yaml", &manifest(3), "Run three replicas");
        let draft = draft_source(&fleet).await;
        let stored = (server.fetches(), count_snapshots(&fleet).await);
        assert_eq!(stored, (1, 1));
        let viewer = viewer_of(&fleet).await;
        let of_git = |findings: &[String]| {
            let is_of_git = |found: &&String| found.starts_with("G121") || found.starts_with("G122");
            findings.iter().filter(is_of_git).cloned().collect::<Vec<_>>()
        };
        let findings = check(&viewer, draft.clone()).await;
        assert_eq!(of_git(&findings), [""; 0], "the stored commit is used");
        // What a draft says about a commit is not believed: it has the stored manifests, and no chart.
        let claimed = RemoteSource { pinned: Some(claim(&first)), ..draft.clone() };
        let findings = check(&viewer, claimed).await;
        assert_eq!(of_git(&findings), [""; 0]);
        for other in [
            RemoteSource { pinned: Some(claim(&second)), ..draft.clone() },
            RemoteSource { reference: second.clone(), pinned: None, ..draft.clone() },
            RemoteSource { pinned: None, ..draft.clone() },
            RemoteSource { path: "other".to_owned(), ..draft.clone() },
        ] {
            let case = format!("{other:?}");
            let findings = check(&viewer, other).await;
            assert!(is_refused(&findings), "{case}: {findings:?}");
        }
        assert_eq!((server.fetches(), count_snapshots(&fleet).await), stored, "nothing is fetched or stored");
        fleet.stop().await;
    }))
    .await;
}
