//! What a plan says would happen, and what publishing then does (E-2): the two agree.

use domain::plan::{Effect, HIDDEN, ObjectEffect, Outcome};
use domain::release::StageName;
use domain::workload::{DeletionPolicy, Policies};
use serde_json::{Value, json};

use crate::place::*;
use crate::refusals::refuse_bad_names;

/// The outcome for the object with this name.
fn of<'e>(effect: &'e Effect, name: &str) -> &'e ObjectEffect {
    effect.objects.iter().find(|one| one.object.name == name).unwrap_or_else(|| panic!("{name}: {effect:#?}"))
}

/// The code under which an object is refused.
fn refused(effect: &Effect, name: &str) -> String {
    match &of(effect, name).outcome {
        Outcome::Refused { finding } => finding.code.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Publishing what was planned leaves nothing to do.
async fn comes_true(place: &Place, objects: Vec<Value>) {
    place.wants(objects.clone(), Policies::default());
    place.until_operational().await;
    let effect = place.effect(objects, Policies::default()).await;
    assert!(effect.is_nothing(), "after publishing there is nothing left to do: {effect:#?}");
    assert_eq!(effect.tally().untried, 0);
}

fn secret(value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"password": value}})
}

fn service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})
}

pub async fn e_2_a_plan_of_new_objects_comes_true(place: Place) {
    let objects =
        vec![config_map("settings", "1"), secret("1"), service(), workload("Deployment", "web", None)];
    let effect = place.effect(objects.clone(), Policies::default()).await;
    assert!(effect.objects.iter().all(|one| one.outcome == Outcome::Create), "{effect:#?}");
    assert_eq!(effect.tally().untried, 0);
    assert!(place.get(CONFIG_MAP, "settings").await.is_none(), "a plan writes nothing");
    comes_true(&place, objects).await;
}

pub async fn e_2_a_plan_names_the_very_fields_that_change(place: Place) {
    let mut map = config_map("settings", "1");
    map["data"]["gone"] = "soon".into();
    let before =
        vec![map, config_map("same", "1"), secret("1"), service(), workload("Deployment", "web", None)];
    comes_true(&place, before).await;
    let mut changed = workload("Deployment", "web", None);
    changed["spec"]["replicas"] = 3.into();
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2".into();
    let after = vec![config_map("settings", "2"), config_map("same", "1"), secret("2"), changed];
    let effect = place.effect(after.clone(), Policies::default()).await;
    let fields = |name: &str| match &of(&effect, name).outcome {
        Outcome::Change { fields, .. } => {
            let mut paths: Vec<String> = fields.iter().map(|field| field.path.clone()).collect();
            paths.sort();
            (paths, fields.clone())
        }
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(fields("settings").0, ["/data/gone", "/data/key"]);
    assert_eq!(
        fields("web").0,
        ["/spec/replicas", "/spec/template/spec/containers[name=web]/image"],
        "defaults and status are no change"
    );
    let (paths, values) = fields("key");
    assert_eq!(paths, ["/data/password"]);
    assert!(values.iter().all(|field| field.wanted == Some(HIDDEN.into())), "{values:?}");
    assert_eq!(of(&effect, "same").outcome, Outcome::Unchanged);
    assert_eq!(of(&effect, "front").outcome, Outcome::Delete, "what the new revision no longer has goes");
    comes_true(&place, after).await;
    let live = place.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["data"], json!({"key": "2"}));
    assert!(place.get(("v1", "Service"), "front").await.is_none());
}

pub async fn e_2_a_plan_of_a_removal_names_what_goes(place: Place) {
    comes_true(&place, vec![config_map("a", "1"), config_map("b", "1")]).await;
    let leave = async |deletion| {
        let goal = domain::report::Goal::Absent { deletion, policies: Policies::default() };
        place.agent.engine.effect(Some(place.release), &goal, &domain::bundle::Bundle::default()).await
    };
    let stays = leave(DeletionPolicy::Orphan).await;
    assert_eq!((stays.tally().let_go, stays.tally().delete), (2, 0));
    let goes = leave(DeletionPolicy::Foreground).await;
    assert_eq!((goes.tally().let_go, goes.tally().delete), (0, 2));
    place.delete(CONFIG_MAP, "a").await;
    place.wants_nothing(DeletionPolicy::Foreground);
    place.until_gone().await;
    assert!(place.get(CONFIG_MAP, "b").await.is_none());
    assert_eq!(leave(DeletionPolicy::Foreground).await, Effect::default());
}

pub async fn g406_a_change_that_is_not_possible_is_refused_by_both(place: Place) {
    comes_true(&place, vec![workload("Deployment", "web", None)]).await;
    let mut moved = workload("Deployment", "web", None);
    moved["spec"]["selector"]["matchLabels"]["tier"] = "front".into();
    moved["spec"]["template"]["metadata"]["labels"]["tier"] = "front".into();
    let effect = place.effect(vec![moved.clone()], Policies::default()).await;
    assert_eq!(refused(&effect, "web"), "G406");
    place.wants(vec![moved], Policies::default());
    place.until_trouble(StageName::Applied, "ImmutableField").await;
}

pub async fn g404_admission_refuses_both(place: Place) {
    refuse_bad_names(&place).await;
    let objects = vec![config_map("bad", "1"), config_map("good", "1")];
    let effect = place.effect(objects.clone(), Policies::default()).await;
    assert_eq!(refused(&effect, "bad"), "G404");
    assert_eq!(of(&effect, "good").outcome, Outcome::Create);
    place.wants(objects, Policies::default());
    place.until_trouble(StageName::Applied, "AdmissionRejected").await;
    assert!(place.get(CONFIG_MAP, "good").await.is_some());
}

pub async fn g409_fields_of_another_manager_refuse_both(place: Place) {
    place.apply_as(config_map("settings", "theirs"), "terraform").await;
    let objects = vec![config_map("settings", "ours")];
    let effect = place.effect(objects.clone(), Policies::default()).await;
    assert_eq!(refused(&effect, "settings"), "G409");
    let said = &effect.findings().next().unwrap().message;
    assert!(said.contains("terraform"), "{said}");
    place.wants(objects, Policies::default());
    place.until_trouble(StageName::Applied, "ApplyConflict").await;
    let live = place.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["data"]["key"], "theirs");
}

pub async fn g401_a_kind_that_is_not_there_refuses_both(place: Place) {
    let mut widget = config_map("x", "1");
    widget["apiVersion"] = "nowhere.example.com/v1".into();
    widget["kind"] = "Widget".into();
    let effect = place.effect(vec![widget.clone()], Policies::default()).await;
    assert_eq!(refused(&effect, "x"), "G401");
    place.wants(vec![widget], Policies::default());
    place.until_trouble(StageName::Preflight, "ApiMissing").await;
}

pub async fn g407_a_quota_that_is_used_up_refuses_both(place: Place) {
    // The simulated cluster counts no objects but pods.
    if place.plane().is_none() {
        return;
    }
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
        "spec": {"hard": {"count/secrets": "0"}}});
    place.create(quota, "test").await;
    let counted = async || {
        let quota = place.get(("v1", "ResourceQuota"), "small").await.unwrap();
        quota["status"]["hard"]["count/secrets"] == "0"
    };
    place.eventually("in force", counted).await;
    let objects = vec![secret("1"), config_map("settings", "1")];
    let effect = place.effect(objects.clone(), Policies::default()).await;
    assert_eq!(refused(&effect, "key"), "G407");
    assert_eq!(of(&effect, "settings").outcome, Outcome::Create);
    place.wants(objects, Policies::default());
    place.until_trouble(StageName::Applied, "AdmissionRejected").await;
}
