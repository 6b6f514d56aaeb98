//! Rules over several rows hold when two requests come at once (docs/consistency.md): on SQLite, and on PostgreSQL with one and with two
//! servers.

use std::time::Duration;

use domain::chart_repository::NewChartRepository;
use domain::cluster::ClusterKind;
use domain::git_repository::GitRepositoryPut;
use domain::page::ListQuery;
use domain::placement::ClusterGroup;
use domain::request::ClusterPatch;
use domain::rollout::RolloutStrategy;
use domain::workload::{Intent, NewWorkload, Source};
use hub::{Actor, Error, Hub, NewCluster, PublishContent, PublishOptions, WorkloadEdit};

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

fn route(host: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: front}}\nspec:\n  rules:\n  - host: {host}\n    \
         http:\n      paths:\n      - {{path: /, pathType: Prefix, backend: {{service: {{name: front, port: {{number: 80}}}}}}}}\n"
    )
}

fn node_port(port: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: front}}\nspec:\n  type: NodePort\n  selector: {{app: front}}\n  \
         ports: [{{port: 80, nodePort: {port}}}]\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_workloads_that_are_published_at_once_with_one_route_or_node_port_one_is_refused() {
    for_each_setup("exposures", async |one, other, rounds| {
        let actor = Actor::system();
        one.register_cluster(&actor, NewCluster::new("eu", ClusterKind::Agent)).await.unwrap();
        for round in rounds {
            let (code, text) = if round % 2 == 0 {
                ("G305", route(&format!("shop-{round}.example.com")))
            } else {
                ("G303", node_port(31_000 + round))
            };
            let names = [format!("a-{round}"), format!("b-{round}")];
            for name in &names {
                one.create_workload(&actor, workload_of(name, text.clone())).await.unwrap();
            }
            let (first, second) = tokio::join!(
                one.publish_workload(&actor, &names[0], "", PublishOptions::default()),
                other.publish_workload(&actor, &names[1], "", PublishOptions::default()),
            );
            let refused: Vec<Error> = [first, second].into_iter().filter_map(Result::err).collect();
            match refused.as_slice() {
                [Error::Invalid(findings)] => {
                    assert!(findings.iter().any(|finding| finding.code == code), "{findings:#?}");
                }
                other => panic!("round {round}: {other:?}"),
            }
            let mut published = 0;
            for name in &names {
                let workload = one.get_workload(name).await.unwrap().workload;
                published += usize::from(workload.intent == Intent::Published);
            }
            assert_eq!(published, 1, "round {round}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_exclusive_groups_that_are_created_at_once_with_one_member_one_is_refused() {
    for_each_setup("exclusive_groups", async |one, other, rounds| {
        let actor = Actor::system();
        for round in rounds {
            let group = |name: &str| ClusterGroup {
                name: format!("{name}-{round}"),
                members: vec![format!("c-{round}")],
                exclusive: true,
                ..ClusterGroup::default()
            };
            let (first, second) =
                tokio::join!(one.create_group(&actor, group("a")), other.create_group(&actor, group("b")));
            let refused: Vec<Error> = [first, second].into_iter().filter_map(Result::err).collect();
            match refused.as_slice() {
                [Error::Invalid(findings)] => assert_eq!(findings[0].code, "G502"),
                other => panic!("round {round}: {other:?}"),
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_labels_and_an_exclusive_group_that_are_saved_at_once_for_one_cluster_one_is_refused() {
    for_each_setup("exclusive_labels", async |one, other, rounds| {
        let actor = Actor::system();
        for round in rounds {
            let value = format!("x{round}");
            let name = format!("c-{round}");
            let labels = [("b".to_owned(), value.clone())].into();
            let new = NewCluster { labels, ..NewCluster::new(&name, ClusterKind::Agent) };
            one.register_cluster(&actor, new).await.unwrap();
            let group = |key: &str| ClusterGroup {
                name: format!("{key}-{round}"),
                selector: Some(format!("{key}={value}").parse().unwrap()),
                exclusive: true,
                ..ClusterGroup::default()
            };
            one.create_group(&actor, group("a")).await.unwrap();
            let labels = [("a".to_owned(), Some(value.clone()))].into();
            let patch = ClusterPatch { labels, ..ClusterPatch::default() };
            let (labelled, created) = tokio::join!(
                one.edit_cluster(&actor, &name, patch, None),
                other.create_group(&actor, group("b")),
            );
            let refused = match (labelled, created) {
                (Ok(_), Err(refused)) | (Err(refused), Ok(_)) => refused,
                both => panic!("round {round}: {both:?}"),
            };
            match refused {
                Error::Invalid(findings) => assert_eq!(findings[0].code, "G502", "round {round}"),
                refused => panic!("round {round}: {refused:?}"),
            }
        }
    })
    .await;
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

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_publishes_of_one_draft_at_once_each_is_a_revision_of_its_own_or_refused() {
    for_each_setup("one_draft", async |one, other, rounds| {
        let actor = Actor::system();
        one.register_cluster(&actor, NewCluster::new("eu", ClusterKind::Agent)).await.unwrap();
        for round in rounds {
            let name = format!("web-{round}");
            let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
            one.create_workload(&actor, workload_of(&name, text)).await.unwrap();
            let (first, second) = tokio::join!(
                one.publish_workload(&actor, &name, "", PublishOptions::default()),
                other.publish_workload(&actor, &name, "", PublishOptions::default()),
            );
            let mut revisions = Vec::new();
            for published in [first, second] {
                match published {
                    Ok(published) => revisions.push(published.revision),
                    Err(Error::RevisionConflict { .. }) => {}
                    Err(error) => panic!("round {round}: {error:?}"),
                }
            }
            revisions.sort_unstable();
            assert!(revisions == [1] || revisions == [1, 2], "round {round}: {revisions:?}");
            let published = one.get_workload(&name).await.unwrap().workload.published;
            assert_eq!(published, revisions.last().copied(), "round {round}");
        }
    })
    .await;
}
