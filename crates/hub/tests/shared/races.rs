//! Rules over several rows hold when two requests come at once (docs/consistency.md): on SQLite, and on PostgreSQL with one and with two
//! servers. Rules without a test here are in the scenarios of `flotilla-bench races`.

use std::time::Duration;

use domain::chart_repository::NewChartRepository;
use domain::cluster::{ClusterFacts, ClusterKind};
use domain::git_repository::GitRepositoryPut;
use domain::join::NewJoinToken;
use domain::page::ListQuery;
use domain::placement::ClusterGroup;
use domain::rollout::RolloutStrategy;
use domain::workload::{NewWorkload, Source};
use hub::{
    Actor, Authority, Clock, Error, Hub, JoinRequest, NewCluster, PublishContent, PublishOptions,
    RegistrationResult, WorkloadEdit,
};

use crate::{RACE_ROUNDS, create_database, new_workload, open_server};

/// Runs a test with one server on SQLite, and with one and with two servers on PostgreSQL. Its rounds are numbered differently each time.
pub(crate) async fn for_each_setup(name: &str, test: impl AsyncFn(&Hub, &Hub, std::ops::Range<usize>)) {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = format!("sqlite://{}", folder.path().join("flotilla.db").display());
    let only = open_server(&sqlite, 0).await;
    Box::pin(test(&only, &only, 0..RACE_ROUNDS)).await;
    only.close().await;
    let Some(database) = create_database(name).await else { return };
    let (one, other) = (open_server(&database, 0).await, open_server(&database, 0).await);
    Box::pin(test(&one, &one, 0..RACE_ROUNDS)).await;
    Box::pin(test(&one, &other, RACE_ROUNDS..2 * RACE_ROUNDS)).await;
}

pub(crate) fn workload_of(name: &str, text: String) -> NewWorkload {
    let mut workload = new_workload(name);
    let Source::Yaml { files } = &mut workload.spec.source else { unreachable!() };
    files[0].text = text;
    workload.spec.rollout = RolloutStrategy::default();
    workload
}

/// One of two requests has added a repository, and the other one is refused because of it.
fn check_refused_repository(round: usize, first: Result<String, Error>, second: Result<String, Error>) {
    let (added, refused) = match (first, second) {
        (Ok(added), Err(refused)) | (Err(refused), Ok(added)) => (added, refused),
        both => panic!("round {round}: {both:?}"),
    };
    match refused {
        Error::AlreadyExists(message) => {
            assert!(message.contains(&format!("{added:?} has the same URL")), "{message}");
        }
        refused => panic!("round {round}: {refused:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_repositories_that_are_added_at_once_with_one_url_one_is_refused_and_names_the_other() {
    for_each_setup("repository_urls", async |one, other, rounds| {
        let actor = Actor::system();
        for round in rounds {
            let url = format!("https://git.test/acme/deploy-{round}");
            let put = async |hub: &Hub, name: &str, end: &str| {
                let put = GitRepositoryPut { url: format!("{url}{end}"), ..GitRepositoryPut::default() };
                let saved = hub.save_git_repository(&actor, &format!("{name}-{round}"), put, None).await;
                saved.map(|repository| repository.name)
            };
            let (first, second) = tokio::join!(put(one, "a", ""), put(other, "b", ".git"));
            check_refused_repository(round, first, second);
            let add = async |hub: &Hub, name: &str, end: &str| {
                let name = format!("{name}-{round}");
                let new =
                    NewChartRepository { name, url: format!("{url}{end}"), ..NewChartRepository::default() };
                hub.create_chart_repository(&actor, new).await.map(|repository| repository.name)
            };
            let (first, second) = tokio::join!(add(one, "a", ""), add(other, "b", "/"));
            check_refused_repository(round, first, second);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_a_group_that_is_deleted_while_a_workload_is_published_to_it_leaves_no_published_workload() {
    for_each_setup("deleted_group", async |one, other, rounds| {
        let actor = Actor::system();
        one.register_cluster(&actor, NewCluster::new("alive", ClusterKind::Agent)).await.unwrap();
        for round in rounds {
            let (group, name) = (format!("group-{round}"), format!("web-{round}"));
            let members = vec!["alive".to_owned()];
            let new =
                ClusterGroup { name: group.clone(), members: members.clone(), ..ClusterGroup::default() };
            one.create_group(&actor, new).await.unwrap();
            let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
            let mut workload = workload_of(&name, text);
            workload.spec.placement.predicates[0].names = members;
            let edit = WorkloadEdit { spec: Some(workload.spec.clone()), ..WorkloadEdit::default() };
            workload.spec.placement.predicates[0].groups = vec![group.clone()];
            one.create_workload(&actor, workload).await.unwrap();
            let options = PublishOptions::default;
            let first = one.publish_workload(&actor, &name, "", options()).await.unwrap().revision;
            // Neither the draft nor the published revision names the group, so that only the lock of the publish decides.
            one.edit_workload(&actor, &name, edit, None).await.unwrap();
            one.publish_workload(&actor, &name, "", options()).await.unwrap();
            let again = PublishOptions { content: PublishContent::Revision(first), ..options() };
            let publish = one.publish_workload(&actor, &name, "", again);
            let delete = async {
                tokio::time::sleep(Duration::from_millis(3 * (round % RACE_ROUNDS) as u64)).await;
                other.delete_group(&actor, &group).await
            };
            let (published, deleted) = tokio::join!(publish, delete);
            assert!(
                published.is_err() || deleted.is_err(),
                "round {round}: {name} is published to a group that does not exist"
            );
            assert!(published.is_ok() || deleted.is_ok(), "round {round}: {published:?} {deleted:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_a_cluster_that_is_deleted_while_a_workload_is_placed_on_it_has_no_release() {
    for_each_setup("deleted_cluster", async |one, other, rounds| {
        let actor = Actor::system();
        let loops = other.spawn_loops();
        for round in rounds {
            let (cluster, name) = (format!("c-{round}"), format!("web-{round}"));
            one.register_cluster(&actor, NewCluster::new(&cluster, ClusterKind::Agent)).await.unwrap();
            let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
            let mut workload = workload_of(&name, text);
            workload.spec.placement.predicates[0].names = vec![cluster.clone()];
            one.create_workload(&actor, workload).await.unwrap();
            let delete = async {
                tokio::time::sleep(Duration::from_millis(5 * (round % RACE_ROUNDS) as u64)).await;
                other.delete_cluster(&actor, &cluster, false).await
            };
            let publish = one.publish_workload(&actor, &name, "", PublishOptions::default());
            let (published, deleted) = tokio::join!(publish, delete);
            if let Err(error) = &published {
                assert!(
                    matches!(error, Error::Invalid(_) | Error::FailedPrecondition(_)),
                    "round {round}: {error:?}"
                );
            }
            match deleted {
                Ok(()) => {
                    let releases = one.list_releases(&name, &ListQuery::default()).await.unwrap();
                    assert_eq!(releases.total, 0, "round {round}");
                }
                Err(Error::FailedPrecondition(_)) => {
                    one.get_cluster(&cluster).await.unwrap();
                }
                Err(error) => panic!("round {round}: {error:?}"),
            }
        }
        loops.stop().await;
    })
    .await;
}

/// The request of an agent with a token of its own, which accepts automatically.
async fn request_join(hub: &Hub, actor: &Actor, name: &str) -> JoinRequest {
    let new = NewJoinToken { auto_accept: true, ..NewJoinToken::default() };
    let token = hub.create_join_token(actor, new).await.unwrap();
    JoinRequest {
        token: token.id,
        secret: token.secret,
        name: name.to_owned(),
        csr: testkit::create_certificate_request(),
        facts: ClusterFacts::default(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_agents_that_join_at_once_as_one_cluster_one_is_accepted_and_not_replaced_by_the_other() {
    let (authority, _) = Authority::generate(Clock::system()).unwrap();
    for_each_setup("joined_clusters", async |one, other, rounds| {
        let actor = Actor::system();
        for round in rounds {
            let name = format!("c-{round}");
            let first = request_join(one, &actor, &name).await;
            let second = request_join(one, &actor, &name).await;
            let both =
                tokio::join!(one.register_agent(&authority, first), other.register_agent(&authority, second));
            let is_accepted = |result: &Result<RegistrationResult, Error>| {
                matches!(result, Ok(RegistrationResult::Certificate(_)))
            };
            assert!(is_accepted(&both.0) != is_accepted(&both.1), "round {round}: {both:?}");
            one.get_cluster(&name).await.unwrap();
        }
    })
    .await;
}
