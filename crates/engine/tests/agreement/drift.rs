//! Drift: what somebody changed is put back, and told.

use domain::report::DriftOutcome;
use domain::workload::Policies;
use serde_json::json;

use crate::place::*;

async fn settled(place: &Place, objects: Vec<serde_json::Value>) {
    place.wants(objects, Policies::default());
    place.until_operational().await;
    place
        .eventually("recorded", async || {
            place.record().await.is_some_and(|record| record["spec"]["applied"] != "")
        })
        .await;
}

pub async fn s0_12_an_edited_field_is_put_back_and_its_editor_named(place: Place) {
    settled(&place, vec![config_map("settings", "1")]).await;
    place.merge(CONFIG_MAP, "settings", json!({"data": {"key": "2"}}), "kubectl-edit").await;
    place.eventually("told", async || !place.agent.drift().is_empty()).await;
    let note = place.agent.drift().remove(0);
    assert_eq!(note.fields, ["/data/key"]);
    assert_eq!(note.manager, "kubectl-edit");
    assert_eq!(note.outcome, DriftOutcome::Healed);
    place.until_operational().await;
    assert_eq!(place.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "1");
}

pub async fn s0_12_a_deleted_object_is_made_again(place: Place) {
    settled(&place, vec![config_map("settings", "1")]).await;
    place.delete(CONFIG_MAP, "settings").await;
    place.eventually("made again", async || place.get(CONFIG_MAP, "settings").await.is_some()).await;
    place.eventually("told", async || !place.agent.drift().is_empty()).await;
    let note = place.agent.drift().remove(0);
    assert!(note.fields.is_empty(), "{note:?}");
    let uid = place.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["uid"].clone();
    let recorded = async || place.record().await.unwrap()["spec"]["resources"][0]["uid"] == uid;
    place.eventually("recorded anew", recorded).await;
}

pub async fn s0_12_a_deleted_deployment_is_made_again_and_becomes_operational(place: Place) {
    settled(&place, vec![workload("Deployment", "web", None)]).await;
    let before = place.get(DEPLOYMENT, "web").await.unwrap()["metadata"]["uid"].clone();
    place.delete(DEPLOYMENT, "web").await;
    let anew =
        async || place.get(DEPLOYMENT, "web").await.is_some_and(|live| live["metadata"]["uid"] != before);
    place.eventually("made again", anew).await;
    let available = async || {
        place.get(DEPLOYMENT, "web").await.is_some_and(|live| live["status"]["availableReplicas"] == 2)
    };
    place.eventually("available", available).await;
    place.until_operational().await;
    // The first one's pods go with it.
    place.eventually("cleaned up", async || place.list(POD).await.len() == 2).await;
}

pub async fn a_field_somebody_adds_beside_ours_is_left(place: Place) {
    settled(&place, vec![config_map("settings", "1")]).await;
    place.merge(CONFIG_MAP, "settings", json!({"data": {"theirs": "2"}}), "kubectl-edit").await;
    // A change that is ours shows that the first was seen before it.
    place.merge(CONFIG_MAP, "settings", json!({"data": {"key": "2"}}), "kubectl-edit").await;
    place.eventually("told", async || !place.agent.drift().is_empty()).await;
    assert_eq!(place.agent.drift()[0].fields, ["/data/key"]);
    place.until_operational().await;
    let live = place.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["data"], json!({"key": "1", "theirs": "2"}));
}

pub async fn a_deleted_namespace_is_made_again_with_all_that_was_in_it(place: Place) {
    let elsewhere = "deleted-and-made-again";
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = elsewhere.into();
    place.wants(vec![object], Policies::default());
    place.until_operational().await;
    let before = place.get(NAMESPACE, elsewhere).await.unwrap()["metadata"]["uid"].clone();
    place.delete(NAMESPACE, elsewhere).await;
    let anew =
        async || place.get(NAMESPACE, elsewhere).await.is_some_and(|live| live["metadata"]["uid"] != before);
    place.eventually("made again", anew).await;
    place.until_operational().await;
}
