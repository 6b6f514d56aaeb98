//! Content that is not the one that a revision was published with is never used: what runs stays, with the reason `HashMismatch` (S4-9).

use domain::release::Reason;
use domain::remote::OnNewCommit;
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

use super::git_sources::{git_fleet, git_workload, manifest, publish, replicas, repository};
use super::*;

async fn open_database(fleet: &TestFleet) -> SqliteConnection {
    let url = format!("sqlite://{}", fleet.folder.path().join("flotilla.db").display());
    SqliteConnection::connect(&url).await.unwrap()
}

/// On how many clusters a stage has the reason.
fn count_mismatches(status: &WorkloadStatus) -> usize {
    let has_reason = |target: &&wire::TargetCluster| {
        let mut reasons = target.stages.iter().filter_map(|stage| stage.state.reason());
        reasons.any(|reason| reason.reason == Reason::HashMismatch)
    };
    status.target_clusters.iter().filter(has_reason).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_9_a_commit_whose_stored_content_is_another_one_changes_nothing_and_resumes_after_a_repair() {
    with_timeout(Box::pin(async {
        let (server, first) = repository().await;
        let mut fleet = git_fleet().await;
        publish(&fleet, &git_workload(&server, OnNewCommit::Draft)).await;
        let second = server.commit("deploy/web.yaml", &manifest(7), "Run seven replicas");
        fleet.client.check_git_source("web").await.unwrap();
        // The content of the second commit under the name of the first.
        let of_second = |column: &str| {
            format!("(SELECT b.{column} FROM git_snapshot b WHERE b.commit_id = '{second}')")
        };
        let replace = format!(
            "UPDATE git_snapshot SET digest = {}, pinned = REPLACE({}, '{second}', '{first}') WHERE commit_id = '{first}'",
            of_second("digest"),
            of_second("pinned")
        );
        let mut database = open_database(&fleet).await;
        let replaced = sqlx::query(AssertSqlSafe(replace)).execute(&mut database).await.unwrap();
        assert_eq!(replaced.rows_affected(), 1);
        // A new cluster starts a pass of the placer.
        fleet.add_cluster("eu-3").await;
        fleet.wait_for_web(|status| count_mismatches(status) == 3).await;
        for cluster in 0..3 {
            assert_eq!(replicas(&fleet, cluster), 2, "what runs is not touched");
        }
        let delete = format!("DELETE FROM git_snapshot WHERE commit_id = '{first}'");
        sqlx::query(AssertSqlSafe(delete)).execute(&mut database).await.unwrap();
        fleet.add_cluster("eu-4").await;
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && count_mismatches(status) == 0).await;
        assert_eq!(replicas(&fleet, 0), 2);
        fleet.stop().await;
    }))
    .await;
}
