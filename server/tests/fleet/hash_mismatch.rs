//! Content that is not the one that a revision was published with is never used: what runs stays, with the reason `HashMismatch` (S4-9).

use domain::release::Reason;
use domain::remote::OnNewCommit;
use sqlx::{AssertSqlSafe, Executor as _};
use wire::ValidateRequest;

use super::chart_options::set_label;
use super::chart_repositories::{
    HAS_OTHER_CONTENT, TestRepository, WORKS, fleet_with_repositories, new_repository, workload_of,
};
use super::charts::{chart, chart_workload, fleet_with_helm, set_helm, values_of};
use super::git_sources::{git_fleet, git_workload, manifest, publish, replicas, repository};
use super::*;

/// On how many clusters a stage has the reason.
fn count_mismatches(status: &WorkloadStatus) -> usize {
    let has_reason = |target: &&wire::TargetCluster| {
        let mut reasons = target.stages.iter().filter_map(|stage| stage.state.reason());
        reasons.any(|reason| reason.reason == Reason::HashMismatch)
    };
    status.target_clusters.iter().filter(has_reason).count()
}

/// Values that need a rendering of their own for each label `tier`.
const VALUES_BY_TIER: &str = "region: ${{ cluster.labels.tier | default(\"none\") }}\n";

async fn lose_archive(fleet: &TestFleet) {
    let statement = "DELETE FROM artifact WHERE digest IN (SELECT digest FROM chart)";
    let deleted = fleet.open_database().await.execute(statement).await.unwrap();
    assert_eq!(deleted.rows_affected(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_8_s4_9_a_lost_chart_that_its_repository_has_with_other_content_changes_nothing() {
    with_timeout(Box::pin(async {
        let repository = TestRepository::start().await;
        let fleet = fleet_with_repositories().await;
        set_helm(&fleet).await;
        fleet.client.create_chart_repository(&new_repository(&repository.url())).await.unwrap();
        let mut new = workload_of("1.0.0");
        let Source::Chart(source) = &mut new.spec.source else { panic!("no chart") };
        source.values = VALUES_BY_TIER.to_owned();
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        lose_archive(&fleet).await;
        repository.set(HAS_OTHER_CONTENT);
        set_label(&fleet, "eu-1", "gold").await;
        fleet.wait_for_web(|status| count_mismatches(status) == 1).await;
        for cluster in 0..3 {
            let values = values_of(&fleet, cluster);
            assert_eq!((&values["chart"], &values["region"]), (&json!("1.0.0"), &json!("none")), "{cluster}");
        }
        repository.set(WORKS);
        set_label(&fleet, "eu-2", "silver").await;
        let is_current = |status: &WorkloadStatus| {
            status.counts.healthy() == 3
                && values_of(&fleet, 0)["region"] == "gold"
                && values_of(&fleet, 1)["region"] == "silver"
        };
        fleet.wait_for_web(is_current).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_8_an_uploaded_chart_whose_archive_is_lost_is_named_and_is_there_again_after_the_same_upload() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        let new = chart_workload("1.0.0", VALUES_BY_TIER);
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        lose_archive(&fleet).await;
        set_label(&fleet, "eu-1", "gold").await;
        let request = ValidateRequest { name: "web".into(), spec: new.spec };
        let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
        let lost = findings.iter().find(|found| found.code == "G112").unwrap();
        assert!(lost.message.contains("has lost the archive of local/web 1.0.0"), "{}", lost.message);
        assert!(lost.hint.starts_with("Upload the same archive again"), "{}", lost.hint);
        assert_eq!(values_of(&fleet, 0)["region"], "none", "what runs is not touched");

        fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        set_label(&fleet, "eu-2", "silver").await;
        let is_current = |status: &WorkloadStatus| {
            status.counts.healthy() == 3
                && values_of(&fleet, 0)["region"] == "gold"
                && values_of(&fleet, 1)["region"] == "silver"
        };
        fleet.wait_for_web(is_current).await;
        fleet.stop().await;
    }))
    .await;
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
        let mut database = fleet.open_database().await;
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
