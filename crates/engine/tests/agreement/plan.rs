//! The changes of a plan match those of the following publish (E-2).

use domain::plan::{ClusterPlan, HIDDEN_VALUE, PlannedAction, PlannedChange};
use domain::release::StageName;
use domain::workload::{ConflictPolicy, DeletionPolicy, DriftPolicy, Policies};
use serde_json::{Value, json};

use crate::apply::definition;
use crate::rejections::reject_bad_names;
use crate::test_env::*;

/// The planned change of the object with this name.
fn planned_change<'e>(plan: &'e ClusterPlan, name: &str) -> &'e PlannedChange {
    plan.objects
        .iter()
        .find(|change| change.object.name == name)
        .unwrap_or_else(|| panic!("{name}: {plan:#?}"))
}

/// The code of the finding that rejects an object.
fn rejection_code(plan: &ClusterPlan, name: &str) -> String {
    match &planned_change(plan, name).action {
        PlannedAction::Rejected { finding } => finding.code.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Publishes the objects and asserts that a plan of them is empty afterwards.
async fn publish_and_assert_no_op(env: &TestEnv, objects: Vec<Value>) {
    env.set_present(objects.clone(), Policies::default());
    env.until_operational().await;
    let plan = env.dry_run(objects, Policies::default()).await;
    assert!(plan.is_no_op(), "the plan after publishing is not empty: {plan:#?}");
    assert_eq!(plan.counts().unverified, 0);
}

fn secret(value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"password": value}})
}

fn service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})
}

pub async fn e_2_a_plan_of_new_objects_matches_the_publish(env: TestEnv) {
    let objects =
        vec![config_map("settings", "1"), secret("1"), service(), workload("Deployment", "web", None)];
    let plan = env.dry_run(objects.clone(), Policies::default()).await;
    assert!(plan.objects.iter().all(|change| change.action == PlannedAction::Create), "{plan:#?}");
    assert_eq!(plan.counts().unverified, 0);
    assert!(env.get(CONFIG_MAP, "settings").await.is_none(), "a plan writes nothing");
    publish_and_assert_no_op(&env, objects).await;
}

pub async fn e_2_a_plan_lists_exactly_the_fields_that_change(env: TestEnv) {
    let mut map = config_map("settings", "1");
    map["data"]["removed"] = "x".into();
    let before =
        vec![map, config_map("same", "1"), secret("1"), service(), workload("Deployment", "web", None)];
    publish_and_assert_no_op(&env, before).await;
    let mut changed = workload("Deployment", "web", None);
    changed["spec"]["replicas"] = 3.into();
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2".into();
    let after = vec![config_map("settings", "2"), config_map("same", "1"), secret("2"), changed];
    let plan = env.dry_run(after.clone(), Policies::default()).await;
    let fields = |name: &str| match &planned_change(&plan, name).action {
        PlannedAction::Change { fields, .. } => {
            let mut paths: Vec<String> = fields.iter().map(|field| field.path.clone()).collect();
            paths.sort();
            (paths, fields.clone())
        }
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(fields("settings").0, ["/data/key", "/data/removed"]);
    assert_eq!(
        fields("web").0,
        ["/spec/replicas", "/spec/template/spec/containers[name=web]/image"],
        "defaults and status are no change"
    );
    let (paths, values) = fields("key");
    assert_eq!(paths, ["/data/password"]);
    assert!(values.iter().all(|field| field.desired == Some(HIDDEN_VALUE.into())), "{values:?}");
    assert_eq!(planned_change(&plan, "same").action, PlannedAction::Unchanged);
    assert_eq!(
        planned_change(&plan, "front").action,
        PlannedAction::Delete,
        "objects missing from the new revision are deleted"
    );
    publish_and_assert_no_op(&env, after).await;
    let live = env.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["data"], json!({"key": "2"}));
    assert!(env.get(("v1", "Service"), "front").await.is_none());
}

pub async fn e_2_a_quantity_that_the_server_writes_in_another_form_is_no_change(env: TestEnv) {
    let mut web = workload("Deployment", "web", None);
    web["spec"].as_object_mut().unwrap().remove("replicas");
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"}, "spec": {"minReplicas": 1, "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "metrics": [{"type": "External", "external": {"metric": {"name": "queue"},
                "target": {"type": "AverageValue", "averageValue": "0.5"}}}]}});
    env.set_present(vec![web.clone(), scaler.clone()], Policies::default());
    env.until_applied().await;
    let plan = env.dry_run(vec![web, scaler], Policies::default()).await;
    assert!(plan.is_no_op(), "{plan:#?}");
    // A later drift is healed, which proves that the stored form was observed.
    let kind = ("autoscaling/v2", "HorizontalPodAutoscaler");
    env.merge_patch(kind, "web", json!({"spec": {"maxReplicas": 5}}), "kubectl-edit").await;
    env.wait_until("healed", async || env.get(kind, "web").await.unwrap()["spec"]["maxReplicas"] == 9).await;
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    assert_eq!(env.agent.drift()[0].fields, ["/spec/maxReplicas"]);
}

pub async fn e_2_a_plan_of_a_removal_lists_the_deleted_objects(env: TestEnv) {
    publish_and_assert_no_op(&env, vec![config_map("a", "1"), config_map("b", "1")]).await;
    let plan_removal = async |deletion| {
        let phase = domain::report::DesiredPhase::Absent { deletion, policies: Policies::default() };
        env.agent.engine.dry_run("shop", Some(env.release), &phase, &domain::bundle::Bundle::default()).await
    };
    let orphaning = plan_removal(DeletionPolicy::Orphan).await;
    assert_eq!((orphaning.counts().orphan, orphaning.counts().delete), (2, 0));
    let deleting = plan_removal(DeletionPolicy::Foreground).await;
    assert_eq!((deleting.counts().orphan, deleting.counts().delete), (0, 2));
    env.delete(CONFIG_MAP, "a").await;
    env.set_absent(DeletionPolicy::Foreground);
    env.until_gone().await;
    assert!(env.get(CONFIG_MAP, "b").await.is_none());
    assert_eq!(plan_removal(DeletionPolicy::Foreground).await, ClusterPlan::default());
}

pub async fn g406_a_change_of_an_immutable_field_is_rejected_by_plan_and_publish(env: TestEnv) {
    publish_and_assert_no_op(&env, vec![workload("Deployment", "web", None)]).await;
    let mut moved = workload("Deployment", "web", None);
    moved["spec"]["selector"]["matchLabels"]["tier"] = "front".into();
    moved["spec"]["template"]["metadata"]["labels"]["tier"] = "front".into();
    let plan = env.dry_run(vec![moved.clone()], Policies::default()).await;
    assert_eq!(rejection_code(&plan, "web"), "G406");
    env.set_present(vec![moved], Policies::default());
    env.until_stage_reason(StageName::Applied, "ImmutableField").await;
}

fn priority_class(name: &str, value: u32, preemption: &str) -> Value {
    json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
        "value": value, "preemptionPolicy": preemption})
}

/// Objects with a field that cannot be changed, each with this field, which has another value if it `is_changed`.
fn unchangeable(is_changed: bool) -> [(Value, &'static str); 8] {
    let named = |(version, kind): KindName, name: &str, mut object: Value| {
        object["apiVersion"] = version.into();
        object["kind"] = kind.into();
        object["metadata"] = json!({"name": format!("unchangeable-{name}")});
        object
    };
    let value = if is_changed { "two" } else { "one" };
    let selecting = |kind: &str, name: &str| {
        let mut object = workload(kind, name, None);
        object["spec"]["selector"]["matchLabels"]["tier"] = value.into();
        object["spec"]["template"]["metadata"]["labels"]["tier"] = value.into();
        object
    };
    let volume = json!({"spec": {"storageClassName": "unchangeable", "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"}, "hostPath": {"path": format!("/{value}")}}});
    let key = if is_changed { "dHdv" } else { "b25l" };
    let role = if is_changed { "edit" } else { "view" };
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role});
    let binding = ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");
    let controller = json!({"spec": {"controller": format!("example.com/{value}")}});
    let ingress_class = ("networking.k8s.io/v1", "IngressClass");
    let runtime_class = ("node.k8s.io/v1", "RuntimeClass");
    [
        (named(CONFIG_MAP, "map", json!({"immutable": true, "data": {"key": value}})), "data"),
        (named(binding, "members", json!({"roleRef": role})), "roleRef"),
        (named(ingress_class, "ingresses", controller), "spec.controller"),
        (named(runtime_class, "runtime", json!({"handler": value})), "handler"),
        (named(("v1", "Secret"), "key", json!({"immutable": true, "data": {"key": key}})), "data"),
        (named(("v1", "PersistentVolume"), "volume", volume), "spec.persistentvolumesource"),
        (selecting("DaemonSet", "unchangeable-agent"), "spec.selector"),
        (selecting("ReplicaSet", "unchangeable-set"), "spec.selector"),
    ]
}

pub async fn g406_fields_of_every_kind_that_cannot_be_changed_are_recognised(env: TestEnv) {
    let storage = |policy: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "unchangeable-disk"},
            "provisioner": "disk.example.com", "reclaimPolicy": policy})
    };
    let secret = |kind: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "unchangeable-login"},
            "type": kind, "data": {"a": "eA=="}})
    };
    let bound = |role: &str| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "unchangeable-binding"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}})
    };
    let priorities = |value: u32, preemption: &str| {
        [
            priority_class("unchangeable", value, "PreemptLowerPriority"),
            priority_class("unchangeable-preemption", 1000, preemption),
        ]
    };
    let mut first = vec![storage("Delete"), secret("example.com/one"), bound("view")];
    first.extend(priorities(1000, "PreemptLowerPriority"));
    first.extend(unchangeable(false).map(|(object, _)| object));
    publish_and_assert_no_op(&env, first).await;
    let mut changed = vec![storage("Retain"), secret("example.com/two"), bound("edit")];
    changed.extend(priorities(2000, "Never"));
    changed.extend(unchangeable(true).map(|(object, _)| object));
    let plan = env.dry_run(changed.clone(), Policies::default()).await;
    let further = unchangeable(true).map(|(object, field)| (object["metadata"]["name"].clone(), field));
    let fields = [
        ("unchangeable".into(), "value"),
        ("unchangeable-preemption".into(), "preemptionPolicy"),
        ("unchangeable-disk".into(), "reclaimPolicy"),
        ("unchangeable-login".into(), "type"),
        ("unchangeable-binding".into(), "roleRef"),
    ];
    for (name, field) in fields.into_iter().chain(further) {
        let name: &str = name.as_str().unwrap();
        let PlannedAction::Rejected { finding } = &planned_change(&plan, name).action else {
            panic!("{plan:#?}")
        };
        assert_eq!(finding.code, "G406", "{finding:#?}");
        assert!(finding.message.contains(field), "{finding:#?}");
        assert!(finding.hint.starts_with("Rename the object, or delete it"), "{finding:#?}");
    }
    env.set_present(changed, Policies::default());
    env.until_stage_reason(StageName::Applied, "ImmutableField").await;
}

pub async fn g406_objects_of_later_ranks_wait_for_an_object_whose_field_cannot_be_changed(env: TestEnv) {
    let objects = |value: u32| {
        vec![
            priority_class("unchangeable-harbour", value, "PreemptLowerPriority"),
            config_map("harbour", &value.to_string()),
        ]
    };
    let value = async || env.get(CONFIG_MAP, "harbour").await.unwrap()["data"]["key"].clone();
    publish_and_assert_no_op(&env, objects(1000)).await;
    // A person publishes although the plan rejects the class: what may depend on it is not applied.
    env.set_present(objects(2000), Policies::default());
    let (report, message) = env.until_stage_reason(StageName::Applied, "ImmutableField").await;
    assert!(message.contains("unchangeable-harbour") && message.contains("field value"), "{message}");
    assert_eq!((report.applied, value().await), (None, "1000".into()));
    // What the hint advises.
    env.delete(("scheduling.k8s.io/v1", "PriorityClass"), "unchangeable-harbour").await;
    env.until_applied().await;
    assert_eq!(value().await, "2000");
}

/// What `kubectl apply` accepts as a list, beside what only looks like one.
const LISTS: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleList
items:
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: reader-a}
    rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
  - metadata: {name: reader-b}
    rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]
---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: ConfigMapList
    items:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: nested}, data: {a: "1"}}
---
apiVersion: listed.example.com/v1
kind: AllowList
metadata: {name: offices}
spec: {size: 8}
---
apiVersion: v1
kind: ConfigMapList
items: []
"#;

pub async fn e_2_lists_of_every_form_are_planned_and_published_as_their_items(env: TestEnv) {
    let file = domain::workload::SourceFile { name: "lists.yaml".into(), text: LISTS.into() };
    let parsed = domain::manifest::parse(&[file]);
    assert_eq!(parsed.findings, []);
    let objects = parsed.objects();
    env.create(definition("listed.example.com", "AllowList"), "kubectl").await;
    let plan = async || env.dry_run(objects.clone(), Policies::default()).await;
    env.wait_until("a plan without findings", async || plan().await.findings().next().is_none()).await;
    let plan = plan().await;
    let mut planned: Vec<(&str, &str)> = plan
        .objects
        .iter()
        .map(|change| (change.object.kind.as_str(), change.object.name.as_str()))
        .collect();
    planned.sort_unstable();
    let expected =
        [("AllowList", "offices"), ("ConfigMap", "nested"), ("Role", "reader-a"), ("Role", "reader-b")];
    assert_eq!(planned, expected);
    assert!(plan.objects.iter().all(|change| change.action == PlannedAction::Create), "{plan:#?}");
    publish_and_assert_no_op(&env, objects.clone()).await;
    let role = env.get(("rbac.authorization.k8s.io/v1", "Role"), "reader-b").await.unwrap();
    assert_eq!(role["rules"][0]["verbs"], json!(["list"]));
    let list = env.get(("listed.example.com/v1", "AllowList"), "offices").await.unwrap();
    assert_eq!(list["spec"]["size"], 8);
}

pub async fn g404_admission_rejects_plan_and_publish(env: TestEnv) {
    reject_bad_names(&env).await;
    let objects = vec![config_map("bad", "1"), config_map("good", "1")];
    let plan = env.dry_run(objects.clone(), Policies::default()).await;
    assert_eq!(rejection_code(&plan, "bad"), "G404");
    assert_eq!(planned_change(&plan, "good").action, PlannedAction::Create);
    env.set_present(objects, Policies::default());
    env.until_stage_reason(StageName::Applied, "AdmissionRejected").await;
    assert!(env.get(CONFIG_MAP, "good").await.is_some());
}

pub async fn g409_fields_of_another_manager_conflict_in_plan_and_publish(env: TestEnv) {
    env.apply_as(config_map("settings", "theirs"), "terraform").await;
    let objects = vec![config_map("settings", "ours")];
    let plan = env.dry_run(objects.clone(), Policies::default()).await;
    assert_eq!(rejection_code(&plan, "settings"), "G409");
    let message = &plan.findings().next().unwrap().message;
    assert!(message.contains("terraform"), "{message}");
    env.set_present(objects, Policies::default());
    env.until_stage_reason(StageName::Applied, "ApplyConflict").await;
    let live = env.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["data"]["key"], "theirs");
}

pub async fn g409_a_changed_field_is_drift_of_an_unchanged_object_and_conflicts_with_a_changed_one(
    env: TestEnv,
) {
    let objects = |value: &str, other: &str| vec![config_map("settings", value), config_map("other", other)];
    let notify = Policies { drift: DriftPolicy::Notify, ..Policies::default() };
    env.set_present(objects("ours", "1"), notify.clone());
    env.until_operational().await;
    env.merge_patch(CONFIG_MAP, "settings", json!({"data": {"key": "theirs"}}), "kubectl-edit").await;
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    let value = async |name: &str| env.get(CONFIG_MAP, name).await.unwrap()["data"]["key"].clone();

    // A revision that does not change the object leaves its drift to the policy.
    let plan = env.dry_run(objects("ours", "2"), notify.clone()).await;
    assert_eq!(planned_change(&plan, "settings").action, PlannedAction::Unchanged);
    env.set_present(objects("ours", "2"), notify.clone());
    env.wait_until("published", async || value("other").await == "2").await;
    env.until_applied().await;
    assert_eq!(value("settings").await, "theirs");

    // One that changes it is an update, which takes no field from another manager.
    let plan = env.dry_run(objects("new", "2"), notify.clone()).await;
    assert_eq!(rejection_code(&plan, "settings"), "G409");

    let plan = env.dry_run(objects("ours", "3"), Policies::default()).await;
    let PlannedAction::Change { fields, .. } = &planned_change(&plan, "settings").action else {
        panic!("{plan:#?}")
    };
    assert_eq!(fields.iter().map(|field| field.path.as_str()).collect::<Vec<_>>(), ["/data/key"]);
    env.set_present(objects("ours", "3"), Policies::default());
    env.until_operational().await;
    assert_eq!(value("settings").await, "ours");
}

pub async fn g409_a_copied_label_of_another_workload_is_no_conflict_of_owners(env: TestEnv) {
    let other = domain::ReleaseId::from_parts(1_600_000_000_000, 1).to_string();
    let mut copy = config_map("settings", "1");
    copy["metadata"]["labels"] = json!({"flotilla.dev/release": other});
    env.create(copy, "operator").await;
    let objects = vec![config_map("settings", "1")];
    // What conflicts is the label itself, which the operator wrote.
    let plan = env.dry_run(objects.clone(), Policies::default()).await;
    assert_eq!(rejection_code(&plan, "settings"), "G409");
    let message = plan.findings().next().unwrap().message.clone();
    assert!(message.contains("operator") && !message.contains("belongs to workload"), "{message}");
    env.set_present(objects.clone(), Policies::default());
    let (_, message) = env.until_stage_reason(StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("operator"), "{message}");
    let force = Policies { conflict: ConflictPolicy::Force, ..Policies::default() };
    let plan = env.dry_run(objects.clone(), force.clone()).await;
    assert!(!matches!(planned_change(&plan, "settings").action, PlannedAction::Rejected { .. }), "{plan:#?}");
    env.set_present(objects, force);
    env.until_operational().await;
    let live = env.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["metadata"]["labels"][engine::RELEASE_LABEL], env.release.to_string());
}

pub async fn g409_a_plan_requested_before_the_first_release_is_no_conflict_with_it(env: TestEnv) {
    let objects = vec![config_map("settings", "1")];
    env.set_present(objects.clone(), Policies::default());
    env.until_operational().await;
    let bundle = env.bundle(objects);
    let dry_run = async |workload: &str| {
        env.agent.engine.dry_run(workload, None, &present_phase(Policies::default()), &bundle).await
    };
    assert!(dry_run("shop").await.is_no_op(), "the workload itself owns the object by now");
    assert_eq!(rejection_code(&dry_run("other").await, "settings"), "G409");
}

pub async fn g401_an_unknown_kind_fails_plan_and_publish(env: TestEnv) {
    let mut widget = config_map("x", "1");
    widget["apiVersion"] = "nowhere.example.com/v1".into();
    widget["kind"] = "Widget".into();
    let plan = env.dry_run(vec![widget.clone()], Policies::default()).await;
    assert_eq!(rejection_code(&plan, "x"), "G401");
    env.set_present(vec![widget], Policies::default());
    env.until_stage_reason(StageName::Preflight, "ApiMissing").await;
}

pub async fn g407_an_exhausted_quota_rejects_plan_and_publish(env: TestEnv) {
    // The quotas of the simulated cluster count only pods.
    if env.control_plane().is_none() {
        return;
    }
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
        "spec": {"hard": {"count/secrets": "0"}}});
    env.create(quota, "test").await;
    let is_counted = async || {
        let quota = env.get(("v1", "ResourceQuota"), "small").await.unwrap();
        quota["status"]["hard"]["count/secrets"] == "0"
    };
    env.wait_until("in effect", is_counted).await;
    let objects = vec![secret("1"), config_map("settings", "1")];
    let plan = env.dry_run(objects.clone(), Policies::default()).await;
    assert_eq!(rejection_code(&plan, "key"), "G407");
    assert_eq!(planned_change(&plan, "settings").action, PlannedAction::Create);
    env.set_present(objects, Policies::default());
    env.until_stage_reason(StageName::Applied, "AdmissionRejected").await;
}
