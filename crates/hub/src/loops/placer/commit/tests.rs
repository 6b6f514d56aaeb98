//! What is written, and what is not because it was decided for another state.

use domain::WorkloadId;
use domain::cluster::{ClusterKind, Connectivity};
use domain::placement::{Placement, Predicate};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use store::queue::PLACER;

use super::super::PlacerClaim;
use super::super::decide::{PlacementOutcome, decide_workload};
use super::commit_workload;
use crate::{Actor, Clock, Hub, HubConfig, NewCluster, PublishOptions};

/// Claims the only workload that is due.
async fn claim_workload(hub: &Hub) -> PlacerClaim {
    let now = hub.clock().now();
    let mut tx = hub.write().await.unwrap();
    let due = PLACER.claim(&mut tx, 2, now, now.plus_millis(30_000)).await.unwrap();
    tx.commit().await.unwrap();
    let [(workload, epoch)] = due[..] else { panic!("{due:?}") };
    PlacerClaim { workload, epoch }
}

/// Begins another pass over the workload, up to its decision.
async fn decide_again(hub: &Hub, workload: WorkloadId) -> (PlacerClaim, PlacementOutcome) {
    let mut tx = hub.write().await.unwrap();
    PLACER.mark(&mut tx, &[workload], hub.clock().now()).await.unwrap();
    tx.commit().await.unwrap();
    let claim = claim_workload(hub).await;
    let outcome = decide_workload(hub, claim.workload).await.unwrap().unwrap();
    (claim, outcome)
}

/// A workload that is placed on the cluster `eu`.
async fn placed_workload() -> (tempfile::TempDir, Hub, PlacerClaim) {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
    let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
    let actor = Actor::system();
    hub.register_cluster(&actor, NewCluster::new("eu", ClusterKind::Agent)).await.unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n".to_owned();
    let spec = WorkloadSpec {
        namespace: "default".to_owned(),
        source: Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] },
        placement: Placement { predicates: vec![Predicate::default()], ..Placement::default() },
        ..WorkloadSpec::default()
    };
    let new = NewWorkload { name: "web".to_owned(), spec, ..NewWorkload::default() };
    hub.create_workload(&actor, new).await.unwrap();
    hub.publish_workload(&actor, "web", "", PublishOptions::default()).await.unwrap();
    let claim = claim_workload(&hub).await;
    let outcome = decide_workload(&hub, claim.workload).await.unwrap().unwrap();
    commit_workload(&hub, claim, outcome).await.unwrap();
    assert!(hub.get_release("web", "eu").await.unwrap().release.is_present());
    (folder, hub, claim)
}

#[tokio::test]
async fn s1_8_a_removal_that_is_requested_during_a_pass_is_left_to_the_next_one() {
    let (_folder, hub, claim) = placed_workload().await;
    // The decision changes with another cluster; meanwhile the removal from the first one is requested.
    let us = NewCluster::new("us", ClusterKind::Agent);
    hub.register_cluster(&Actor::system(), us).await.unwrap();
    let (claim, outcome) = decide_again(&hub, claim.workload).await;
    assert!(outcome.decision.is_some());
    let cluster = hub.get_release("web", "eu").await.unwrap().release.cluster();
    let mut tx = hub.write().await.unwrap();
    let now = hub.clock().now();
    store::pending_removal::request(&mut tx, claim.workload, cluster, now).await.unwrap();
    tx.commit().await.unwrap();
    commit_workload(&hub, claim, outcome).await.unwrap();
    let mut tx = hub.read().await.unwrap();
    let pending = store::pending_removal::list(&mut tx, claim.workload).await.unwrap();
    let requested: Vec<_> = pending.iter().map(|one| (one.cluster, one.is_requested)).collect();
    assert_eq!(requested, [(cluster, true)]);
}

#[tokio::test]
async fn e5_a_cluster_that_reconnects_during_a_pass_keeps_the_connectivity_of_its_releases() {
    let (_folder, hub, claim) = placed_workload().await;
    let connectivity = async || hub.get_release("web", "eu").await.unwrap().release.connectivity();
    assert_eq!(connectivity().await, Connectivity::Offline, "it has sent no heartbeat yet");
    let (claim, outcome) = decide_again(&hub, claim.workload).await;
    let cluster = hub.get_cluster("eu").await.unwrap().cluster.id;
    hub.record_heartbeat(cluster).await.unwrap();
    assert_eq!(connectivity().await, Connectivity::Online);
    commit_workload(&hub, claim, outcome).await.unwrap();
    assert_eq!(connectivity().await, Connectivity::Online);
    // The same for the API server: it stops responding after the snapshot.
    let (claim, outcome) = decide_again(&hub, claim.workload).await;
    hub.record_api_server_outage(cluster, "no answer").await.unwrap();
    commit_workload(&hub, claim, outcome).await.unwrap();
    assert_eq!(connectivity().await, Connectivity::Late);
}

#[tokio::test]
async fn p16_a_pass_that_began_before_a_workload_was_unpublished_does_not_apply_it_again() {
    let (_folder, hub, claim) = placed_workload().await;
    let actor = Actor::system();

    // A pass for a change of the fleet decides; the workload is unpublished before it writes.
    let (claim, outcome) = decide_again(&hub, claim.workload).await;
    hub.unpublish_workload(&actor, "web", Default::default()).await.unwrap();
    let removal = hub.get_release("web", "eu").await.unwrap().release;
    commit_workload(&hub, claim, outcome).await.unwrap();
    let release = hub.get_release("web", "eu").await.unwrap().release;
    assert!(!release.is_present());
    assert_eq!(release.generation(), removal.generation(), "the agent gets the removal only");
    claim_workload(&hub).await;
}
