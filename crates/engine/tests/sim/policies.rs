//! Policies: what stays, what is only made, what is only observed, what is the cluster's, who writes.

use domain::overrides::ObjectSelector;
use domain::policy::{
    ConflictPolicy, DeletionPolicy, FeedbackRule, IgnoreRule, IgnoreWhen, Policies, UpdateRule,
    UpdateStrategy,
};
use domain::release::{StageName, StageState, Sync};
use domain::report::Goal;
use serde_json::{Value, json};

use crate::harness::*;

fn key(cluster: &kubesim::Cluster, name: &str) -> Option<Value> {
    Some(cluster.get(CONFIG_MAP, ("default", name))?["data"]["key"].clone())
}

fn named(name: &str) -> ObjectSelector {
    ObjectSelector { kind: "ConfigMap".into(), name: name.into(), ..ObjectSelector::default() }
}

fn strategy(name: &str, strategy: UpdateStrategy) -> Policies {
    Policies { update: vec![UpdateRule { object: named(name), strategy }], ..Policies::default() }
}

fn set(to: &'static str) -> impl Fn(&mut Value) {
    move |object| object["data"]["key"] = to.into()
}

async fn recorded(cluster: &kubesim::Cluster) {
    until("recorded", || cluster.list(RECORD, None).iter().any(|record| record["spec"]["applied"] != ""))
        .await;
}

#[tokio::test]
async fn an_object_that_is_only_made_is_never_changed_and_is_made_again_when_it_is_gone() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let policies = strategy("seed", UpdateStrategy::CreateOnly);
    let objects = |value: &str| bundle(vec![config_map("seed", value), config_map("other", value)]);
    let first = desired(1, 1, &objects("1"), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    cluster.touch(CONFIG_MAP, ("default", "seed"), "kubectl-edit", set("mine")).unwrap();
    let second = desired(1, 2, &objects("2"), policies);
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.want).await;
    assert_eq!((key(&cluster, "seed"), key(&cluster, "other")), (Some("mine".into()), Some("2".into())));
    cluster.delete(CONFIG_MAP, ("default", "seed")).unwrap();
    until("made again", || key(&cluster, "seed") == Some("2".into())).await;
    recorded(&cluster).await;
    agent.engine.set_desired(vec![absent(1, 3, DeletionPolicy::Foreground)]);
    agent.until(release(1), "gone", |report| report.gone).await;
    assert_eq!(key(&cluster, "seed"), None, "what we made goes with us");
    agent.stop().await;
}

#[tokio::test]
async fn an_object_that_was_there_is_left_to_its_owner_when_it_is_only_made() {
    let cluster = still_cluster();
    cluster.create(config_map("seed", "theirs"), "someone-else").unwrap();
    let before = cluster.get(CONFIG_MAP, ("default", "seed")).unwrap();
    let agent = agent(&cluster).await;
    let wanted = desired(
        1,
        1,
        &bundle(vec![config_map("seed", "ours")]),
        strategy("seed", UpdateStrategy::CreateOnly),
    );
    agent.engine.set_desired(vec![wanted.clone()]);
    let report = agent.until_operational(&wanted.want).await;
    assert_eq!((report.resources[0].applied, report.resources[0].available), (true, Some(true)));
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    agent.until(release(1), "gone", |report| report.gone).await;
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "seed")).unwrap(), before);
    agent.stop().await;
}

#[tokio::test]
async fn an_object_that_is_only_observed_is_waited_for_and_never_written() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let objects = bundle(vec![config_map("theirs", "x"), service("web")]);
    let wanted = desired(1, 1, &objects, strategy("theirs", UpdateStrategy::ReadOnly));
    agent.engine.set_desired(vec![wanted.clone()]);
    let (report, message) = agent.until_trouble(release(1), StageName::Applied, "ObjectAwaited").await;
    assert!(message.contains("ConfigMap default/theirs"), "{message}");
    assert!(
        matches!(state(&report, StageName::Applied), Some(StageState::Waiting(_))),
        "a wait, not an error"
    );
    let trouble = state(&report, StageName::Applied).unwrap().trouble().unwrap().clone();
    assert!(trouble.attempts >= 1 && trouble.next_retry.is_some());
    assert_eq!(report.resources[0].available, Some(false));
    let made = cluster.create(config_map("theirs", "any"), "someone-else").unwrap();
    let report = agent.until_operational(&wanted.want).await;
    assert_eq!(report.sync, Sync::Synced);
    assert_eq!(
        cluster.get(CONFIG_MAP, ("default", "theirs")).unwrap()["metadata"]["uid"],
        made["metadata"]["uid"]
    );
    assert_eq!(key(&cluster, "theirs"), Some("any".into()));
    recorded(&cluster).await;
    let record = cluster.list(RECORD, None).remove(0);
    assert_eq!(record["spec"]["resources"].as_array().unwrap().len(), 1, "it is not ours");
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    agent.until(release(1), "gone", |report| report.gone).await;
    assert_eq!(key(&cluster, "theirs"), Some("any".into()));
    agent.stop().await;
}

#[tokio::test]
async fn an_object_that_is_only_observed_from_now_on_is_let_go() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let objects = bundle(vec![config_map("a", "1")]);
    let first = desired(1, 1, &objects, Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    let second = desired(1, 2, &objects, strategy("a", UpdateStrategy::ReadOnly));
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.want).await;
    until("let go", || {
        cluster
            .get(CONFIG_MAP, ("default", "a"))
            .is_some_and(|live| !live.to_string().contains("flotilla.dev"))
    })
    .await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["resources"] == json!([])).await;
    agent.stop().await;
}

#[tokio::test]
async fn fields_left_on_presence_are_written_once_and_never_again() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let rule =
        IgnoreRule { object: named(""), when: IgnoreWhen::OnPresence, paths: vec!["$.data.key".into()] };
    let policies = Policies { ignore: vec![rule], ..Policies::default() };
    let map = |key: &str, other: &str| {
        let mut map = config_map("a", key);
        map["data"]["other"] = other.into();
        bundle(vec![map])
    };
    let first = desired(1, 1, &map("1", "1"), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    assert_eq!(key(&cluster, "a"), Some("1".into()), "written when it is made");
    cluster.touch(CONFIG_MAP, ("default", "a"), "kubectl-edit", set("theirs")).unwrap();
    let second = desired(1, 2, &map("2", "2"), policies);
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.want).await;
    let live = cluster.get(CONFIG_MAP, ("default", "a")).unwrap();
    assert_eq!((live["data"]["key"].as_str(), live["data"]["other"].as_str()), (Some("theirs"), Some("2")));
    assert!(agent.drift().is_empty(), "{:?}", agent.drift());
    agent.stop().await;
}

#[tokio::test]
async fn fields_left_on_change_are_no_drift_and_a_new_revision_writes_them() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let rule = IgnoreRule { object: named(""), when: IgnoreWhen::OnChange, paths: vec!["/data/key".into()] };
    let policies = Policies { ignore: vec![rule], conflict: ConflictPolicy::TakeOver, ..Policies::default() };
    let map = |key: &str, other: &str| {
        let mut map = config_map("a", key);
        map["data"]["other"] = other.into();
        bundle(vec![map])
    };
    let first = desired(1, 1, &map("1", "1"), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    let edit = |object: &mut Value| {
        object["data"]["key"] = "theirs".into();
        object["data"]["other"] = "broken".into();
    };
    cluster.touch(CONFIG_MAP, ("default", "a"), "kubectl-edit", edit).unwrap();
    until("put back", || cluster.get(CONFIG_MAP, ("default", "a")).unwrap()["data"]["other"] == "1").await;
    assert_eq!(key(&cluster, "a"), Some("theirs".into()), "a repair leaves it");
    until("told", || !agent.drift().is_empty()).await;
    assert_eq!(agent.drift()[0].fields, ["/data/other"]);
    let second = desired(1, 2, &map("2", "2"), policies);
    agent.engine.set_desired(vec![second.clone()]);
    until("written", || key(&cluster, "a") == Some("2".into())).await;
    agent.stop().await;
}

#[tokio::test]
async fn if_identical_adopts_what_is_alike_and_names_the_fields_of_what_is_not() {
    let cluster = still_cluster();
    cluster.create(config_map("alike", "1"), "someone-else").unwrap();
    cluster.create(config_map("other", "theirs"), "someone-else").unwrap();
    let agent = agent(&cluster).await;
    let policies = Policies { conflict: ConflictPolicy::IfIdentical, ..Policies::default() };
    let objects = bundle(vec![config_map("alike", "1"), config_map("other", "ours")]);
    let wanted = desired(1, 1, &objects, policies);
    agent.engine.set_desired(vec![wanted.clone()]);
    let (report, message) = agent.until_trouble(release(1), StageName::Applied, "NotIdentical").await;
    assert!(message.contains("ConfigMap default/other") && message.contains("/data/key"), "{message}");
    let applied: Vec<bool> = report.resources.iter().map(|resource| resource.applied).collect();
    assert_eq!(applied, [true, false]);
    assert_eq!(key(&cluster, "other"), Some("theirs".into()));
    cluster.touch(CONFIG_MAP, ("default", "other"), "someone-else", set("ours")).unwrap();
    agent.until_operational(&wanted.want).await;
    agent.stop().await;
}

#[tokio::test]
async fn s3_13_selectively_orphaned_objects_stay_on_prune_and_on_removal() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let keep = |name: &str| ObjectSelector { name: name.into(), ..named("") };
    let policies = Policies {
        deletion: DeletionPolicy::SelectivelyOrphan,
        orphan: vec![keep("kept-1"), keep("kept-2")],
        ..Policies::default()
    };
    let all = |names: &[&str]| bundle(names.iter().map(|name| config_map(name, "1")).collect());
    let first = desired(1, 1, &all(&["kept-1", "kept-2", "gone-1", "gone-2"]), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    let second = desired(1, 2, &all(&["kept-2", "gone-2"]), policies.clone());
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.want).await;
    assert_eq!((key(&cluster, "kept-1"), key(&cluster, "gone-1")), (Some("1".into()), None));
    let mut leave = absent(1, 3, DeletionPolicy::SelectivelyOrphan);
    leave.want.goal = Goal::Absent { deletion: DeletionPolicy::SelectivelyOrphan, policies };
    agent.engine.set_desired(vec![leave]);
    agent.until(release(1), "gone", |report| report.gone).await;
    assert_eq!((key(&cluster, "kept-2"), key(&cluster, "gone-2")), (Some("1".into()), None));
    for name in ["kept-1", "kept-2"] {
        let live = cluster.get(CONFIG_MAP, ("default", name)).unwrap();
        assert!(!live.to_string().contains("flotilla.dev"), "{live}");
    }
    agent.stop().await;
}

#[tokio::test]
async fn s3_5_values_asked_for_are_reported_with_the_objects_they_are_of() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let rule = FeedbackRule { object: named("settings"), name: "Key".into(), path: "$.data.key".into() };
    let policies = Policies { feedback: vec![rule], ..Policies::default() };
    let wanted = desired(1, 1, &shop("nginx"), policies);
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    let ready = |report: &domain::report::ReleaseReport| {
        report.resources[2].feedback.iter().any(|one| one.name == "ReadyReplicas" && one.value == json!(2))
    };
    let report = agent.until(release(1), "ready replicas told", ready).await;
    let meta: Vec<(u32, &str, &str)> = report
        .resources
        .iter()
        .map(|one| (one.ordinal, one.object.kind.as_str(), one.resource.as_str()))
        .collect();
    assert_eq!(
        meta,
        [(0, "ConfigMap", "configmaps"), (1, "Service", "services"), (2, "Deployment", "deployments")]
    );
    assert_eq!(report.resources[0].feedback[0].value, json!("1"));
    assert!(report.resources.iter().all(|one| one.since.applied.is_some() && one.available == Some(true)));
    agent.stop().await;
}
