//! Of two deletions of one thing that come at once, one succeeds, and the other one is answered as if it came later: the thing is gone. On
//! SQLite, and on PostgreSQL with one and with two servers.

use std::fmt::Debug;

use domain::chart_repository::NewChartRepository;
use domain::cluster::ClusterKind;
use domain::git_repository::GitRepositoryPut;
use domain::overrides::ClusterSelector;
use domain::placement::ClusterGroup;
use domain::request::{OverridePut, RemovalOptions};
use hub::{Actor, Error, Hub, NewCluster, OverrideChange, PublishContent, PublishOptions};

use crate::deployments::TEMPLATE;
use crate::helm_chart::pack_chart;
use crate::races::{for_each_setup, workload_of};

/// One of two deletions has succeeded, and the other one has found nothing.
fn check_deleted_once<T: Debug>(what: &str, round: usize, both: (Result<T, Error>, Result<T, Error>)) {
    match both {
        (Ok(_), Err(Error::NotFound { .. })) | (Err(Error::NotFound { .. }), Ok(_)) => {}
        both => panic!("round {round}: {what}: {both:?}"),
    }
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

/// Creates a workload with an override; returns its revision.
async fn create_with_override(hub: &Hub, actor: &Actor, name: &str) -> i64 {
    hub.create_workload(actor, workload_of(name, config_map(name))).await.unwrap();
    let target = ClusterSelector { clusters: vec!["eu".into()], ..ClusterSelector::default() };
    let content = OverridePut { target, ..OverridePut::default() };
    let change = OverrideChange::Save { name: "eu".into(), content };
    hub.change_override(actor, name, change, None).await.unwrap().revision
}

fn remove_override() -> OverrideChange {
    OverrideChange::Remove { name: "eu".into() }
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_removals_of_an_override_at_once_with_one_revision_one_finds_that_it_is_gone() {
    for_each_setup("removed_overrides", async |one, other, rounds| {
        let actor = Actor::system();
        one.register_cluster(&actor, NewCluster::new("eu", ClusterKind::Agent)).await.unwrap();
        for round in rounds {
            let name = format!("draft-{round}");
            let read = Some(create_with_override(one, &actor, &name).await);
            let both = tokio::join!(
                one.change_override(&actor, &name, remove_override(), read),
                other.change_override(&actor, &name, remove_override(), read),
            );
            check_deleted_once("override of a draft", round, both);

            let name = format!("published-{round}");
            create_with_override(one, &actor, &name).await;
            one.publish_workload(&actor, &name, "", PublishOptions::default()).await.unwrap();
            let draft_revision = Some(one.get_workload(&name).await.unwrap().workload.revision);
            let options = || PublishOptions {
                content: PublishContent::Override(remove_override()),
                draft_revision,
                ..PublishOptions::default()
            };
            let both = tokio::join!(
                one.publish_workload(&actor, &name, "", options()),
                other.publish_workload(&actor, &name, "", options()),
            );
            check_deleted_once("published override", round, both);
            let published = one.get_workload(&name).await.unwrap().workload.published;
            assert_eq!(published, Some(2), "round {round}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_deletions_of_a_group_a_cluster_a_chart_or_a_repository_at_once_one_finds_that_it_is_gone()
{
    for_each_setup("deleted_once", async |one, other, rounds| {
        let actor = Actor::system();
        for round in rounds {
            let name = format!("x-{round}");
            let group =
                ClusterGroup { name: name.clone(), members: vec![name.clone()], ..ClusterGroup::default() };
            let read = Some(one.create_group(&actor, group.clone()).await.unwrap().revision);
            let both = tokio::join!(
                one.delete_group_with_deployments(&actor, &name, read),
                other.delete_group_with_deployments(&actor, &name, read),
            );
            check_deleted_once("group of the deployment API", round, both);
            one.create_group(&actor, group).await.unwrap();
            let both = tokio::join!(one.delete_group(&actor, &name), other.delete_group(&actor, &name));
            check_deleted_once("group", round, both);

            one.register_cluster(&actor, NewCluster::new(&name, ClusterKind::Agent)).await.unwrap();
            let both = tokio::join!(
                one.delete_cluster(&actor, &name, false),
                other.delete_cluster(&actor, &name, false),
            );
            check_deleted_once("cluster", round, both);

            let url = format!("https://git.test/acme/{name}");
            let new =
                NewChartRepository { name: name.clone(), url: url.clone(), ..NewChartRepository::default() };
            one.create_chart_repository(&actor, new).await.unwrap();
            let both = tokio::join!(
                one.remove_chart_repository(&actor, &name),
                other.remove_chart_repository(&actor, &name),
            );
            check_deleted_once("chart repository", round, both);

            one.upload_chart(&actor, pack_chart(TEMPLATE)).await.unwrap();
            let both = tokio::join!(
                one.delete_chart(&actor, "local", "web", "1.0.0"),
                other.delete_chart(&actor, "local", "web", "1.0.0"),
            );
            check_deleted_once("chart", round, both);

            let put = GitRepositoryPut { url, ..GitRepositoryPut::default() };
            one.save_git_repository(&actor, &name, put, None).await.unwrap();
            let both = tokio::join!(
                one.remove_git_repository(&actor, &name),
                other.remove_git_repository(&actor, &name),
            );
            check_deleted_once("Git repository", round, both);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_deletions_of_a_workload_at_once_one_finds_that_it_is_being_deleted() {
    for_each_setup("deleted_workload", async |one, other, rounds| {
        let actor = Actor::system();
        for round in rounds {
            let name = format!("web-{round}");
            one.create_workload(&actor, workload_of(&name, config_map(&name))).await.unwrap();
            let both = tokio::join!(
                one.delete_workload(&actor, &name, RemovalOptions::default()),
                other.delete_workload(&actor, &name, RemovalOptions::default()),
            );
            match both {
                (Ok(_), Err(Error::FailedPrecondition(why)))
                | (Err(Error::FailedPrecondition(why)), Ok(_)) => {
                    assert!(why.to_string().contains("already being deleted"), "{why}");
                }
                both => panic!("round {round}: {both:?}"),
            }
        }
    })
    .await;
}
