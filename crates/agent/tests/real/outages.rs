//! The agent, the hub, or both are down.

use domain::release::ReleaseState;
use serde_json::{Value, json};
use wire::{PublishRequest, RemovalOptions};

use crate::test_hub::wait_until;
use crate::{CLUSTER_NAMES, TestFleet};

pub fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "lab"},
        "data": {"value": value}})
}

/// A Deployment, whose generation counts every change applied to it.
fn deployment(replicas: u32) -> Value {
    let labels = json!({"app": "a"});
    let container = json!({"name": "web", "image": "docker.io/library/nginx:1.29.3",
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}}});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "lab"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}})
}

/// P3, P4, S3-9: while the agent is stopped, A is updated twice, B deleted, C created, D unpublished and published again, E
/// deleted and its object given to another workload, and a namespace deleted.
pub async fn p3_p4_a_restarted_agent_restores_a_deleted_namespace_and_skips_intermediate_revisions(
    fleet: &TestFleet,
) {
    let (hub, member) = (&fleet.hub, &fleet.cluster_wide);
    let here = [member.name];
    hub.publish_object("a", &deployment(1), &here).await;
    for name in ["b", "d", "e"] {
        hub.publish_object(name, &config_map(name, "1"), &here).await;
    }
    for name in ["a", "b", "d", "e"] {
        hub.wait_for_state(name, &here, ReleaseState::Healthy).await;
    }
    let uid = async |object: &str| member.field("lab", object, ".metadata.uid").await;
    let (former, shop) =
        (uid("configmap/e").await, member.field("", "namespace/shop", ".metadata.uid").await);
    member.stop_agent().await;

    member.kubectl(&["delete", "namespace", "shop"]).await;
    hub.publish_object("a", &deployment(2), &here).await;
    hub.publish_object("a", &deployment(3), &here).await;
    hub.delete_workload("b").await;
    hub.publish_object("c", &config_map("c", "1"), &here).await;
    hub.client.unpublish_workload("d", &RemovalOptions::default()).await.unwrap();
    hub.client.publish_workload("d", &PublishRequest::default(), None).await.unwrap();
    hub.delete_workload("e").await;
    hub.publish_object("e-anew", &config_map("e", "2"), &here).await;
    assert_eq!(member.field("lab", "deployment/a", ".spec.replicas").await, "1", "no agent is running");

    member.start_agent();
    for name in ["a", "c", "d", "e-anew", "three-tier"] {
        hub.wait_for_state(name, &here, ReleaseState::Healthy).await;
    }
    for name in ["b", "e"] {
        hub.wait_for_deletion(name).await;
    }
    let replicas = "{.spec.replicas} at generation {.metadata.generation}";
    let a =
        member.kubectl(&["get", "deployment", "a", "-n", "lab", "-o", &format!("jsonpath={replicas}")]).await;
    assert_eq!(a, "3 at generation 2", "the intermediate revision was never applied");
    assert_eq!(uid("configmap/b").await, "");
    assert_eq!(member.field("lab", "configmap/c", ".data.value").await, "1");
    assert_eq!(member.field("lab", "configmap/d", ".data.value").await, "1");
    assert_eq!(member.field("lab", "configmap/e", ".data.value").await, "2");
    assert_ne!(uid("configmap/e").await, former, "it was deleted and re-created");
    assert_ne!(member.field("", "namespace/shop", ".metadata.uid").await, shop);
    assert_eq!(member.ready_pod_count("shop").await, 5);
}

/// P7, P8: a restarted agent restores a deleted object from the desired state in its Secrets while the hub is down.
pub async fn p7_p8_an_agent_restarted_without_its_hub_heals_from_its_cache(fleet: &TestFleet) {
    let member = &fleet.namespaced;
    fleet.hub.kill().await;
    member.kill_agent().await;
    member.kubectl(&["delete", "deployment", "web", "-n", "shop"]).await;
    member.start_agent();
    member
        .wait_for_field(("shop", "deployment/web", ".status.availableReplicas"), |ready| ready == "2")
        .await;
}

/// P1, P6: the hub is killed after it committed a report and before it responded: the report is sent again and recorded
/// once.
pub async fn p1_a_report_is_recorded_once_by_a_hub_killed_after_the_commit(fleet: &TestFleet) {
    let hub = &fleet.hub;
    hub.restart("report.after_commit").await;
    hub.wait_for_exit().await;
    hub.restart("").await;
    let parts = ["Deployment shop/web", CLUSTER_NAMES[0]];
    let state = || async {
        format!("{:?}\n{}", hub.events_containing(&["shop/web"]).await, fleet.namespaced.log_tail())
    };
    wait_until(state, async || !hub.events_containing(&parts).await.is_empty()).await;
    hub.wait_for_state("three-tier", &CLUSTER_NAMES, ReleaseState::Healthy).await;
    let events = hub.events_containing(&parts).await;
    assert_eq!(events.len(), 1, "{events:?}");
}
