//! Drift: changes by other managers are healed and reported.

use domain::release::SyncStatus;
use domain::report::{
    DesiredRelease, DriftOutcome, FieldRevertOutcome, FieldRevertRequest, ReleaseReport, ResourceStatus,
};
use domain::workload::{DriftPolicy, Policies};
use serde_json::json;

use crate::lists::{definition, until_healed};
use crate::test_env::*;
use crate::workloads::cron_job;

const DISRUPTION_BUDGET: KindName = ("policy/v1", "PodDisruptionBudget");
const ROLE: KindName = ("rbac.authorization.k8s.io/v1", "Role");
const ROLE_BINDING: KindName = ("rbac.authorization.k8s.io/v1", "RoleBinding");

async fn until_recorded(env: &TestEnv, objects: Vec<serde_json::Value>) {
    env.set_present(objects, Policies::default());
    env.until_operational().await;
    env.wait_until("recorded", async || {
        env.record().await.is_some_and(|record| record["spec"]["applied"] != "")
    })
    .await;
}

pub async fn s0_12_an_edited_field_is_healed_and_its_manager_reported(env: TestEnv) {
    until_recorded(&env, vec![config_map("settings", "1")]).await;
    env.merge_patch(CONFIG_MAP, "settings", json!({"data": {"key": "2"}}), "kubectl-edit").await;
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    let note = env.agent.drift().remove(0);
    assert_eq!(note.fields, ["/data/key"]);
    assert_eq!(note.manager, "kubectl-edit");
    assert_eq!(note.outcome, DriftOutcome::Healed);
    env.until_operational().await;
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "1");
}

pub async fn s0_12_a_deleted_object_is_re_created(env: TestEnv) {
    until_recorded(&env, vec![config_map("settings", "1")]).await;
    env.delete(CONFIG_MAP, "settings").await;
    env.wait_until("re-created", async || env.get(CONFIG_MAP, "settings").await.is_some()).await;
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    let note = env.agent.drift().remove(0);
    assert!(note.fields.is_empty(), "{note:?}");
    let uid = env.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["uid"].clone();
    let is_recorded = async || env.record().await.unwrap()["spec"]["resources"][0]["uid"] == uid;
    env.wait_until("recorded with the new uid", is_recorded).await;
}

pub async fn s0_12_a_deleted_deployment_is_re_created_and_becomes_operational(env: TestEnv) {
    until_recorded(&env, vec![workload("Deployment", "web", None)]).await;
    let before = env.get(DEPLOYMENT, "web").await.unwrap()["metadata"]["uid"].clone();
    env.delete(DEPLOYMENT, "web").await;
    let is_re_created =
        async || env.get(DEPLOYMENT, "web").await.is_some_and(|live| live["metadata"]["uid"] != before);
    env.wait_until("re-created", is_re_created).await;
    let is_available = async || {
        env.get(DEPLOYMENT, "web").await.is_some_and(|live| live["status"]["availableReplicas"] == 2)
    };
    env.wait_until("available", is_available).await;
    env.until_operational().await;
    // The pods of the deleted deployment are garbage-collected.
    env.wait_until("cleaned up", async || env.list(POD).await.len() == 2).await;
}

pub async fn a_field_added_by_another_manager_is_not_removed(env: TestEnv) {
    until_recorded(&env, vec![config_map("settings", "1")]).await;
    env.merge_patch(CONFIG_MAP, "settings", json!({"data": {"theirs": "2"}}), "kubectl-edit").await;
    // A second, drifting change proves that the first one was observed.
    env.merge_patch(CONFIG_MAP, "settings", json!({"data": {"key": "2"}}), "kubectl-edit").await;
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    assert_eq!(env.agent.drift()[0].fields, ["/data/key"]);
    env.until_operational().await;
    let live = env.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["data"], json!({"key": "1", "theirs": "2"}));
}

pub async fn a_deleted_namespace_is_re_created_with_its_objects(env: TestEnv) {
    let name = "deleted-and-re-created";
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = name.into();
    env.set_present(vec![object], Policies::default());
    env.until_operational().await;
    let before = env.get(NAMESPACE, name).await.unwrap()["metadata"]["uid"].clone();
    env.delete(NAMESPACE, name).await;
    let is_re_created =
        async || env.get(NAMESPACE, name).await.is_some_and(|live| live["metadata"]["uid"] != before);
    env.wait_until("re-created", is_re_created).await;
    env.until_operational().await;
}

pub async fn p13_an_edit_of_the_versions_of_a_definition_is_reverted(env: TestEnv) {
    const DEFINITION: KindName = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let name = "entries.edited.example.com";
    until_recorded(&env, vec![definition("edited.example.com")]).await;
    let mut versions = env.get(DEFINITION, name).await.unwrap()["spec"]["versions"].clone();
    versions[0]["additionalPrinterColumns"] =
        json!([{"name": "Zone", "type": "string", "jsonPath": ".spec.zones[0]"}]);
    env.merge_patch(DEFINITION, name, json!({"spec": {"versions": versions}}), "kubectl-edit").await;
    let fields = ["/spec/versions/0/additionalPrinterColumns"];
    until_healed(&env, (DEFINITION, name), "kubectl-edit", &fields, |live| {
        live["spec"]["versions"][0].get("additionalPrinterColumns").is_none()
    })
    .await;
}

pub async fn p13_a_field_that_comes_back_after_three_reverts_is_left_until_a_publish(env: TestEnv) {
    let objects = vec![config_map("settings", "1"), config_map("other", "1")];
    until_recorded(&env, objects.clone()).await;
    let value = async |name: &str| env.get(CONFIG_MAP, name).await.unwrap()["data"]["key"].clone();
    let edit = async |name: &str| {
        env.merge_patch(CONFIG_MAP, name, json!({"data": {"key": "2"}}), "other-controller").await;
    };
    for count in 1..=3 {
        edit("settings").await;
        env.wait_until("reverted", async || value("settings").await == "1").await;
        env.wait_until("reported", async || env.agent.drift().len() == count).await;
    }
    edit("settings").await;
    let is_contested = |report: &ReleaseReport| {
        let mut problems = report.resources.iter().filter_map(|resource| resource.problem.as_ref());
        report.sync == SyncStatus::Drifted && problems.any(|problem| problem.code == "Contested")
    };
    env.wait_for_report("contested", is_contested).await;
    // The drift of another object is healed, and the field is left.
    edit("other").await;
    env.wait_until("reverted", async || value("other").await == "1").await;
    env.wait_until("reported", async || env.agent.drift().len() == 5).await;
    let outcomes: Vec<DriftOutcome> = env.agent.drift().iter().map(|note| note.outcome).collect();
    assert_eq!(outcomes[3..], [DriftOutcome::Contested, DriftOutcome::Healed]);
    assert_eq!(value("settings").await, "2");

    // A person decides.
    env.set_present(objects, Policies::default());
    env.wait_until("reverted", async || value("settings").await == "1").await;
    env.until_operational().await;
    // What the publish reverts was drift.
    let outcomes: Vec<DriftOutcome> = env.agent.drift().iter().map(|note| note.outcome).collect();
    assert_eq!(outcomes[5..], [DriftOutcome::Healed]);
}

pub async fn p13_edits_of_a_role_its_binding_a_budget_and_a_cron_job_are_reverted(env: TestEnv) {
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]);
    let subjects = json!([{"kind": "ServiceAccount", "name": "reader", "namespace": env.namespace}]);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"});
    let objects = vec![
        json!({"apiVersion": ROLE.0, "kind": ROLE.1, "metadata": {"name": "reader"}, "rules": rules}),
        json!({"apiVersion": ROLE_BINDING.0, "kind": ROLE_BINDING.1, "metadata": {"name": "reader"},
            "roleRef": role, "subjects": subjects}),
        json!({"apiVersion": DISRUPTION_BUDGET.0, "kind": DISRUPTION_BUDGET.1, "metadata": {"name": "web"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}}),
        cron_job("nightly"),
    ];
    until_recorded(&env, objects).await;

    // Lists without a key that have as many items as in the manifest are compared by field; these have one more.
    let everything = json!([rules[0], {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    env.merge_patch(ROLE, "reader", json!({"rules": everything}), "kubectl-edit").await;
    until_healed(&env, (ROLE, "reader"), "kubectl-edit", &["/rules"], |live| live["rules"] == rules).await;
    let others =
        json!([subjects[0], {"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}]);
    env.merge_patch(ROLE_BINDING, "reader", json!({"subjects": others}), "kubectl-edit").await;
    until_healed(&env, (ROLE_BINDING, "reader"), "kubectl-edit", &["/subjects"], |live| {
        live["subjects"] == subjects
    })
    .await;
    let looser = json!({"spec": {"maxUnavailable": 2}});
    env.merge_patch(DISRUPTION_BUDGET, "web", looser, "kubectl-edit").await;
    until_healed(&env, (DISRUPTION_BUDGET, "web"), "kubectl-edit", &["/spec/maxUnavailable"], |live| {
        live["spec"]["maxUnavailable"] == 1
    })
    .await;
    env.merge_patch(CRON_JOB, "nightly", json!({"spec": {"schedule": "30 4 * * *"}}), "kubectl-edit").await;
    until_healed(&env, (CRON_JOB, "nightly"), "kubectl-edit", &["/spec/schedule"], |live| {
        live["spec"]["schedule"] == "0 0 1 1 *"
    })
    .await;
    env.until_operational().await;
}

/// Applies one object whose drift stays, and its bundle.
async fn apply_with_notice(
    env: &TestEnv,
    object: serde_json::Value,
) -> (DesiredRelease, std::sync::Arc<domain::bundle::Bundle>) {
    let bundle = env.bundle(vec![object]);
    let policies = Policies { drift: DriftPolicy::Notify, ..Policies::default() };
    let desired = env.set_bundle(bundle.clone(), policies);
    env.until_applied().await;
    (desired, bundle)
}

fn field_revert(desired: &DesiredRelease, drifted: &ResourceStatus, path: &str) -> FieldRevertRequest {
    FieldRevertRequest {
        id: format!("revert of {path}"),
        release: desired.release,
        object: drifted.object.clone(),
        paths: vec![path.to_owned()],
    }
}

async fn wait_for_answer(env: &TestEnv) -> (FieldRevertOutcome, ResourceStatus) {
    let report = env.wait_for_report("answered", |report| report.resources[0].field_revert.is_some()).await;
    let status = report.resources[0].clone();
    (status.field_revert.clone().unwrap(), status)
}

pub async fn e_9_of_two_drifted_fields_only_the_requested_one_is_reverted(env: TestEnv) {
    let mut object = config_map("settings", "1");
    object["data"]["mode"] = "fast".into();
    let (desired, bundle) = apply_with_notice(&env, object).await;
    let edit = json!({"data": {"key": "2", "mode": "slow", "theirs": "3"}});
    env.merge_patch(CONFIG_MAP, "settings", edit, "kubectl-edit").await;
    let report = env.wait_for_report("drifted", |report| report.resources[0].drifted.len() == 2).await;
    let request = field_revert(&desired, &report.resources[0], "/data/key");
    env.set_field_reverts(&desired, bundle.clone(), vec![request.clone()]);
    let (answer, status) = wait_for_answer(&env).await;
    assert_eq!(answer, FieldRevertOutcome { id: request.id.clone(), error: None });
    assert_eq!(status.drifted, ["/data/mode"]);
    let live = env.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["data"], json!({"key": "1", "mode": "slow", "theirs": "3"}));
    // The request was answered: the same change by hand stays, also while the hub repeats it.
    env.merge_patch(CONFIG_MAP, "settings", json!({"data": {"key": "4"}}), "kubectl-edit").await;
    env.wait_for_report("drifted again", |report| report.resources[0].drifted.len() == 2).await;
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "4");
    env.set_field_reverts(&desired, bundle.clone(), Vec::new());
    let is_forgotten = |report: &ReleaseReport| report.resources[0].field_revert.is_none();
    env.wait_for_report("not asked for any more", is_forgotten).await;
    let outcomes: Vec<DriftOutcome> = env.agent.drift().iter().map(|note| note.outcome).collect();
    assert!(outcomes.contains(&DriftOutcome::Healed), "{outcomes:?}");
    // A missing object has no field to write back.
    env.delete(CONFIG_MAP, "settings").await;
    env.wait_for_report("missing", |report| report.resources[0].available == Some(false)).await;
    let late = FieldRevertRequest { id: "of a missing object".to_owned(), ..request };
    env.set_field_reverts(&desired, bundle, vec![late]);
    let (answer, _) = wait_for_answer(&env).await;
    assert!(answer.error.unwrap().contains("not on the cluster"));
    assert_eq!(env.get(CONFIG_MAP, "settings").await, None);
}

pub async fn e_9_a_field_of_an_atomic_list_with_other_drift_is_not_reverted_alone(env: TestEnv) {
    let kind = ("networking.k8s.io/v1", "Ingress");
    let rules = |hosts: [&str; 2]| json!([{"host": hosts[0]}, {"host": hosts[1]}]);
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let object = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "front"},
        "spec": {"ingressClassName": "none", "defaultBackend": backend, "rules": rules(["a.example", "b.example"])}});
    let (desired, bundle) = apply_with_notice(&env, object).await;
    let edit = json!({"spec": {"rules": rules(["x.example", "y.example"])}});
    env.merge_patch(kind, "front", edit, "kubectl-edit").await;
    let report = env.wait_for_report("drifted", |report| report.resources[0].drifted.len() == 2).await;
    let path = "/spec/rules/0/host";
    assert_eq!(report.resources[0].drifted, [path, "/spec/rules/1/host"]);
    let one = field_revert(&desired, &report.resources[0], path);
    env.set_field_reverts(&desired, bundle.clone(), vec![one.clone()]);
    let (answer, _) = wait_for_answer(&env).await;
    let error = answer.error.unwrap();
    assert!(error.contains("can't be reverted alone") && error.contains("/spec/rules/1/host"), "{error}");
    let live = env.get(kind, "front").await.unwrap();
    assert_eq!(live["spec"]["rules"], rules(["x.example", "y.example"]));
    let both =
        FieldRevertRequest { id: "both".to_owned(), paths: report.resources[0].drifted.clone(), ..one };
    env.set_field_reverts(&desired, bundle, vec![both]);
    let is_reverted = |report: &ReleaseReport| report.resources[0].drifted.is_empty();
    env.wait_for_report("reverted", is_reverted).await;
    let live = env.get(kind, "front").await.unwrap();
    assert_eq!(live["spec"]["rules"], rules(["a.example", "b.example"]));
}
