//! What goes wrong on clusters: objects deleted by others, an API server that hangs, a finalizer that nobody removes.

use domain::release::{StageName, State};

use crate::away::config_map;
use crate::house::until;
use crate::{ALL, World};

/// P25, S0-12.
pub async fn p25_a_deleted_deployment_is_made_again_and_named(world: &World) {
    let member = &world.acting;
    let before = member.field("shop", "deployment/api", ".metadata.uid").await;
    member.kubectl(&["delete", "deployment", "api", "-n", "shop"]).await;
    let anew = |uid: &str| !uid.is_empty() && uid != before;
    member.until_field(("shop", "deployment/api", ".metadata.uid"), anew).await;
    member.until_field(("shop", "deployment/api", ".status.availableReplicas"), |ready| ready == "2").await;
    let parts = ["Deployment shop/api was deleted on us-1", "put back"];
    let what = || async { format!("told: {:?}", world.house.events_with(&["api"]).await) };
    until(what, async || world.house.events_with(&parts).await.len() == 1).await;
    world.house.until_state("three-tier", &ALL, State::Healthy).await;
}

/// P12: the API server of one cluster takes connections and answers nothing.
pub async fn p12_an_api_server_that_hangs_delays_nobody_else(world: &World) {
    let (house, slow) = (&world.house, &world.acting);
    slow.plane.pause();
    let object = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "f", "namespace": "shop"}, "data": {"value": "1"}});
    house.publish("f", &object, &ALL).await;
    house.until_state("f", &ALL[..2], State::Healthy).await;
    let there = house.target("f", slow.name).await.unwrap();
    assert!(!matches!(there.state, State::Healthy | State::Failed), "{there:#?}");
    slow.plane.resume();
    house.until_state("f", &ALL, State::Healthy).await;
}

/// P17, S3-12: a deletion that is held says by what and since when; a workload published after it is not held.
pub async fn p17_a_finalizer_that_nobody_removes_is_named_and_holds_up_nothing_else(world: &World) {
    let (house, member) = (&world.house, &world.wide);
    let hold = |finalizers: &str| format!("{{\"metadata\":{{\"finalizers\":{finalizers}}}}}");
    let patch = async |text: &str| {
        member.kubectl(&["patch", "configmap", "c", "-n", "lab", "--type=merge", "-p", text]).await;
    };
    patch(&hold("[\"example.com/hold\"]")).await;
    house.delete("c").await;
    let held = async || {
        let target = house.target("c", member.name).await?;
        let trouble = target.stages.get(StageName::Pruned).state.trouble()?.clone();
        (trouble.reason == "FinalizerPending").then_some((target, trouble))
    };
    let what = || async { format!("{:#?}\n{}", house.target("c", member.name).await, member.last_words()) };
    until(what, async || held().await.is_some()).await;
    let (before, trouble) = held().await.unwrap();
    assert!(trouble.message.contains("ConfigMap lab/c"), "{}", trouble.message);
    assert!(trouble.message.contains("finalizer example.com/hold"), "{}", trouble.message);
    assert_eq!(before.state, State::Terminating);

    house.publish("g", &config_map("g", "1"), &[member.name]).await;
    house.until_state("g", &[member.name], State::Healthy).await;
    let still = house.target("c", member.name).await.unwrap();
    assert_eq!((still.state, still.state_since), (State::Terminating, before.state_since), "its age goes on");
    assert_ne!(member.field("lab", "configmap/c", ".metadata.deletionTimestamp").await, "");
    patch(&hold("null")).await;
    house.until_forgotten("c").await;
}

/// P30: this agent was never started anew; connections that broke meanwhile are closed, watches that ended are gone.
pub async fn p30_an_agent_that_went_through_all_of_it_has_no_more_open_than_before(
    world: &World,
    before: usize,
) {
    let open = || world.acting.open_files();
    // As many as it asked for at once stay open for a while after the last question.
    until(|| async { format!("{before} open before, {} now", open()) }, async || open() <= before + 12).await;
}
