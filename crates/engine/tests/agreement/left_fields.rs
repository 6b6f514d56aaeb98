//! Fields that a policy leaves to other managers, and a later revision without that policy: plan and publish take them back as an
//! update, with a conflict where another manager owns them, and never silently.

use domain::overrides::ObjectSelector;
use domain::plan::{ClusterPlan, PlannedAction};
use domain::policy::{ConflictPolicy, IgnoreRule, IgnoreWhen, Policies, UpdateRule, UpdateStrategy};
use domain::release::StageName;
use serde_json::{Value, json};

use crate::test_env::*;

fn settings() -> ObjectSelector {
    ObjectSelector { kind: "ConfigMap".into(), name: "settings".into(), ..ObjectSelector::default() }
}

/// Policies that leave the key to others.
fn ignoring(when: IgnoreWhen) -> Policies {
    let rule = IgnoreRule { object: settings(), when, paths: vec!["/data/key".into()] };
    Policies { ignore: vec![rule], ..Policies::default() }
}

fn forced(policies: Policies) -> Policies {
    Policies { conflict: ConflictPolicy::Force, ..policies }
}

fn objects(other: &str) -> Vec<Value> {
    let mut map = config_map("settings", "ours");
    map["data"]["other"] = other.into();
    vec![map]
}

async fn data(env: &TestEnv) -> Value {
    env.get(CONFIG_MAP, "settings").await.unwrap()["data"].clone()
}

/// Publishes, waits for the record of the publish, and lets an operator set the key.
async fn publish_and_set_key(env: &TestEnv, policies: Policies) {
    env.set_present(objects("1"), policies);
    env.until_operational().await;
    let is_recorded = async || {
        env.record().await.is_some_and(|record| record["spec"]["resources"][0]["leftFields"].is_string())
    };
    env.wait_until("recorded", is_recorded).await;
    env.merge_patch(CONFIG_MAP, "settings", json!({"data": {"key": "theirs"}}), "operator").await;
}

/// The paths that the plan changes.
fn changed_paths(plan: &ClusterPlan) -> Vec<&str> {
    let PlannedAction::Change { fields, .. } = &plan.objects[0].action else { panic!("{plan:#?}") };
    fields.iter().map(|field| field.path.as_str()).collect()
}

/// Publishes the objects without force, which plan and publish reject because of the operator, and then with force.
async fn take_key_back(env: &TestEnv, other: &str, policies: Policies) {
    let plan = env.dry_run(objects(other), policies.clone()).await;
    let PlannedAction::Rejected { finding } = &plan.objects[0].action else { panic!("{plan:#?}") };
    assert!(finding.code == "G409" && finding.message.contains("operator"), "{finding:#?}");
    assert!(finding.message.contains("data.key"), "{finding:#?}");
    env.set_present(objects(other), policies.clone());
    let (_, message) = env.until_stage_reason(StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("operator"), "{message}");
    assert_eq!(data(env).await, json!({"key": "theirs", "other": other}));

    let plan = env.dry_run(objects(other), forced(policies.clone())).await;
    assert_eq!(changed_paths(&plan), ["/data/key"]);
    env.set_present(objects(other), forced(policies));
    env.until_operational().await;
    assert_eq!(data(env).await, json!({"key": "ours", "other": other}));
    assert!(env.agent.drift().is_empty(), "a publish is no drift: {:#?}", env.agent.drift());
}

pub async fn p13_a_field_that_a_dropped_ignore_rule_left_to_a_manager_conflicts_until_it_is_forced(
    env: TestEnv,
) {
    publish_and_set_key(&env, ignoring(IgnoreWhen::OnPresence)).await;
    // The next revision applies the live value, which Flotilla owns by then beside the operator.
    env.set_present(objects("2"), ignoring(IgnoreWhen::OnPresence));
    env.until_operational().await;
    assert_eq!(data(&env).await, json!({"key": "theirs", "other": "2"}));
    take_key_back(&env, "2", Policies::default()).await;
}

pub async fn p13_a_value_that_was_applied_under_an_ignore_rule_is_replaced_once_the_rule_is_dropped(
    env: TestEnv,
) {
    publish_and_set_key(&env, ignoring(IgnoreWhen::OnPresence)).await;
    env.set_present(objects("2"), ignoring(IgnoreWhen::OnPresence));
    env.until_operational().await;
    // The operator gives its fields up, so that Flotilla is the only owner of a value that it never chose.
    let live = env.get(CONFIG_MAP, "settings").await.unwrap();
    let managers = live["metadata"]["managedFields"].as_array().unwrap();
    let ours: Vec<&Value> =
        managers.iter().filter(|entry| entry["manager"] == engine::FIELD_MANAGER).collect();
    assert!(ours.len() == 1 && ours[0]["fieldsV1"]["f:data"]["f:key"] == json!({}), "{managers:#?}");
    env.merge_patch(CONFIG_MAP, "settings", json!({"metadata": {"managedFields": ours}}), "operator").await;
    assert_eq!(data(&env).await["key"], "theirs");

    let plan = env.dry_run(objects("2"), Policies::default()).await;
    assert_eq!(changed_paths(&plan), ["/data/key"]);
    env.set_present(objects("2"), Policies::default());
    env.until_operational().await;
    assert_eq!(data(&env).await, json!({"key": "ours", "other": "2"}));
    assert!(env.agent.drift().is_empty(), "a publish is no drift: {:#?}", env.agent.drift());
}

pub async fn p13_a_changed_field_conflicts_with_the_next_revision_if_it_is_ignored_on_change_only(
    env: TestEnv,
) {
    publish_and_set_key(&env, ignoring(IgnoreWhen::OnChange)).await;
    // The same objects as a new revision: its plan writes the field again, and so does the publish.
    take_key_back(&env, "1", ignoring(IgnoreWhen::OnChange)).await;
}

pub async fn p13_an_object_that_was_only_created_conflicts_once_a_revision_updates_it(env: TestEnv) {
    let rule = UpdateRule { object: settings(), strategy: UpdateStrategy::CreateOnly };
    publish_and_set_key(&env, Policies { update: vec![rule], ..Policies::default() }).await;
    take_key_back(&env, "1", Policies::default()).await;
}
