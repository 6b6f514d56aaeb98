//! Server-side apply: field ownership, order, definitions and namespaces.

use domain::plan::PlannedAction;
use domain::release::StageName;
use domain::workload::{ConflictPolicy, Policies};
use futures::StreamExt as _;
use kube::api::{WatchEvent, WatchParams};
use serde_json::{Value, json};

use crate::test_agent::TestAgent;
use crate::test_env::*;

pub async fn s4_5_p26_a_second_pass_writes_nothing(mut env: TestEnv) {
    let objects = vec![config_map("settings", "1"), workload("Deployment", "web", None)];
    env.set_present(objects.clone(), Policies::default());
    env.until_operational().await;
    let version_of =
        |object: Value| (object["metadata"]["generation"].clone(), object["metadata"]["uid"].clone());
    let before = env.get(CONFIG_MAP, "settings").await.unwrap();
    let deployment = version_of(env.get(DEPLOYMENT, "web").await.unwrap());
    env.restart_agent_ahead(std::time::Duration::ZERO, objects).await;
    env.until_operational().await;
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap(), before);
    assert_eq!(version_of(env.get(DEPLOYMENT, "web").await.unwrap()), deployment);
    let managers = before["metadata"]["managedFields"].as_array().unwrap();
    let ours: Vec<&Value> =
        managers.iter().filter(|entry| entry["manager"] == engine::FIELD_MANAGER).collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(ours[0]["operation"], "Apply");
    assert_eq!(ours[0]["fieldsV1"]["f:data"], json!({"f:key": {}}));
}

pub async fn s3_8_the_record_contains_the_uid_of_every_object(env: TestEnv) {
    env.set_present(vec![config_map("a", "1"), config_map("b", "1")], Policies::default());
    let report = env.until_operational().await;
    let digest = report.applied.unwrap();
    let is_recorded =
        async || env.record().await.is_some_and(|record| record["spec"]["applied"] == digest.as_str());
    env.wait_until("recorded", is_recorded).await;
    let record = env.record().await.unwrap();
    assert_eq!(record["metadata"]["finalizers"], json!(["flotilla.dev/applied-cleanup"]));
    for name in ["a", "b"] {
        let live = env.get(CONFIG_MAP, name).await.unwrap();
        let entries = record["spec"]["resources"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["name"] == name).unwrap();
        assert_eq!(entry["uid"], live["metadata"]["uid"]);
    }
}

async fn assert_conflict(env: &TestEnv) {
    env.set_present(vec![config_map("settings", "ours")], Policies::default());
    let (report, message) = env.until_stage_reason(StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("someone-else") && message.contains("key"), "{message}");
    assert_eq!(report.resources[0].problem.as_ref().unwrap().code, "ApplyConflict");
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "theirs");
}

pub async fn p13_fields_written_by_another_manager_conflict_with_its_name(env: TestEnv) {
    env.create(config_map("settings", "theirs"), "someone-else").await;
    assert_conflict(&env).await;
}

pub async fn p13_fields_applied_by_another_manager_conflict_with_its_name(env: TestEnv) {
    env.apply_as(config_map("settings", "theirs"), "someone-else").await;
    assert_conflict(&env).await;
}

pub async fn the_take_over_policy_forces_fields_of_another_manager(env: TestEnv) {
    env.apply_as(config_map("settings", "theirs"), "someone-else").await;
    let policies = Policies { conflict: ConflictPolicy::Force, ..Policies::default() };
    env.set_present(vec![config_map("settings", "ours")], policies);
    env.until_applied().await;
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap()["data"]["key"], "ours");
}

/// A definition of `kind`, which is unique to a scenario.
pub fn definition(group: &str, kind: &str) -> Value {
    let lower = kind.to_lowercase();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{lower}s.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": format!("{lower}s"), "singular": lower, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}})
}

pub async fn an_object_is_applied_after_its_definition(env: TestEnv) {
    let object = json!({"apiVersion": "follows.example.com/v1", "kind": "Lamp",
        "metadata": {"name": "a"}, "spec": {"size": 3}});
    env.set_present(vec![definition("follows.example.com", "Lamp"), object], Policies::default());
    env.until_applied().await;
    let live = env.get(("follows.example.com/v1", "Lamp"), "a").await.unwrap();
    assert_eq!(live["spec"]["size"], 3);
}

pub async fn r_8_a_missing_namespace_is_created(env: TestEnv) {
    let namespace = "created-by-the-engine";
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = namespace.into();
    env.set_present(vec![object], Policies::default());
    env.until_applied().await;
    assert!(env.get(NAMESPACE, namespace).await.is_some());
    env.set_absent(domain::workload::DeletionPolicy::Foreground);
    env.until_gone().await;
    let live = env.get(NAMESPACE, namespace).await.unwrap();
    assert!(live["metadata"].get("deletionTimestamp").is_none());
}

pub async fn r_8_without_the_policy_a_missing_namespace_is_awaited(env: TestEnv) {
    let name = "created-by-a-user";
    let mut object = config_map("settings", "1");
    object["metadata"]["namespace"] = name.into();
    env.set_present(vec![object], Policies { create_namespace: false, ..Policies::default() });
    env.until_stage_reason(StageName::Preflight, "NamespaceMissing").await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    env.create(namespace, "kubectl").await;
    env.until_applied().await;
}

pub async fn an_unknown_kind_is_awaited(env: TestEnv) {
    let object = json!({"apiVersion": "waits.example.com/v1", "kind": "Lamp",
        "metadata": {"name": "a"}, "spec": {"size": 3}});
    env.set_present(vec![object], Policies::default());
    env.until_stage_reason(StageName::Preflight, "ApiMissing").await;
    env.create(definition("waits.example.com", "Lamp"), "kubectl").await;
    env.until_applied().await;
    let other = TestAgent::start(env.client(), &env.hub, std::time::Duration::ZERO).await;
    let facts = other.engine.read_facts().await.unwrap();
    assert_eq!(facts.serves("waits.example.com", "v1", "Lamp"), Some(true));
    assert_eq!(facts.serves("waits.example.com", "v2", "Lamp"), Some(false));
}

pub async fn an_identical_object_is_adopted_with_its_label(env: TestEnv) {
    let mut settings = config_map("settings", "1");
    settings["metadata"]["labels"] = json!({"team": "shop"});
    settings["metadata"]["annotations"] = json!({"owner": "ann"});
    env.create(settings.clone(), "kubectl-create").await;
    let policies = Policies { conflict: ConflictPolicy::IfIdentical, ..Policies::default() };
    let plan = env.dry_run(vec![settings.clone()], policies.clone()).await;
    assert_eq!(plan.objects[0].action, PlannedAction::Unchanged, "{plan:#?}");
    env.set_present(vec![settings.clone()], policies.clone());
    env.until_applied().await;
    let live = env.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["metadata"]["labels"][engine::RELEASE_LABEL], env.release.to_string());

    env.create(config_map("other", "theirs"), "kubectl-create").await;
    let plan = env.dry_run(vec![settings, config_map("other", "ours")], policies).await;
    let PlannedAction::Rejected { finding } = &plan.objects[1].action else { panic!("{plan:#?}") };
    assert!(finding.message.contains("/data/key"), "{finding:#?}");
}

/// A Secret whose revisions have the given content: keys are renamed, changed and deleted by hand.
async fn assert_a_removed_key_disappears(env: &TestEnv, secret: impl Fn(&[(&str, &str)]) -> Value) {
    env.set_present(vec![secret(&[("user", "ann"), ("token", "old")])], Policies::default());
    env.until_operational().await;
    let next = secret(&[("login", "ann"), ("token", "new")]);
    let plan = env.dry_run(vec![next.clone()], Policies::default()).await;
    let PlannedAction::Change { fields, .. } = &plan.objects[0].action else { panic!("{plan:#?}") };
    let change = |path: &str| {
        let field = fields.iter().find(|field| field.path == path).unwrap_or_else(|| panic!("{fields:#?}"));
        (field.live.is_some(), field.desired.is_some())
    };
    assert_eq!(fields.len(), 3, "{fields:#?}");
    assert_eq!(change("/data/user"), (true, false));
    assert_eq!(change("/data/login"), (false, true));
    assert_eq!(change("/data/token"), (true, true));
    env.set_present(vec![next], Policies::default());
    let is_changed = async || {
        let live = env.get(("v1", "Secret"), "login").await.unwrap();
        live["data"] == json!({"login": "YW5u", "token": "bmV3"})
    };
    env.wait_until("the key removed", is_changed).await;
    // A key that somebody deletes is restored.
    env.merge_patch(("v1", "Secret"), "login", json!({"data": {"login": null}}), "kubectl-edit").await;
    env.wait_until("restored", is_changed).await;
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    assert_eq!(env.agent.drift()[0].fields, ["/data/login"]);
}

fn secret_with(field: &str, content: Value) -> Value {
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}});
    secret[field] = content;
    secret
}

pub async fn p13_a_key_taken_out_of_string_data_is_removed(env: TestEnv) {
    let secret = |texts: &[(&str, &str)]| {
        let content: serde_json::Map<String, Value> =
            texts.iter().map(|(key, text)| ((*key).to_owned(), Value::from(*text))).collect();
        secret_with("stringData", content.into())
    };
    assert_a_removed_key_disappears(&env, secret).await;
}

/// The text of a value in base64.
fn encoded(text: &str) -> &'static str {
    match text {
        "ann" => "YW5u",
        "old" => "b2xk",
        _ => "bmV3",
    }
}

pub async fn p13_a_key_taken_out_of_the_data_of_a_secret_is_removed(env: TestEnv) {
    let secret = |texts: &[(&str, &str)]| {
        let content: serde_json::Map<String, Value> =
            texts.iter().map(|(key, text)| ((*key).to_owned(), Value::from(encoded(text)))).collect();
        secret_with("data", content.into())
    };
    assert_a_removed_key_disappears(&env, secret).await;
}

pub async fn p13_an_injected_bundle_is_left_to_the_injector(env: TestEnv) {
    const WEBHOOK: KindName = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
    let webhook = |name: &str, bundle: Value| {
        json!({"apiVersion": WEBHOOK.0, "kind": WEBHOOK.1, "metadata": {"name": name}, "webhooks": [{
            "name": "checks.injected.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": bundle},
            "rules": [{"apiGroups": ["injected.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["lamps"]}]}]})
    };
    // A certificate is not parsed before the webhook is called.
    let (own, injected, other) = ("b3duCg==", "aW5qZWN0ZWQK", "b3RoZXIK");
    let objects = |own: &str, setting: &str| {
        vec![
            webhook("empty.injected.example.com", "".into()),
            webhook("own.injected.example.com", own.into()),
            config_map("settings", setting),
        ]
    };
    env.set_present(objects(own, "1"), Policies::default());
    env.until_operational().await;
    let inject = async |name: &str, bundle: &str| {
        let mut live = env.get(WEBHOOK, name).await.unwrap();
        live["webhooks"][0]["clientConfig"]["caBundle"] = bundle.into();
        env.merge_patch(WEBHOOK, name, json!({"webhooks": live["webhooks"]}), "cainjector").await;
    };
    let bundle_of = async |name: &str| {
        env.get(WEBHOOK, name).await.unwrap()["webhooks"][0]["clientConfig"]["caBundle"].clone()
    };
    inject("empty.injected.example.com", injected).await;
    // A bundle that the manifest has is drift if it changes; its report proves that the other change was observed.
    inject("own.injected.example.com", other).await;
    env.wait_until("reverted", async || bundle_of("own.injected.example.com").await == own).await;
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    // A publish of another object does not take it away either.
    env.set_present(objects(own, "2"), Policies::default());
    env.until_applied().await;
    assert_eq!(bundle_of("empty.injected.example.com").await, injected);
    let drift = env.agent.drift();
    assert!(drift.iter().all(|note| note.object.name == "own.injected.example.com"), "{drift:#?}");
}

const AUTOSCALER: KindName = ("autoscaling/v2", "HorizontalPodAutoscaler");

/// An autoscaler of the Deployment `web`, with at most 9 replicas.
fn autoscaler(name: &str, min: u32) -> Value {
    json!({"apiVersion": AUTOSCALER.0, "kind": AUTOSCALER.1, "metadata": {"name": name},
        "spec": {"minReplicas": min, "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50}}}]}})
}

async fn replicas(env: &TestEnv) -> Value {
    env.get(DEPLOYMENT, "web").await.unwrap()["spec"]["replicas"].clone()
}

/// Scales the Deployment `web`, as the controller of autoscalers does.
async fn scale(env: &TestEnv, replicas: u32) {
    let patch = json!({"spec": {"replicas": replicas}});
    env.merge_patch(DEPLOYMENT, "web", patch, "kube-controller-manager").await;
}

pub async fn p13_replicas_are_left_to_an_autoscaler_outside_of_the_bundle(env: TestEnv) {
    env.create(autoscaler("theirs", 4), "kubectl-create").await;
    let revision = |image: &str| {
        let mut web = workload("Deployment", "web", None);
        web["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        web["metadata"]["labels"] = json!({"tier": "front"});
        web
    };
    env.set_present(vec![revision("nginx:1")], Policies::default());
    env.until_applied().await;
    let scaled = async || replicas(&env).await == 4;
    env.wait_until("scaled", async || {
        // The controller of the control plane may scale it first.
        scale(&env, 4).await;
        env.until_operational().await;
        scaled().await
    })
    .await;
    // A later drift is healed, which proves that the scaling was observed.
    env.merge_patch(DEPLOYMENT, "web", json!({"metadata": {"labels": {"tier": "back"}}}), "kubectl-edit")
        .await;
    env.wait_until("healed", async || {
        env.get(DEPLOYMENT, "web").await.unwrap()["metadata"]["labels"]["tier"] == "front"
    })
    .await;
    assert!(scaled().await, "replicas are no drift");
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    assert_eq!(env.agent.drift()[0].fields, ["/metadata/labels/tier"]);

    let plan = env.dry_run(vec![revision("nginx:2")], Policies::default()).await;
    let PlannedAction::Change { fields, .. } = &plan.objects[0].action else { panic!("{plan:#?}") };
    assert_eq!(fields.len(), 1, "{fields:#?}");
    env.set_present(vec![revision("nginx:2")], Policies::default());
    env.until_applied().await;
    assert!(scaled().await, "a publish keeps the replicas too");

    // Flotilla owns the field by now, with the value of the autoscaler.
    let live = env.get(DEPLOYMENT, "web").await.unwrap();
    let mut managers = live["metadata"]["managedFields"].as_array().unwrap().iter();
    let ours = managers.find(|entry| entry["manager"] == engine::FIELD_MANAGER).unwrap();
    assert_eq!(ours["fieldsV1"]["f:spec"]["f:replicas"], json!({}));
    env.delete(AUTOSCALER, "theirs").await;
    env.wait_until("the replicas of the manifest", async || replicas(&env).await == 2).await;
    let is_reported = async || env.agent.drift().iter().any(|note| note.fields == ["/spec/replicas"]);
    env.wait_until("reported", is_reported).await;
}

pub async fn p13_replicas_never_change_while_a_revision_leaves_them_to_an_autoscaler(env: TestEnv) {
    let mut web = workload("Deployment", "web", None);
    web["spec"]["replicas"] = 4.into();
    env.set_present(vec![web.clone()], Policies::default());
    env.until_operational().await;
    let before = env.get(DEPLOYMENT, "web").await.unwrap();
    let version = before["metadata"]["resourceVersion"].as_str().unwrap();
    let deployments = env.api(DEPLOYMENT);
    let mut changes = deployments.watch(&WatchParams::default(), version).await.unwrap().boxed();

    web["spec"].as_object_mut().unwrap().remove("replicas");
    env.set_present(vec![web, autoscaler("own", 2)], Policies::default());
    let hash = |live: &Value| live["metadata"]["annotations"]["flotilla.dev/hash"].clone();
    env.wait_until("applied", async || {
        let live = env.get(DEPLOYMENT, "web").await.unwrap();
        hash(&live) != hash(&before) && env.get(AUTOSCALER, "own").await.is_some()
    })
    .await;
    scale(&env, 7).await;
    loop {
        match changes.next().await.unwrap().unwrap() {
            WatchEvent::Modified(live) if live.data["spec"]["replicas"] == 7 => break,
            WatchEvent::Modified(live) => assert_eq!(live.data["spec"]["replicas"], 4),
            WatchEvent::Bookmark(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

pub async fn p13_replicas_are_taken_back_from_an_autoscaler_that_a_revision_drops(env: TestEnv) {
    let web = |replicas: Option<u32>| {
        let mut web = workload("Deployment", "web", None);
        web["metadata"]["labels"] = json!({"tier": "front"});
        match replicas {
            Some(count) => web["spec"]["replicas"] = count.into(),
            None => drop(web["spec"].as_object_mut().unwrap().remove("replicas")),
        }
        web
    };
    env.set_present(vec![web(Some(4))], Policies::default());
    env.until_applied().await;
    env.set_present(vec![web(None), autoscaler("own", 2)], Policies::default());
    env.until_applied().await;
    assert_eq!(replicas(&env).await, 4, "the number before is kept, not reset to one");
    let is_recorded = async || {
        env.record().await.is_some_and(|record| {
            let entries = record["spec"]["resources"].as_array().unwrap();
            entries.iter().any(|entry| entry["kind"] == AUTOSCALER.1 && entry["uid"].is_string())
        })
    };
    env.wait_until("recorded", is_recorded).await;
    scale(&env, 7).await;
    // A later drift is healed, which proves that the scaling was observed.
    let patch = json!({"metadata": {"labels": {"tier": "back"}}});
    env.merge_patch(DEPLOYMENT, "web", patch, "kubectl-edit").await;
    let is_healed =
        async || env.get(DEPLOYMENT, "web").await.unwrap()["metadata"]["labels"]["tier"] == "front";
    env.wait_until("healed", is_healed).await;
    assert_eq!(replicas(&env).await, 7);

    let plan = env.dry_run(vec![web(Some(3))], Policies::default()).await;
    let PlannedAction::Rejected { finding } = &plan.objects[0].action else { panic!("{plan:#?}") };
    assert!(finding.code == "G409" && finding.message.contains("spec.replicas"), "{finding:#?}");
    assert!(finding.message.contains("kube-controller-manager"), "the scaler is named: {finding:#?}");
    env.set_present(vec![web(Some(3))], Policies::default());
    let (_, message) = env.until_stage_reason(StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("kube-controller-manager"), "{message}");
    assert_eq!(replicas(&env).await, 7, "a publish without force takes nothing");
    let force = Policies { conflict: ConflictPolicy::Force, ..Policies::default() };
    let plan = env.dry_run(vec![web(Some(3))], force.clone()).await;
    let PlannedAction::Change { fields, .. } = &plan.objects[0].action else { panic!("{plan:#?}") };
    assert!(fields.iter().any(|field| field.path == "/spec/replicas"), "{fields:#?}");
    env.set_present(vec![web(Some(3))], force);
    env.wait_until("taken back", async || {
        replicas(&env).await == 3 && env.get(AUTOSCALER, "own").await.is_none()
    })
    .await;
    env.until_operational().await;
    assert_eq!(replicas(&env).await, 3);
}

pub async fn p13_fields_of_an_object_that_kubectl_wrote_can_be_removed(env: TestEnv) {
    let settings = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data});
    let before = json!({"key": "1", "old": "1"});
    env.create(settings(json!({"key": "1", "old": "1", "theirs": "1"})), "kubectl-client-side-apply").await;
    env.set_present(vec![settings(before)], Policies::default());
    env.until_applied().await;
    let plan = env.dry_run(vec![settings(json!({"key": "1"}))], Policies::default()).await;
    let PlannedAction::Change { fields, .. } = &plan.objects[0].action else { panic!("{plan:#?}") };
    let planned: Vec<(&str, bool)> =
        fields.iter().map(|field| (field.path.as_str(), field.desired.is_some())).collect();
    assert_eq!(planned, [("/data/old", false)]);
    env.set_present(vec![settings(json!({"key": "1"}))], Policies::default());
    env.wait_until("the field removed", async || {
        env.get(CONFIG_MAP, "settings").await.unwrap()["data"] == json!({"key": "1", "theirs": "1"})
    })
    .await;
}

pub async fn g403_a_change_to_recreate_needs_two_publishes(env: TestEnv) {
    let with_strategy = |strategy: Value| {
        let mut web = workload("Deployment", "web", None);
        web["spec"]["strategy"] = strategy;
        vec![web]
    };
    env.set_present(vec![workload("Deployment", "web", None)], Policies::default());
    env.until_operational().await;
    let recreated = with_strategy(json!({"type": "Recreate"}));
    let plan = env.dry_run(recreated.clone(), Policies::default()).await;
    let PlannedAction::Rejected { finding } = &plan.objects[0].action else { panic!("{plan:#?}") };
    assert!(finding.code == "G403" && finding.hint.contains("Publish twice"), "{finding:#?}");

    let written =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    env.set_present(with_strategy(written), Policies::default());
    env.until_operational().await;
    env.set_present(recreated, Policies::default());
    env.wait_until("changed", async || {
        env.get(DEPLOYMENT, "web").await.unwrap()["spec"]["strategy"] == json!({"type": "Recreate"})
    })
    .await;
    env.until_operational().await;
}
