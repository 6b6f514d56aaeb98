//! What is deleted by its age, and what a revision needs and is never deleted: charts, renderings, indexes, contents of commits.

use domain::Digest;
use domain::cluster::Connectivity;
use domain::remote::OnNewCommit;
use sqlx::AssertSqlSafe;
use wire::{RestoreRevisionRequest, ValidateRequest};

use super::chart_repositories::{
    ANNOUNCES_OTHER_CONTENT, IS_DOWN, TestRepository, WORKS, fleet_with_repositories, new_repository,
    workload_of,
};
use super::charts::{chart, set_helm, update_chart, values_of};
use super::git_sources::{git_fleet, git_workload, manifest, publish, repository, wait_for_replicas};
use super::turns::client_of;
use super::*;

const DAY_MILLIS: i64 = 86_400_000;

impl TestFleet {
    /// Advances the clock by days, deletes what has expired, and waits until the clusters are online again.
    async fn delete_expired_after(&mut self, days: i64) {
        self.clock_offset.fetch_add(days * DAY_MILLIS, Ordering::SeqCst);
        for agent in &self.agents {
            self.hub.record_heartbeat(agent.cluster).await.unwrap();
        }
        self.hub.delete_expired_rows(&CancellationToken::new()).await;
        assert!(self.hub.retention_statistics().iter().all(|table| table.failures == 0));
        // The token has expired, too.
        self.client = client_of(self, "ben").await;
        for name in ["eu-1", "eu-2", "us-1"] {
            self.wait_for_connectivity(name, Connectivity::Online).await;
        }
    }

    /// The texts that a statement selects.
    async fn select(&self, statement: &str) -> Vec<String> {
        let mut database = self.open_database().await;
        let query = sqlx::query_scalar::<_, String>(AssertSqlSafe(statement.to_owned()));
        query.fetch_all(&mut database).await.unwrap()
    }

    async fn has_artifact(&self, digest: &str) -> bool {
        !self.select(&format!("SELECT digest FROM artifact WHERE digest = '{digest}'")).await.is_empty()
    }
}

/// Publishes this version of `acme/web` as the next revision.
async fn publish_version(fleet: &TestFleet, version: &str) {
    update_chart(fleet, |spec| spec.source = workload_of(version).spec.source).await;
    fleet
        .wait_for_web(|status| status.counts.healthy() == 3 && values_of(fleet, 2)["chart"] == version)
        .await;
}

const INDEX: &str = "SELECT index_digest FROM chart_repository";
const UNUSED_FILES: &str = "SELECT files_digest FROM chart_rendering WHERE used = 0";
const USED_FILES: &str = "SELECT files_digest FROM chart_rendering WHERE used = 1";

#[tokio::test(flavor = "multi_thread")]
async fn s4_8_charts_and_renderings_of_every_revision_stay_and_what_nothing_names_is_deleted_after_its_time()
{
    with_timeout(Box::pin(async {
        let repository = TestRepository::start().await;
        let mut fleet = fleet_with_repositories().await;
        set_helm(&fleet).await;
        fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        fleet.client.create_workload(&workload_of("1.0.0")).await.unwrap();
        publish_version(&fleet, "1.0.0").await;
        publish_version(&fleet, "1.1.0").await;

        // What nothing names: values that were tried, an index that was replaced, a chart that was deleted.
        let mut tried = workload_of("1.1.0");
        if let Source::Chart(source) = &mut tried.spec.source {
            source.values = "replicas: 9\n".to_owned();
        }
        let request = ValidateRequest { name: "web".into(), spec: tried.spec };
        fleet.client.validate_workload(&request).await.unwrap();
        let mut unnamed = fleet.select(UNUSED_FILES).await;
        assert_eq!(unnamed.len(), 1);
        repository.set(ANNOUNCES_OTHER_CONTENT);
        fleet.client.refresh_chart_repository("acme").await.unwrap();
        unnamed.extend(fleet.select(INDEX).await);
        repository.set(WORKS);
        fleet.client.refresh_chart_repository("acme").await.unwrap();
        let archive = chart("3.0.0", &[]);
        unnamed.push(Digest::compute(&archive).to_string());
        fleet.client.upload_chart(archive).await.unwrap();
        fleet.client.delete_chart("local", "web", "3.0.0").await.unwrap();

        // The draft and the published revision name 1.1.0, the first revision 1.0.0.
        let mut named = fleet.select("SELECT digest FROM chart").await;
        named.extend(fleet.select(USED_FILES).await);
        named.extend(fleet.select(INDEX).await);
        assert_eq!(named.len(), 5, "two charts, a rendering of each, an index");
        fleet.delete_expired_after(1).await;
        for digest in named.iter().chain(&unnamed) {
            assert!(fleet.has_artifact(digest).await, "{digest} is younger than its retention");
        }
        fleet.delete_expired_after(9).await;
        for digest in &named {
            assert!(fleet.has_artifact(digest).await, "{digest} is in use");
        }
        for digest in &unnamed {
            assert!(!fleet.has_artifact(digest).await, "{digest} has expired");
        }

        // The first revision runs again, without its repository and without Helm.
        repository.set(IS_DOWN);
        let renderings = fleet.hub.count_renderings();
        fleet.client.restore_revision("web", &RestoreRevisionRequest { revision: 1 }).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let is_restored = |status: &WorkloadStatus| {
            status.counts.healthy() == 3 && (0..3).all(|n| values_of(&fleet, n)["chart"] == "1.0.0")
        };
        fleet.wait_for_web(is_restored).await;
        assert_eq!(fleet.hub.count_renderings(), renderings);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_8_the_content_of_a_commit_that_a_revision_names_stays_and_that_of_others_is_deleted_after_its_time()
 {
    with_timeout(Box::pin(async {
        let (server, first) = repository().await;
        let mut fleet = git_fleet().await;
        publish(&fleet, &git_workload(&server, OnNewCommit::Draft)).await;
        let mut commits = vec![first];
        for count in [3, 4] {
            let subject = format!("Run {count} replicas");
            commits.push(server.commit("deploy/web.yaml", &manifest(count), &subject));
            fleet.client.check_git_source("web").await.unwrap();
        }
        // The second commit was in the draft, and is in no revision.
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        wait_for_replicas(&fleet, &[0, 1, 2], 4).await;
        let list = "SELECT commit_id FROM git_snapshot";
        let digest_of = async |commit: &str| {
            fleet.select(&format!("SELECT digest FROM git_snapshot WHERE commit_id = '{commit}'")).await
        };
        let skipped = digest_of(commits[1].as_str()).await;
        assert_eq!((fleet.select(list).await.len(), skipped.len()), (3, 1));

        fleet.delete_expired_after(10).await;
        let mut left = fleet.select(list).await;
        left.sort_unstable();
        let mut expected = vec![commits[0].clone(), commits[2].clone()];
        expected.sort_unstable();
        assert_eq!(left, expected);
        assert!(!fleet.has_artifact(&skipped[0]).await);

        // The first revision runs again without its repository.
        server.set_down(true);
        fleet.client.restore_revision("web", &RestoreRevisionRequest { revision: 1 }).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        wait_for_replicas(&fleet, &[0, 1, 2], 2).await;
        fleet.stop().await;
    }))
    .await;
}
