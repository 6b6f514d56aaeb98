//! Git sources: published from a branch, followed by policy, and never a reason to remove what runs.

use domain::event::EventKind;
use domain::git_repository::{GitCredentials, GitRepositoryPut};
use domain::remote::{GitContent, OnNewCommit, RemoteSource};
use domain::rollout::{RolloutAction, RolloutStrategy, Wave};
use source::RemoteAccess;
use source::git::GitClient;
use sqlx::Executor as _;
use testkit::{HttpResponse, HttpServer};
use wire::{RevisionQuery, ValidateRequest};

use super::git_server::GitServer;
use super::*;

pub fn manifest(replicas: u32) -> String {
    MANIFESTS.replace("replicas: 2", &format!("replicas: {replicas}"))
}

/// A repository with two replicas in `deploy/web.yaml`.
pub async fn repository() -> (GitServer, String) {
    let server = GitServer::start().await;
    let commit = server.commit("deploy/web.yaml", &manifest(2), "Run two replicas");
    (server, commit)
}

/// A fleet whose server may read repositories of its own network. Refs are checked when a test requests it.
pub async fn git_fleet() -> TestFleet {
    read_private_repositories(TestFleet::start().await)
}

/// The same with a fleet that was started.
pub fn read_private_repositories(fleet: TestFleet) -> TestFleet {
    fleet.hub.set_git_client(GitClient::new(RemoteAccess::PrivateHttp, fleet.scratch()).unwrap());
    fleet.hub.set_git_check_interval(Duration::from_secs(3_600));
    fleet
}

pub fn git_workload(server: &GitServer, on_new_commit: OnNewCommit) -> NewWorkload {
    let mut new = web_workload();
    new.spec.source = Source::Git(Box::new(RemoteSource {
        repository: server.url(),
        reference: "main".into(),
        path: "deploy".into(),
        on_new_commit,
        ..RemoteSource::default()
    }));
    new
}

pub async fn draft_source(fleet: &TestFleet) -> RemoteSource {
    fleet.client.get_workload("web").await.unwrap().workload.draft.source.remote().unwrap().clone()
}

async fn draft_commit(fleet: &TestFleet) -> String {
    draft_source(fleet).await.pinned.unwrap().commit
}

/// Creates and publishes the workload and waits until it is healthy.
pub async fn publish(fleet: &TestFleet, new: &NewWorkload) {
    fleet.client.create_workload(new).await.unwrap();
    fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
    fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
    fleet.client.check_git_source("web").await.unwrap();
}

pub fn replicas(fleet: &TestFleet, cluster: usize) -> Value {
    fleet.deployment(cluster).map_or(Value::Null, |found| found["spec"]["replicas"].clone())
}

pub async fn wait_for_replicas(fleet: &TestFleet, clusters: &[usize], expected: u32) {
    let all = |_: &WorkloadStatus| clusters.iter().all(|cluster| replicas(fleet, *cluster) == expected);
    fleet.wait_for_web(all).await;
}

pub async fn find_problems(fleet: &TestFleet, new: &NewWorkload) -> Vec<(String, String)> {
    let request = ValidateRequest { name: new.name.clone(), spec: new.spec.clone() };
    let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
    findings.into_iter().map(|found| (found.code, format!("{} {}", found.message, found.hint))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_pinned_when_the_draft_is_saved_and_runs_without_its_repository_also_after_a_restart() {
    with_timeout(Box::pin(async {
        let (server, commit) = repository().await;
        let fleet = git_fleet().await;
        publish(&fleet, &git_workload(&server, OnNewCommit::Draft)).await;
        assert_eq!(replicas(&fleet, 0), 2);
        let pinned = draft_source(&fleet).await.pinned.unwrap();
        assert_eq!((&*pinned.commit, pinned.content, pinned.files), (&*commit, GitContent::Manifests, 1));
        assert_eq!((&*pinned.author, &*pinned.subject), ("Ada", "Run two replicas"));
        let revision = fleet.client.get_revision("web", 1, &RevisionQuery::default()).await.unwrap();
        assert_eq!(
            revision.revision.spec.source.remote().unwrap().pinned.as_ref(),
            Some(&pinned),
            "the revision names the commit"
        );
        assert_eq!(server.fetches(), 1, "a commit is fetched once");

        // The repository is gone. What was fetched is enough for a further publish, on this server and on the next one.
        server.set_down(true);
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let database = format!("sqlite://{}", fleet.folder.path().join("flotilla.db").display());
        fleet.stop.cancel();
        fleet.loops.stop().await;
        fleet.hub.close().await;
        let (hub, _folder) = (fleet.hub, fleet.folder);
        drop((hub, fleet.site));
        let restarted = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let draft = hub::PublishContent::Draft;
        let checked = restarted.check_content(&Actor::system(), "web", &draft).await.unwrap();
        let blocking: Vec<_> = checked.checked.findings.iter().filter(|found| found.is_blocking()).collect();
        assert!(blocking.is_empty() && checked.checked.manifests == 1, "{blocking:?}");
        let published =
            restarted.publish_workload(&Actor::system(), "web", "", hub::PublishOptions::default()).await;
        assert_eq!(published.unwrap().revision, 3);
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_branch_changes_the_draft_only_and_no_edit_of_a_person_is_lost() {
    with_timeout(Box::pin(async {
        let (server, first) = repository().await;
        let fleet = git_fleet().await;
        publish(&fleet, &git_workload(&server, OnNewCommit::Draft)).await;
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let mut edited = current.draft.clone();
        edited.namespace = "edited".into();
        let put = WorkloadPut { spec: edited, ..WorkloadPut::default() };
        let saved = fleet.client.put_workload("web", &put, current.revision).await.unwrap();

        let second = server.commit("deploy/web.yaml", &manifest(3), "Run three replicas");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!(status.draft.unwrap().commit, second);
        assert_eq!(status.published.unwrap().commit, first);
        let after = fleet.client.get_workload("web").await.unwrap().workload;
        assert_eq!((after.draft.namespace.as_str(), after.published), ("edited", Some(1)));
        assert_eq!(replicas(&fleet, 0), 2, "a draft changes no cluster");
        // A person who still has the previous draft is told, and nothing is overwritten.
        let put = WorkloadPut { spec: saved.draft, ..WorkloadPut::default() };
        let conflict = fleet.client.put_workload("web", &put, saved.revision).await.unwrap_err();
        assert_eq!(conflict.code(), "RevisionConflict");
        // A commit that changes nothing at the path leaves the draft alone.
        let third = server.commit("README.md", "unrelated", "Describe it");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!(status.status.commit.as_ref(), Some(&third));
        assert_eq!(draft_commit(&fleet).await, second);
        assert!(
            status.message.contains("moved from") && status.message.contains("Describe it"),
            "{}",
            status.message
        );
        let ahead = format!("main is 2 commits ahead of the published commit {}.", &first[..8]);
        assert!(status.message.contains(&ahead), "{}", status.message);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_branch_is_published_by_policy_and_a_rollback_stays() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        publish(&fleet, &git_workload(&server, OnNewCommit::All)).await;
        let second = server.commit("deploy/web.yaml", &manifest(3), "Run three replicas");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!((status.follow.revision, status.follow.blocked), (Some(2), None));
        wait_for_replicas(&fleet, &[0, 1, 2], 3).await;
        let revision = fleet.client.get_revision("web", 2, &RevisionQuery::default()).await.unwrap();
        assert_eq!(revision.revision.spec.source.remote().unwrap().pinned.as_ref().unwrap().commit, second);
        assert!(revision.revision.message.contains("Run three replicas"), "{}", revision.revision.message);
        assert!(!fleet.client.get_workload("web").await.unwrap().workload.draft_changed);

        // A person rolls back: the next check finds the same commit and publishes nothing.
        let request = PublishRequest { revision: Some(1), ..PublishRequest::default() };
        fleet.client.publish_workload("web", &request, None).await.unwrap();
        wait_for_replicas(&fleet, &[0, 1, 2], 2).await;
        fleet.client.check_git_source("web").await.unwrap();
        let published = fleet.client.get_workload("web").await.unwrap().workload.published;
        assert_eq!(published, Some(3), "the rollback is not undone");
        // A newer commit is published again.
        server.commit("deploy/web.yaml", &manifest(4), "Run four replicas");
        fleet.client.check_git_source("web").await.unwrap();
        wait_for_replicas(&fleet, &[0, 1, 2], 4).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_policy_first_wave_a_commit_waits_for_an_approval_after_the_first_wave() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let mut new = git_workload(&server, OnNewCommit::FirstWave);
        let at_once = find_problems(&fleet, &new).await;
        assert!(at_once.iter().any(|(code, text)| code == "G121" && text.contains("waves")), "{at_once:?}");
        let wave = |name: &str, most: Option<&str>| Wave {
            name: name.into(),
            max_clusters: most.map(|most| most.parse().unwrap()),
            ..Wave::default()
        };
        new.spec.rollout = RolloutStrategy {
            waves: vec![wave("canary", Some("1")), wave("rest", None)],
            ..RolloutStrategy::default()
        };
        publish(&fleet, &new).await;
        server.commit("deploy/web.yaml", &manifest(3), "Run three replicas");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!((status.follow.blocked, status.follow.revision), (None, Some(2)));
        let count = |fleet: &TestFleet, expected: u32| {
            (0..3).filter(|cluster| replicas(fleet, *cluster) == expected).count()
        };
        let mut watch = fleet.client.watch(None);
        loop {
            let rollout = fleet.client.get_rollout("web", Some(2)).await.unwrap();
            if rollout.state.is_awaiting_action() {
                break;
            }
            await_event(&mut watch).await;
        }
        assert_eq!((count(&fleet, 3), count(&fleet, 2)), (1, 2));
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        assert!(!current.draft_changed, "the approval is not part of the spec");
        fleet.client.control_rollout("web", RolloutAction::Approve).await.unwrap();
        wait_for_replicas(&fleet, &[0, 1, 2], 3).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewritten_history_a_vanished_path_and_a_guard_rail_block_visibly_and_remove_nothing() {
    with_timeout(Box::pin(async {
        let (server, first) = repository().await;
        let fleet = git_fleet().await;
        publish(&fleet, &git_workload(&server, OnNewCommit::All)).await;

        // History is rewritten: the published commit is no ancestor.
        std::fs::write(server.path("deploy/web.yaml"), manifest(5)).unwrap();
        server.git(&["commit", "--quiet", "--all", "--amend", "-m", "Rewritten"]);
        let status = fleet.client.check_git_source("web").await.unwrap();
        let blocked = status.follow.blocked.unwrap();
        assert!(blocked.message.contains("history was rewritten or is not known"), "{blocked:?}");
        assert!(status.message.contains("is blocked"), "{}", status.message);
        assert_ne!(draft_commit(&fleet).await, first, "the draft has it, for a person to publish");
        assert_eq!(replicas(&fleet, 0), 2);
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        wait_for_replicas(&fleet, &[0, 1, 2], 5).await;

        // A guard rail rejects the commit.
        let broken = manifest(5).replace("image: docker.io/library/nginx:1.29.3", "image: 'not an image'");
        server.commit("deploy/web.yaml", &broken, "Break the image");
        let status = fleet.client.check_git_source("web").await.unwrap();
        let blocked = status.follow.blocked.unwrap();
        assert!(blocked.message.contains("image"), "{blocked:?}");
        assert_eq!(replicas(&fleet, 0), 5);

        // The path vanishes, then it is empty.
        server.git(&["mv", "deploy", "moved"]);
        server.commit_all("Move the folder");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert!(status.follow.blocked.unwrap().message.contains("has no \"deploy\""));
        server.commit("deploy/README.md", "nothing here", "Leave a note");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert!(status.follow.blocked.unwrap().message.contains("contains no manifests"));
        server.commit("deploy/web.yaml", "# only a comment\n", "Comment it out");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert!(status.follow.blocked.unwrap().message.contains("no Kubernetes object"));

        // The branch is deleted, then the repository is down.
        server.git(&["branch", "-m", "main", "other"]);
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert!(status.status.failure.unwrap().message.contains("no branch or tag \"main\""));
        server.set_down(true);
        let status = fleet.client.check_git_source("web").await.unwrap();
        let failure = status.status.failure.unwrap();
        assert!(failure.message.contains("503") && failure.attempts == 2, "{failure:?}");
        assert!(status.status.commit.is_some(), "the last good state stays");
        for cluster in 0..3 {
            assert_eq!(replicas(&fleet, cluster), 5, "nothing that runs is changed or removed");
        }
        let events = fleet.client.list_events(&EventQuery::default()).await.unwrap().items;
        let blocked = events.iter().filter(|event| event.kind == EventKind::GitCommitBlocked).count();
        assert_eq!(blocked, 5, "one event per cause");

        // It is back, with a commit that can be used.
        server.set_down(false);
        server.git(&["branch", "-m", "other", "main"]);
        server.commit("deploy/web.yaml", &manifest(1), "Run one replica");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!((status.status.failure, status.follow.blocked), (None, None));
        wait_for_replicas(&fleet, &[0, 1, 2], 1).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_9_a_commit_that_is_gone_from_the_database_is_waited_for_and_fetched_again() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let mut fleet = git_fleet().await;
        publish(&fleet, &git_workload(&server, OnNewCommit::Draft)).await;
        server.set_down(true);
        // As after a restore of the database without this row. A new cluster starts a pass of the placer.
        fleet.open_database().await.execute("DELETE FROM git_snapshot").await.unwrap();
        fleet.client.check_git_source("web").await.unwrap();
        fleet.add_cluster("eu-3").await;
        let waits = |status: &WorkloadStatus| {
            let stages = status.target_clusters.iter().map(|target| format!("{:?}", target.stages));
            stages.take(3).all(|stages| stages.contains("WaitingForArtifact"))
        };
        fleet.wait_for_web(waits).await;
        assert_eq!(replicas(&fleet, 0), 2, "what runs is not touched");
        server.set_down(false);
        fleet.client.check_git_source("web").await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() >= 3).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_with_the_right_signature_checks_the_refs_and_others_are_refused() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        publish(&fleet, &git_workload(&server, OnNewCommit::All)).await;
        let secret = "0123456789abcdef";
        let put = GitRepositoryPut {
            url: server.url(),
            webhook_secret: Some(secret.into()),
            ..GitRepositoryPut::default()
        };
        let saved = fleet.client.put_git_repository("deploy", &put).await.unwrap();
        assert!(saved.has_webhook && !format!("{saved:?}").contains(secret));
        let url = format!("{}/api/v1/projects/default/git-webhooks/deploy", fleet.url);
        let http = reqwest::Client::new();
        let send = async |header: &'static str, value: &str, body: &'static str| {
            let sent = http.post(&url).header(header, value).body(body).send().await.unwrap();
            sent.status().as_u16()
        };
        // The HMAC-SHA256 of "{}" with the secret.
        let valid = "sha256=f91e3e9f05cc2df64ac1c26f8adccdffda8d1e4a7a8c50a1a08eeadac6ddfec5";
        server.commit("deploy/web.yaml", &manifest(3), "Run three replicas");
        assert_eq!(send("x-hub-signature-256", "sha256=00", "{}").await, 401);
        assert_eq!(send("x-gitlab-token", "another", "{}").await, 401);
        assert_eq!(send("x-other", "", "{}").await, 401);
        assert_eq!(send("x-hub-signature-256", valid, "{ }").await, 401);
        assert_eq!(replicas(&fleet, 0), 2);
        assert_eq!(send("x-hub-signature-256", valid, "{}").await, 202);
        wait_for_replicas(&fleet, &[0, 1, 2], 3).await;
        server.commit("deploy/web.yaml", &manifest(4), "Run four replicas");
        assert_eq!(send("x-gitlab-token", secret, "anything").await, 202);
        wait_for_replicas(&fleet, &[0, 1, 2], 4).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g122_credentials_are_bound_to_their_server_and_never_shown_again() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        server.require("Basic Z2l0OnMzY3JldA==");
        let fleet = git_fleet().await;
        let new = git_workload(&server, OnNewCommit::Draft);
        let problems = find_problems(&fleet, &new).await;
        assert!(problems.iter().any(|(code, text)| code == "G122" && text.contains("401")), "{problems:?}");
        let login = GitCredentials::basic("git", "s3cret");
        let put =
            GitRepositoryPut { url: server.url(), credentials: Some(login), ..GitRepositoryPut::default() };
        fleet.client.put_git_repository("deploy", &put).await.unwrap();
        publish(&fleet, &new).await;
        let listed = fleet.client.list_git_repositories().await.unwrap();
        assert_eq!((listed[0].user_name.as_str(), listed.len()), ("git", 1));
        let events = fleet.client.list_events(&EventQuery::default()).await.unwrap();
        assert!(!format!("{listed:?} {events:?}").contains("s3cret"));
        // Without the secret, the URL can't be changed to another server.
        let elsewhere =
            GitRepositoryPut { url: "https://evil.test/a.git".into(), ..GitRepositoryPut::default() };
        let refused = fleet.client.put_git_repository("deploy", &elsewhere).await.unwrap_err();
        assert!(refused.to_string().contains("another server"), "{refused}");
        let kept = GitRepositoryPut { url: server.url(), ..GitRepositoryPut::default() };
        fleet.client.put_git_repository("deploy", &kept).await.unwrap();
        assert_eq!(fleet.client.check_git_source("web").await.unwrap().status.failure, None);
        fleet.client.remove_git_repository("deploy").await.unwrap();
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert!(status.status.failure.unwrap().message.contains("401"));
        fleet.stop().await;
    }))
    .await;
}

/// A host with repositories that are down, and whose responses never end from then on that the flag is set.
async fn slow_host() -> (HttpServer, Arc<std::sync::atomic::AtomicBool>) {
    let is_slow = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let state = is_slow.clone();
    let server = HttpServer::start(move |_, _| match state.load(Ordering::SeqCst) {
        true => HttpResponse::unfinished(),
        false => HttpResponse::status(503),
    });
    (server.await, is_slow)
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_branch_is_followed_while_more_refs_of_a_slow_host_are_due_than_are_checked_at_once() {
    const SLOW_REFS: usize = 40;
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let (slow, is_slow) = slow_host().await;
        for n in 0..SLOW_REFS {
            let mut new = git_workload(&server, OnNewCommit::Draft);
            new.name = format!("slow-{n}");
            if let Source::Git(source) = &mut new.spec.source {
                source.repository = slow.url(&format!("/team/deploy-{n}.git"));
            }
            fleet.client.create_workload(&new).await.unwrap();
        }
        publish(&fleet, &git_workload(&server, OnNewCommit::All)).await;
        server.commit("deploy/web.yaml", &manifest(3), "Run three replicas");
        is_slow.store(true, Ordering::SeqCst);
        let before = slow.requests().len();
        // All are due, the slow ones first.
        let make_due = format!(
            "UPDATE git_ref SET next_check_at = CASE WHEN url = '{}' THEN 1 ELSE 0 END",
            server.url()
        );
        fleet.open_database().await.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(make_due))).await.unwrap();
        wait_for_replicas(&fleet, &[0, 1, 2], 3).await;
        let requested = slow.requests().len() - before;
        assert!(requested < SLOW_REFS, "it waited for {requested} refs of the slow host");
    }))
    .await;
}
