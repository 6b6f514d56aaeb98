//! The loop of the hub for a published workload: from the publish to its end, with a visible state, and health that is checked for ever.

use domain::page::ListQuery;
use domain::workload::WorkloadPhase;

use super::*;

const IMAGE: &str = "docker.io/library/nginx:1.29.3";
const POD: (&str, &str) = ("v1", "Pod");

impl TestFleet {
    /// Deletes the pods of `web` on the first cluster, so that others are started.
    fn delete_pods(&self) {
        for pod in self.clusters[0].list(POD, Some("apps")) {
            let name = pod["metadata"]["name"].as_str().unwrap();
            // One that is gone by now is as good as deleted.
            let _ = self.clusters[0].delete(POD, ("apps", name));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_5_a_published_workload_is_reconciled_until_it_is_unpublished_and_its_state_is_visible() {
    with_timeout(async {
        let mut fleet = TestFleet::start().await;
        fleet.client.create_workload(&addon_workload(&["one"])).await.unwrap();
        let draft = fleet.client.get_workload_status("web", None).await.unwrap();
        assert!(draft.target_clusters.is_empty(), "a draft is not reconciled: {draft:?}");
        assert_eq!(fleet.client.get_workload("web").await.unwrap().phase, WorkloadPhase::Draft);

        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let status = fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        assert_eq!(fleet.client.get_workload("web").await.unwrap().phase, WorkloadPhase::Published);
        for target in &status.target_clusters {
            assert_eq!(target.revision, Some(1), "{target:?}");
            assert!(target.stages.current().is_none(), "every stage is visible: {target:?}");
        }
        assert!(status.failures.is_empty(), "{status:?}");
        // Nobody requests anything: the loop places it on a cluster that matches later.
        fleet.add_cluster("ap-1").await;
        fleet.wait_for_web(|status| status.counts.healthy() == 4).await;

        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        fleet.wait_for_web(|status| status.counts.count(ReleaseState::Removed) == 4).await;
        fleet.add_cluster("ap-2").await;
        // Another workload shows that the cluster was placed on: the loop of this one has ended.
        let probe = NewWorkload { name: "probe".to_owned(), ..addon_workload(&["probe"]) };
        fleet.client.create_workload(&probe).await.unwrap();
        fleet.client.publish_workload("probe", &PublishRequest::default(), None).await.unwrap();
        let is_probed = async || {
            let status = fleet.client.get_workload_status("probe", None).await.unwrap();
            status.counts.healthy() == 5
        };
        fleet.wait_until(is_probed).await;
        let ended = fleet.client.get_workload_status("web", None).await.unwrap();
        assert!(ended.target_clusters.iter().all(|target| target.cluster_name != "ap-2"), "{ended:?}");
        assert_eq!(ended.counts.count(ReleaseState::Removed), 4);
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_11_health_is_checked_after_success_until_the_workload_is_unpublished() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        fleet.client.create_workload(&web_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        // Twice: the first recovery is not the end.
        for _ in 0..2 {
            fleet.clusters[0].faults().fail_pulls_of(IMAGE);
            fleet.delete_pods();
            let failing = fleet.wait_for_web(|status| status.counts.healthy() == 2).await;
            let target = failing.target_clusters.iter().find(|target| target.cluster_name == "eu-1").unwrap();
            assert!(!target.health.status.is_operational(), "{target:?}");
            let is_explained = |status: &WorkloadStatus| {
                status.target_clusters.iter().any(|target| target.message.contains("nginx:1.29.3"))
            };
            fleet.wait_for_web(is_explained).await;
            fleet.clusters[0].faults().restore_image(IMAGE);
            fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        }
        let operations = fleet.client.list_operations("web", &ListQuery::default()).await.unwrap();
        assert_eq!(operations.items.len(), 1, "nothing was requested after the publish");
        assert_eq!(fleet.client.get_workload("web").await.unwrap().workload.published, Some(1));
        fleet.stop().await;
    })
    .await;
}
