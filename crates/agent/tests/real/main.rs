//! End-to-end test with real processes: the server, three control planes with simulated nodes, an agent for each, and the
//! command line. They communicate as in production: over HTTPS, with the RBAC rules of the printed manifest.
//!
//! All steps share the clusters, because starting them takes most of the time.

mod failures;
mod lifecycle;
mod outages;
mod permissions;
mod test_cluster;
mod test_hub;
mod waits;

use test_cluster::TestCluster;
use test_hub::{TestHub, wait_until};

/// The hub and its three clusters.
pub struct TestFleet {
    /// The hub.
    pub hub: TestHub,
    /// An agent that may write in one namespace.
    pub namespaced: TestCluster,
    /// An agent that may write everywhere.
    pub cluster_wide: TestCluster,
    /// An agent that impersonates another account.
    pub impersonating: TestCluster,
}

/// The names of all clusters.
pub const CLUSTER_NAMES: [&str; 3] = ["eu-1", "eu-2", "us-1"];

impl TestFleet {
    async fn start() -> Self {
        let (hub, mut narrow, mut wide, mut acting) = tokio::join!(
            TestHub::start(),
            TestCluster::start(CLUSTER_NAMES[0]),
            TestCluster::start(CLUSTER_NAMES[1]),
            TestCluster::start(CLUSTER_NAMES[2])
        );
        narrow.plane.create_namespace("shop").await;
        narrow.join_hub(&hub, &["--namespaces", "shop"]).await;
        wide.join_hub(&hub, &["--cluster-wide"]).await;
        for namespace in ["shop", "deploy"] {
            acting.plane.create_namespace(namespace).await;
        }
        acting.kubectl(&["create", "serviceaccount", "deployer", "-n", "deploy"]).await;
        let edit = ["create", "clusterrolebinding", "deployer", "--clusterrole=edit"];
        acting.kubectl(&[&edit[..], &["--serviceaccount=deploy:deployer"]].concat()).await;
        acting.join_hub(&hub, &["--impersonate", "deploy/deployer"]).await;
        let fleet = Self { hub, namespaced: narrow, cluster_wide: wide, impersonating: acting };
        for member in fleet.clusters() {
            let has_joined = async || {
                let response = fleet.hub.client.get_cluster(member.name).await;
                response.is_ok_and(|summary| summary.cluster.facts.nodes == Some(3))
            };
            wait_until(|| async { member.log_tail() }, has_joined).await;
        }
        fleet
    }

    fn clusters(&self) -> [&TestCluster; 3] {
        [&self.namespaced, &self.cluster_wide, &self.impersonating]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_real_clusters_join_run_workloads_recover_from_failures_and_are_left_clean() {
    if !testkit::is_available(
        "three_real_clusters_join_run_workloads_recover_from_failures_and_are_left_clean",
    ) {
        return;
    }
    let fleet = Box::pin(TestFleet::start()).await;
    let open_files = fleet.impersonating.open_file_count();
    lifecycle::s0_9_an_applied_and_published_workload_becomes_healthy_on_every_real_cluster(&fleet).await;
    lifecycle::e_2_a_plan_after_the_publish_is_a_no_op(&fleet).await;
    lifecycle::s3_8_kubectl_shows_what_is_applied(&fleet).await;
    failures::p25_a_deleted_deployment_is_recreated_and_reported(&fleet).await;
    outages::p3_p4_a_restarted_agent_restores_a_deleted_namespace_and_skips_intermediate_revisions(&fleet)
        .await;
    outages::p7_p8_an_agent_restarted_without_its_hub_heals_from_its_cache(&fleet).await;
    outages::p1_a_report_is_recorded_once_by_a_hub_killed_after_the_commit(&fleet).await;
    failures::p12_a_hanging_api_server_delays_no_other_cluster(&fleet).await;
    failures::p17_a_remaining_finalizer_is_reported_and_blocks_no_other_workload(&fleet).await;
    waits::c1_a_claim_without_a_consumer_ends_a_wait_and_one_without_a_volume_does_not(&fleet).await;
    waits::s2_2_a_cron_job_that_its_own_manifest_suspends_holds_no_wave(&fleet).await;
    waits::s2_2_a_wait_goes_on_while_the_deployment_of_a_canary_is_paused_by_hand(&fleet).await;
    waits::s2_2_a_wait_goes_on_while_the_stateful_set_of_a_canary_updates_on_delete(&fleet).await;
    waits::s2_2_a_wait_goes_on_while_a_partition_or_an_update_on_delete_holds_the_pods_of_a_canary(&fleet)
        .await;
    lifecycle::s3_11_deleted_workloads_leave_nothing_behind(&fleet).await;
    failures::p30_failures_leak_no_file_descriptors_of_the_agent(&fleet, open_files).await;
    permissions::the_printed_rbac_rules_are_sufficient(&fleet).await;
    permissions::the_printed_rbac_rules_are_minimal(&fleet).await;
}
