//! The agent is away, the hub is away, or both.

use domain::release::State;
use serde_json::{Value, json};
use wire::{PublishRequest, UnpublishRequest};

use crate::house::until;
use crate::{ALL, World};

pub fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "lab"},
        "data": {"value": value}})
}

/// A Deployment, because its generation counts every change that ever reached it.
fn counted(replicas: u32) -> Value {
    let labels = json!({"app": "a"});
    let container = json!({"name": "web", "image": "docker.io/library/nginx:1.29.3",
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}}});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "lab"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}})
}

/// P3, P4, S3-9: A updated twice, B deleted, C created, D taken back and published again, E deleted and its object given to
/// another workload, a namespace wiped; all while the agent is away.
pub async fn p3_p4_an_agent_that_was_away_meets_a_wiped_namespace_and_skips_what_was_in_between(
    world: &World,
) {
    let (house, member) = (&world.house, &world.wide);
    let here = [member.name];
    house.publish("a", &counted(1), &here).await;
    for name in ["b", "d", "e"] {
        house.publish(name, &config_map(name, "1"), &here).await;
    }
    for name in ["a", "b", "d", "e"] {
        house.until_state(name, &here, State::Healthy).await;
    }
    let uid = async |object: &str| member.field("lab", object, ".metadata.uid").await;
    let (former, shop) =
        (uid("configmap/e").await, member.field("", "namespace/shop", ".metadata.uid").await);
    member.stop_agent().await;

    member.kubectl(&["delete", "namespace", "shop"]).await;
    house.publish("a", &counted(2), &here).await;
    house.publish("a", &counted(3), &here).await;
    house.delete("b").await;
    house.publish("c", &config_map("c", "1"), &here).await;
    house.client.workload_unpublish("d", &UnpublishRequest::default()).await.unwrap();
    house.client.workload_publish("d", &PublishRequest::default(), None).await.unwrap();
    house.delete("e").await;
    house.publish("e-anew", &config_map("e", "2"), &here).await;
    assert_eq!(member.field("lab", "deployment/a", ".spec.replicas").await, "1", "nobody is there to do it");

    member.run_agent();
    for name in ["a", "c", "d", "e-anew", "three-tier"] {
        house.until_state(name, &here, State::Healthy).await;
    }
    for name in ["b", "e"] {
        house.until_forgotten(name).await;
    }
    let replicas = "{.spec.replicas} at generation {.metadata.generation}";
    let a =
        member.kubectl(&["get", "deployment", "a", "-n", "lab", "-o", &format!("jsonpath={replicas}")]).await;
    assert_eq!(a, "3 at generation 2", "the revision in between was never applied");
    assert_eq!(uid("configmap/b").await, "");
    assert_eq!(member.field("lab", "configmap/c", ".data.value").await, "1");
    assert_eq!(member.field("lab", "configmap/d", ".data.value").await, "1");
    assert_eq!(member.field("lab", "configmap/e", ".data.value").await, "2");
    assert_ne!(uid("configmap/e").await, former, "it was deleted and made anew");
    assert_ne!(member.field("", "namespace/shop", ".metadata.uid").await, shop);
    assert_eq!(member.ready_pods("shop").await, 5);
}

/// P7, P8: the agent, killed and started again, heals from what it keeps in its Secrets while no hub answers.
pub async fn p7_p8_an_agent_heals_while_hub_and_agent_start_anew(world: &World) {
    let member = &world.narrow;
    world.house.kill().await;
    member.kill_agent().await;
    member.kubectl(&["delete", "deployment", "web", "-n", "shop"]).await;
    member.run_agent();
    member.until_field(("shop", "deployment/web", ".status.availableReplicas"), |ready| ready == "2").await;
}

/// P1, P6: the hub dies when it has stored a report and not yet said so: the report comes again and counts once.
pub async fn p1_a_hub_killed_while_it_takes_a_report_takes_it_once(world: &World) {
    let house = &world.house;
    house.restart("report.after_commit").await;
    house.until_dead().await;
    house.restart("").await;
    let parts = ["Deployment shop/web", ALL[0]];
    let told =
        || async { format!("{:?}\n{}", house.events_with(&["shop/web"]).await, world.narrow.last_words()) };
    until(told, async || !house.events_with(&parts).await.is_empty()).await;
    house.until_state("three-tier", &ALL, State::Healthy).await;
    let told = house.events_with(&parts).await;
    assert_eq!(told.len(), 1, "{told:?}");
}
