//! Failures on clusters: an object deleted by another user, a hanging API server, a finalizer that is not removed.

use domain::cluster::Connectivity;
use domain::release::{Reason, ReleaseState, StageName};

use crate::outages::config_map;
use crate::test_hub::wait_until;
use crate::{CLUSTER_NAMES, TestFleet};

/// P25, S0-12: drift is healed and reported.
pub async fn p25_a_deleted_deployment_is_recreated_and_reported(fleet: &TestFleet) {
    let member = &fleet.impersonating;
    let before = member.field("shop", "deployment/api", ".metadata.uid").await;
    member.kubectl(&["delete", "deployment", "api", "-n", "shop"]).await;
    let recreated = |uid: &str| !uid.is_empty() && uid != before;
    member.wait_for_field(("shop", "deployment/api", ".metadata.uid"), recreated).await;
    member
        .wait_for_field(("shop", "deployment/api", ".status.availableReplicas"), |ready| ready == "2")
        .await;
    let parts = ["Deployment shop/api was deleted on us-1", "reverted"];
    let what = || async { format!("events: {:?}", fleet.hub.events_containing(&["api"]).await) };
    wait_until(what, async || fleet.hub.events_containing(&parts).await.len() == 1).await;
    fleet.hub.wait_for_state("three-tier", &CLUSTER_NAMES, ReleaseState::Healthy).await;
}

/// P12: the API server of one cluster accepts connections and sends no response.
pub async fn p12_a_hanging_api_server_delays_no_other_cluster(fleet: &TestFleet) {
    let (hub, slow) = (&fleet.hub, &fleet.impersonating);
    slow.plane.pause_api_server();
    let object = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "f", "namespace": "shop"}, "data": {"value": "1"}});
    hub.publish_object("f", &object, &CLUSTER_NAMES).await;
    hub.wait_for_state("f", &CLUSTER_NAMES[..2], ReleaseState::Healthy).await;
    let cluster = async || hub.client.get_cluster(slow.name).await.unwrap().cluster;
    let what = || async { format!("{:#?}\n{}", cluster().await, slow.log_tail()) };
    wait_until(what, async || cluster().await.api_server_outage.is_some()).await;
    assert_ne!(
        cluster().await.connectivity,
        Connectivity::Offline,
        "the outage is known before the lease ends"
    );
    let diagnosis = hub.run_cli(&["diagnose", "cluster", slow.name]).await;
    assert!(diagnosis.stdout.contains("FAIL API server: does not respond"), "{}", diagnosis.stdout);
    assert!(hub.run_cli_ok(&["cluster", "list"]).await.contains("API server down"));
    let target = hub.target_cluster("f", slow.name).await.unwrap();
    assert!(!matches!(target.state, ReleaseState::Healthy | ReleaseState::Failed), "{target:#?}");
    assert_ne!(target.connectivity, Connectivity::Online, "its agent observes nothing of it");
    slow.plane.resume_api_server();
    hub.wait_for_state("f", &CLUSTER_NAMES, ReleaseState::Healthy).await;
    wait_until(what, async || cluster().await.api_server_outage.is_none()).await;
    let reach = async || hub.target_cluster("f", slow.name).await.unwrap().connectivity;
    wait_until(what, async || reach().await == Connectivity::Online).await;
}

/// P17, S3-12: a deletion blocked by a finalizer reports the finalizer and since when it waits; a workload published after
/// it is not blocked.
pub async fn p17_a_remaining_finalizer_is_reported_and_blocks_no_other_workload(fleet: &TestFleet) {
    let (hub, member) = (&fleet.hub, &fleet.cluster_wide);
    let finalizer_patch = |finalizers: &str| format!("{{\"metadata\":{{\"finalizers\":{finalizers}}}}}");
    let patch = async |text: &str| {
        member.kubectl(&["patch", "configmap", "c", "-n", "lab", "--type=merge", "-p", text]).await;
    };
    patch(&finalizer_patch("[\"example.com/hold\"]")).await;
    hub.delete_workload("c").await;
    let blocked = async || {
        let target = hub.target_cluster("c", member.name).await?;
        let reason = target.stages.get(StageName::Pruned).state.reason()?.clone();
        (reason.reason == Reason::FinalizerPending).then_some((target, reason))
    };
    let what =
        || async { format!("{:#?}\n{}", hub.target_cluster("c", member.name).await, member.log_tail()) };
    wait_until(what, async || blocked().await.is_some()).await;
    let (before, reason) = blocked().await.unwrap();
    assert!(reason.message.contains("ConfigMap lab/c"), "{}", reason.message);
    assert!(reason.message.contains("finalizer example.com/hold"), "{}", reason.message);
    assert_eq!(before.state, ReleaseState::Terminating);

    hub.publish_object("g", &config_map("g", "1"), &[member.name]).await;
    hub.wait_for_state("g", &[member.name], ReleaseState::Healthy).await;
    let after = hub.target_cluster("c", member.name).await.unwrap();
    assert_eq!(
        (after.state, after.state_since),
        (ReleaseState::Terminating, before.state_since),
        "same state since then"
    );
    assert_ne!(member.field("lab", "configmap/c", ".metadata.deletionTimestamp").await, "");
    patch(&finalizer_patch("null")).await;
    hub.wait_for_deletion("c").await;
}

/// P30: this agent ran through all steps without a restart; broken connections and ended watches are closed.
pub async fn p30_failures_leak_no_file_descriptors_of_the_agent(fleet: &TestFleet, before: usize) {
    let open = || fleet.impersonating.open_file_count();
    // Connections of concurrent requests stay open in the pool for a while.
    wait_until(|| async { format!("{before} open before, {} now", open()) }, async || open() <= before + 12)
        .await;
}
