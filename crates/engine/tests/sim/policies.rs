//! Policies: update strategies, ignored fields, conflicts, orphaning, feedback.

use domain::overrides::ObjectSelector;
use domain::policy::{
    ConflictPolicy, DeletionPolicy, FeedbackRule, IgnoreRule, IgnoreWhen, Policies, UpdateRule,
    UpdateStrategy,
};
use domain::release::{StageName, StageState, SyncStatus};
use domain::report::DesiredPhase;
use serde_json::{Value, json};

use crate::harness::*;

fn key_of(cluster: &kubesim::SimCluster, name: &str) -> Option<Value> {
    Some(cluster.get(CONFIG_MAP, ("default", name))?["data"]["key"].clone())
}

fn config_map_selector(name: &str) -> ObjectSelector {
    ObjectSelector { kind: "ConfigMap".into(), name: name.into(), ..ObjectSelector::default() }
}

fn update_policy(name: &str, strategy: UpdateStrategy) -> Policies {
    Policies {
        update: vec![UpdateRule { object: config_map_selector(name), strategy }],
        ..Policies::default()
    }
}

fn set_key(to: &'static str) -> impl Fn(&mut Value) {
    move |object| object["data"]["key"] = to.into()
}

async fn until_recorded(cluster: &kubesim::SimCluster) {
    wait_until("recorded", || {
        cluster.list(RECORD, None).iter().any(|record| record["spec"]["applied"] != "")
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_create_only_object_is_never_updated_and_is_re_created_when_missing() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let policies = update_policy("seed", UpdateStrategy::CreateOnly);
    let objects = |value: &str| bundle(vec![config_map("seed", value), config_map("other", value)]);
    let first = present_input(1, 1, &objects("1"), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    cluster.edit(CONFIG_MAP, ("default", "seed"), "kubectl-edit", set_key("mine")).unwrap();
    let second = present_input(1, 2, &objects("2"), policies);
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.desired).await;
    assert_eq!(
        (key_of(&cluster, "seed"), key_of(&cluster, "other")),
        (Some("mine".into()), Some("2".into()))
    );
    cluster.delete(CONFIG_MAP, ("default", "seed")).unwrap();
    wait_until("re-created", || key_of(&cluster, "seed") == Some("2".into())).await;
    until_recorded(&cluster).await;
    agent.engine.set_desired(vec![absent_input(1, 3, DeletionPolicy::Foreground)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert_eq!(key_of(&cluster, "seed"), None, "an object created by the release is deleted with it");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pre_existing_create_only_object_is_not_changed() {
    let cluster = cluster_without_controllers();
    cluster.create(config_map("seed", "theirs"), "someone-else").unwrap();
    let before = cluster.get(CONFIG_MAP, ("default", "seed")).unwrap();
    let agent = start_agent(&cluster).await;
    let input = present_input(
        1,
        1,
        &bundle(vec![config_map("seed", "ours")]),
        update_policy("seed", UpdateStrategy::CreateOnly),
    );
    agent.engine.set_desired(vec![input.clone()]);
    let report = agent.until_operational(&input.desired).await;
    assert_eq!((report.resources[0].applied, report.resources[0].available), (true, Some(true)));
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "seed")).unwrap(), before);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_read_only_object_is_awaited_and_never_written() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let objects = bundle(vec![config_map("theirs", "x"), service("web")]);
    let input = present_input(1, 1, &objects, update_policy("theirs", UpdateStrategy::ReadOnly));
    agent.engine.set_desired(vec![input.clone()]);
    let (report, message) =
        agent.until_stage_reason(release_id(1), StageName::Applied, "ObjectAwaited").await;
    assert!(message.contains("ConfigMap default/theirs"), "{message}");
    assert!(
        matches!(stage_state(&report, StageName::Applied), Some(StageState::Waiting(_))),
        "waiting, not failed"
    );
    let reason = stage_state(&report, StageName::Applied).unwrap().reason().unwrap().clone();
    assert!(reason.attempts >= 1 && reason.next_retry.is_some());
    assert_eq!(report.resources[0].available, Some(false));
    let created = cluster.create(config_map("theirs", "any"), "someone-else").unwrap();
    let report = agent.until_operational(&input.desired).await;
    assert_eq!(report.sync, SyncStatus::Synced);
    assert_eq!(
        cluster.get(CONFIG_MAP, ("default", "theirs")).unwrap()["metadata"]["uid"],
        created["metadata"]["uid"]
    );
    assert_eq!(key_of(&cluster, "theirs"), Some("any".into()));
    until_recorded(&cluster).await;
    let record = cluster.list(RECORD, None).remove(0);
    assert_eq!(
        record["spec"]["resources"].as_array().unwrap().len(),
        1,
        "a read-only object is not recorded"
    );
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert_eq!(key_of(&cluster, "theirs"), Some("any".into()));
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_becomes_read_only_is_orphaned() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let objects = bundle(vec![config_map("a", "1")]);
    let first = present_input(1, 1, &objects, Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    let second = present_input(1, 2, &objects, update_policy("a", UpdateStrategy::ReadOnly));
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.desired).await;
    wait_until("orphaned", || {
        cluster
            .get(CONFIG_MAP, ("default", "a"))
            .is_some_and(|live| !live.to_string().contains("flotilla.dev"))
    })
    .await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["resources"] == json!([])).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn on_presence_fields_are_written_once() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let rule = IgnoreRule {
        object: config_map_selector(""),
        when: IgnoreWhen::OnPresence,
        paths: vec!["$.data.key".into()],
    };
    let policies = Policies { ignore: vec![rule], ..Policies::default() };
    let map = |key: &str, other: &str| {
        let mut map = config_map("a", key);
        map["data"]["other"] = other.into();
        bundle(vec![map])
    };
    let first = present_input(1, 1, &map("1", "1"), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    assert_eq!(key_of(&cluster, "a"), Some("1".into()), "written on creation");
    cluster.edit(CONFIG_MAP, ("default", "a"), "kubectl-edit", set_key("theirs")).unwrap();
    let second = present_input(1, 2, &map("2", "2"), policies);
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.desired).await;
    let live = cluster.get(CONFIG_MAP, ("default", "a")).unwrap();
    assert_eq!((live["data"]["key"].as_str(), live["data"]["other"].as_str()), (Some("theirs"), Some("2")));
    assert!(agent.drift().is_empty(), "{:?}", agent.drift());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn on_change_fields_are_no_drift_and_a_new_revision_overwrites_them() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let rule = IgnoreRule {
        object: config_map_selector(""),
        when: IgnoreWhen::OnChange,
        paths: vec!["/data/key".into()],
    };
    let policies = Policies { ignore: vec![rule], conflict: ConflictPolicy::Force, ..Policies::default() };
    let map = |key: &str, other: &str| {
        let mut map = config_map("a", key);
        map["data"]["other"] = other.into();
        bundle(vec![map])
    };
    let first = present_input(1, 1, &map("1", "1"), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    let edit = |object: &mut Value| {
        object["data"]["key"] = "theirs".into();
        object["data"]["other"] = "broken".into();
    };
    cluster.edit(CONFIG_MAP, ("default", "a"), "kubectl-edit", edit).unwrap();
    wait_until("healed", || cluster.get(CONFIG_MAP, ("default", "a")).unwrap()["data"]["other"] == "1").await;
    assert_eq!(key_of(&cluster, "a"), Some("theirs".into()), "a self-heal keeps it");
    wait_until("reported", || !agent.drift().is_empty()).await;
    assert_eq!(agent.drift()[0].fields, ["/data/other"]);
    let second = present_input(1, 2, &map("2", "2"), policies);
    agent.engine.set_desired(vec![second.clone()]);
    wait_until("written", || key_of(&cluster, "a") == Some("2".into())).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn if_identical_adopts_identical_objects_and_reports_the_fields_of_others() {
    let cluster = cluster_without_controllers();
    cluster.create(config_map("identical", "1"), "someone-else").unwrap();
    cluster.create(config_map("other", "theirs"), "someone-else").unwrap();
    let agent = start_agent(&cluster).await;
    let policies = Policies { conflict: ConflictPolicy::IfIdentical, ..Policies::default() };
    let objects = bundle(vec![config_map("identical", "1"), config_map("other", "ours")]);
    let input = present_input(1, 1, &objects, policies);
    agent.engine.set_desired(vec![input.clone()]);
    let (report, message) = agent.until_stage_reason(release_id(1), StageName::Applied, "NotIdentical").await;
    assert!(message.contains("ConfigMap default/other") && message.contains("/data/key"), "{message}");
    let applied: Vec<bool> = report.resources.iter().map(|resource| resource.applied).collect();
    assert_eq!(applied, [true, false]);
    assert_eq!(key_of(&cluster, "other"), Some("theirs".into()));
    cluster.edit(CONFIG_MAP, ("default", "other"), "someone-else", set_key("ours")).unwrap();
    agent.until_operational(&input.desired).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_13_selectively_orphaned_objects_stay_on_prune_and_on_removal() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let orphan = |name: &str| ObjectSelector { name: name.into(), ..config_map_selector("") };
    let policies = Policies {
        deletion: DeletionPolicy::SelectivelyOrphan,
        orphan: vec![orphan("orphaned-1"), orphan("orphaned-2")],
        ..Policies::default()
    };
    let all = |names: &[&str]| bundle(names.iter().map(|name| config_map(name, "1")).collect());
    let first =
        present_input(1, 1, &all(&["orphaned-1", "orphaned-2", "deleted-1", "deleted-2"]), policies.clone());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    let second = present_input(1, 2, &all(&["orphaned-2", "deleted-2"]), policies.clone());
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.desired).await;
    assert_eq!((key_of(&cluster, "orphaned-1"), key_of(&cluster, "deleted-1")), (Some("1".into()), None));
    let mut removal = absent_input(1, 3, DeletionPolicy::SelectivelyOrphan);
    removal.desired.phase = DesiredPhase::Absent { deletion: DeletionPolicy::SelectivelyOrphan, policies };
    agent.engine.set_desired(vec![removal]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert_eq!((key_of(&cluster, "orphaned-2"), key_of(&cluster, "deleted-2")), (Some("1".into()), None));
    for name in ["orphaned-1", "orphaned-2"] {
        let live = cluster.get(CONFIG_MAP, ("default", name)).unwrap();
        assert!(!live.to_string().contains("flotilla.dev"), "{live}");
    }
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_5_feedback_values_are_reported_with_their_objects() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let rule = FeedbackRule {
        object: config_map_selector("settings"),
        name: "Key".into(),
        path: "$.data.key".into(),
    };
    let policies = Policies { feedback: vec![rule], ..Policies::default() };
    let input = present_input(1, 1, &shop("nginx"), policies);
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    let ready = |report: &domain::report::ReleaseReport| {
        report.resources[2]
            .feedback
            .iter()
            .any(|value| value.name == "ReadyReplicas" && value.value == json!(2))
    };
    let report = agent.wait_for_report(release_id(1), "ready replicas reported", ready).await;
    let meta: Vec<(u32, &str, &str)> = report
        .resources
        .iter()
        .map(|resource| (resource.ordinal, resource.object.kind.as_str(), resource.resource.as_str()))
        .collect();
    assert_eq!(
        meta,
        [(0, "ConfigMap", "configmaps"), (1, "Service", "services"), (2, "Deployment", "deployments")]
    );
    assert_eq!(report.resources[0].feedback[0].value, json!("1"));
    assert!(
        report
            .resources
            .iter()
            .all(|resource| resource.since.applied.is_some() && resource.available == Some(true))
    );
    agent.stop().await;
}
