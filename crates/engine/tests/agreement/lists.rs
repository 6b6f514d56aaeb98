//! Lists of every type, changed by other managers: what the server merges by item is compared by item, what it replaces as a
//! whole is compared as a whole (P13).

use domain::plan::PlannedAction;
use domain::report::DriftReport;
use domain::workload::Policies;
use serde_json::{Value, json};

use crate::test_env::*;

const NETWORK_POLICY: KindName = ("networking.k8s.io/v1", "NetworkPolicy");
const DISRUPTION_BUDGET: KindName = ("policy/v1", "PodDisruptionBudget");
const SERVICE: KindName = ("v1", "Service");

/// A kind with a list of type `map`, one of type `set` and an atomic one, in a group of its own.
pub fn definition(group: &str) -> Value {
    let text = json!({"type": "string"});
    let item = json!({"type": "object", "required": ["name"],
        "properties": {"name": text, "port": {"type": "integer"}, "value": text}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("entries.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"plural": "entries", "singular": "entry", "kind": "Entry", "listKind": "EntryList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "listeners": {"type": "array", "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"], "items": item},
                    "zones": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
                    "env": {"type": "array", "items": item}}}}}}}]}})
}

fn entry(group: &str, name: &str) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": "Entry", "metadata": {"name": name}, "spec": {
        "listeners": [{"name": "http", "port": 80}, {"name": "https", "port": 443}],
        "zones": ["a", "b"],
        "env": [{"name": "LEVEL", "value": "info"}]}})
}

/// The server records no manager for a write that only removes fields.
const REMOVED_BY: &str = "unknown";

/// Waits until the fields are as `is_healed` demands, and for the report of their drift by this manager.
pub async fn until_healed(
    env: &TestEnv,
    (kind, name): (KindName, &str),
    manager: &str,
    fields: &[&str],
    is_healed: impl Fn(&Value) -> bool,
) {
    env.wait_until(&format!("{name} healed"), async || {
        env.get(kind, name).await.is_some_and(|live| is_healed(&live))
    })
    .await;
    let is_reported =
        |note: &DriftReport| note.object.name == name && note.fields == fields && note.manager == manager;
    let expected = format!("{name}: drift of {fields:?} by {manager} reported");
    env.wait_until(&expected, async || env.agent.drift().iter().any(is_reported)).await;
}

async fn until_applied(env: &TestEnv, group: &str, mut objects: Vec<Value>) {
    objects.insert(0, definition(group));
    env.set_present(objects, Policies::default());
    env.until_applied().await;
}

pub async fn p13_a_deleted_item_of_a_keyed_list_or_a_set_is_restored(env: TestEnv) {
    let group = "restored.example.com";
    let kind: KindName = ("restored.example.com/v1", "Entry");
    let mut finalized = config_map("finalized", "1");
    finalized["metadata"]["finalizers"] = json!(["example.com/address", "example.com/certificate"]);
    until_applied(
        &env,
        group,
        vec![entry(group, "keyed"), entry(group, "set"), entry(group, "all"), finalized],
    )
    .await;
    let listeners = json!([{"name": "http", "port": 80}]);
    env.merge_patch(kind, "keyed", json!({"spec": {"listeners": listeners}}), "kubectl-edit").await;
    until_healed(&env, (kind, "keyed"), REMOVED_BY, &["/spec/listeners[name=https]"], |live| {
        live["spec"]["listeners"] == json!([{"name": "http", "port": 80}, {"name": "https", "port": 443}])
    })
    .await;
    env.merge_patch(kind, "set", json!({"spec": {"zones": ["a"]}}), "kubectl-edit").await;
    until_healed(&env, (kind, "set"), REMOVED_BY, &["/spec/zones[.=b]"], |live| {
        live["spec"]["zones"] == json!(["a", "b"])
    })
    .await;
    env.merge_patch(kind, "all", json!({"spec": {"listeners": null}}), "kubectl-edit").await;
    until_healed(&env, (kind, "all"), REMOVED_BY, &["/spec/listeners"], |live| {
        live["spec"]["listeners"].as_array().is_some_and(|items| items.len() == 2)
    })
    .await;
    let patch = json!({"metadata": {"finalizers": ["example.com/address"]}});
    env.merge_patch(CONFIG_MAP, "finalized", patch, "kubectl-edit").await;
    until_healed(
        &env,
        (CONFIG_MAP, "finalized"),
        REMOVED_BY,
        &["/metadata/finalizers[.=example.com/certificate]"],
        |live| live["metadata"]["finalizers"].as_array().is_some_and(|finalizers| finalizers.len() == 2),
    )
    .await;
}

pub async fn p13_an_own_item_is_healed_beside_an_item_of_another_manager(env: TestEnv) {
    let group = "beside.example.com";
    let kind: KindName = ("beside.example.com/v1", "Entry");
    until_applied(&env, group, vec![entry(group, "shared")]).await;
    let listeners = |port: u32| json!([{"name": "http", "port": port}, {"name": "https", "port": 443}, {"name": "theirs", "port": 9}]);
    env.merge_patch(kind, "shared", json!({"spec": {"listeners": listeners(80)}}), "kubectl-edit").await;
    env.merge_patch(kind, "shared", json!({"spec": {"listeners": listeners(81)}}), "kubectl-edit").await;
    until_healed(&env, (kind, "shared"), "kubectl-edit", &["/spec/listeners[name=http]/port"], |live| {
        live["spec"]["listeners"] == listeners(80)
    })
    .await;
    assert_eq!(env.agent.drift().len(), 1, "the other manager's item is no drift");
}

pub async fn p13_a_value_added_to_a_set_stays(env: TestEnv) {
    let group = "added.example.com";
    let kind: KindName = ("added.example.com/v1", "Entry");
    let mut finalized = config_map("finalized", "1");
    finalized["metadata"]["finalizers"] = json!(["example.com/address"]);
    until_applied(&env, group, vec![entry(group, "set"), finalized]).await;
    let zones = json!({"spec": {"zones": ["a", "b", "theirs"]}});
    env.merge_patch(kind, "set", zones, "kubectl-edit").await;
    let both = json!({"metadata": {"finalizers": ["example.com/address", "example.com/theirs"]}});
    env.merge_patch(CONFIG_MAP, "finalized", both, "kubectl-edit").await;
    let has = |list: &Value, count: usize, added: &str| {
        list.as_array().is_some_and(|items| items.len() == count && items.contains(&added.into()))
    };
    // A later drift of each is healed, which proves that the additions were observed.
    let listeners = json!([{"name": "http", "port": 81}, {"name": "https", "port": 443}]);
    env.merge_patch(kind, "set", json!({"spec": {"listeners": listeners}}), "kubectl-edit").await;
    until_healed(&env, (kind, "set"), "kubectl-edit", &["/spec/listeners[name=http]/port"], |live| {
        live["spec"]["listeners"][0]["port"] == 80 && has(&live["spec"]["zones"], 3, "theirs")
    })
    .await;
    env.merge_patch(CONFIG_MAP, "finalized", json!({"data": {"key": "2"}}), "kubectl-edit").await;
    until_healed(&env, (CONFIG_MAP, "finalized"), "kubectl-edit", &["/data/key"], |live| {
        live["data"]["key"] == "1" && has(&live["metadata"]["finalizers"], 2, "example.com/theirs")
    })
    .await;
    assert_eq!(env.agent.drift().len(), 2, "the values of others are no drift");
}

pub async fn p13_what_is_removed_from_an_atomic_list_or_from_a_map_is_restored(env: TestEnv) {
    let group = "removed-by-hand.example.com";
    let kind: KindName = ("removed-by-hand.example.com/v1", "Entry");
    let mut some = entry(group, "some");
    some["spec"]["env"] = json!([{"name": "LEVEL", "value": "info"}, {"name": "MODE", "value": "web"}]);
    let service = json!({"apiVersion": SERVICE.0, "kind": SERVICE.1, "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web", "tier": "front"}, "ports": [{"port": 80}]}});
    let mut settings = config_map("settings", "1");
    settings["data"]["other"] = "1".into();
    until_applied(&env, group, vec![some.clone(), entry(group, "all"), service, settings]).await;

    let fewer = json!({"spec": {"env": [{"name": "LEVEL", "value": "info"}]}});
    env.merge_patch(kind, "some", fewer, "kubectl-edit").await;
    until_healed(&env, (kind, "some"), "kubectl-edit", &["/spec/env"], |live| {
        live["spec"]["env"] == some["spec"]["env"]
    })
    .await;
    env.merge_patch(kind, "all", json!({"spec": {"env": null}}), "kubectl-edit").await;
    until_healed(&env, (kind, "all"), REMOVED_BY, &["/spec/env"], |live| {
        live["spec"]["env"] == json!([{"name": "LEVEL", "value": "info"}])
    })
    .await;
    let wider = json!({"spec": {"selector": {"tier": null}}});
    env.merge_patch(SERVICE, "web", wider, "kubectl-edit").await;
    until_healed(&env, (SERVICE, "web"), "kubectl-edit", &["/spec/selector/tier"], |live| {
        live["spec"]["selector"] == json!({"app": "web", "tier": "front"})
    })
    .await;
    env.merge_patch(CONFIG_MAP, "settings", json!({"data": {"other": null}}), "kubectl-edit").await;
    until_healed(&env, (CONFIG_MAP, "settings"), REMOVED_BY, &["/data/other"], |live| {
        live["data"] == json!({"key": "1", "other": "1"})
    })
    .await;
}

pub async fn p13_an_atomic_list_or_map_has_the_desired_content_only(env: TestEnv) {
    let group = "atomic.example.com";
    let kind: KindName = ("atomic.example.com/v1", "Entry");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "account"},
        "imagePullSecrets": [{"name": "registry"}]});
    let deny = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}});
    let peers = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "peers"},
        "spec": {"podSelector": {"matchLabels": {"app": "web"}},
            "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "web"}}}]}], "policyTypes": ["Ingress"]}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "budget"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    until_applied(&env, group, vec![entry(group, "env"), account, deny, peers, budget]).await;

    let added = json!([{"name": "LEVEL", "value": "info"}, {"name": "DEBUG", "value": "1"}]);
    env.merge_patch(kind, "env", json!({"spec": {"env": added}}), "kubectl-edit").await;
    until_healed(&env, (kind, "env"), "kubectl-edit", &["/spec/env"], |live| {
        live["spec"]["env"] == json!([{"name": "LEVEL", "value": "info"}])
    })
    .await;
    let added = json!({"imagePullSecrets": [{"name": "registry"}, {"name": "theirs"}]});
    env.merge_patch(SERVICE_ACCOUNT, "account", added, "kubectl-edit").await;
    until_healed(&env, (SERVICE_ACCOUNT, "account"), "kubectl-edit", &["/imagePullSecrets"], |live| {
        live["imagePullSecrets"] == json!([{"name": "registry"}])
    })
    .await;
    let added = json!({"spec": {"podSelector": {"matchLabels": {"app": "other"}}}});
    env.merge_patch(NETWORK_POLICY, "deny", added, "kubectl-edit").await;
    until_healed(
        &env,
        (NETWORK_POLICY, "deny"),
        "kubectl-edit",
        &["/spec/podSelector/matchLabels"],
        |live| live["spec"]["podSelector"] == json!({}),
    )
    .await;
    let peer = json!({"podSelector": {"matchLabels": {"app": "web"}}, "namespaceSelector": {}});
    env.merge_patch(
        NETWORK_POLICY,
        "peers",
        json!({"spec": {"ingress": [{"from": [peer]}]}}),
        "kubectl-edit",
    )
    .await;
    until_healed(
        &env,
        (NETWORK_POLICY, "peers"),
        "kubectl-edit",
        &["/spec/ingress/0/from/0/namespaceSelector"],
        |live| live["spec"]["ingress"][0]["from"][0].get("namespaceSelector").is_none(),
    )
    .await;
    let added = json!({"spec": {"selector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}});
    env.merge_patch(DISRUPTION_BUDGET, "budget", added, "kubectl-edit").await;
    until_healed(
        &env,
        (DISRUPTION_BUDGET, "budget"),
        "kubectl-edit",
        &["/spec/selector/matchExpressions"],
        |live| live["spec"]["selector"].get("matchExpressions").is_none(),
    )
    .await;

    // The list belongs to Flotilla again, so a publish that changes it meets no conflict.
    let mut changed = entry(group, "env");
    changed["spec"]["env"][0]["value"] = "warn".into();
    let plan = env
        .dry_run(vec![definition(group), changed.clone()], Policies { prune: false, ..Policies::default() })
        .await;
    let change = plan.objects.iter().find(|change| change.object.kind == "Entry").unwrap();
    assert!(matches!(change.action, PlannedAction::Change { .. }), "{change:#?}");
}

pub async fn p13_expressions_added_to_the_selectors_of_a_network_policy_are_reverted(env: TestEnv) {
    let selected = json!({"matchLabels": {"app": "web"}});
    let policy = json!({"apiVersion": NETWORK_POLICY.0, "kind": NETWORK_POLICY.1, "metadata": {"name": "peers"},
        "spec": {"podSelector": selected, "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": selected}]}]}});
    env.set_present(vec![policy], Policies::default());
    env.until_applied().await;
    let narrowed = json!({"matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "tier", "operator": "Exists"}]});
    env.merge_patch(NETWORK_POLICY, "peers", json!({"spec": {"podSelector": narrowed}}), "kubectl-edit")
        .await;
    until_healed(
        &env,
        (NETWORK_POLICY, "peers"),
        "kubectl-edit",
        &["/spec/podSelector/matchExpressions"],
        |live| live["spec"]["podSelector"] == selected,
    )
    .await;
    let ingress = json!([{"from": [{"podSelector": narrowed}]}]);
    env.merge_patch(NETWORK_POLICY, "peers", json!({"spec": {"ingress": ingress}}), "kubectl-edit").await;
    until_healed(
        &env,
        (NETWORK_POLICY, "peers"),
        "kubectl-edit",
        &["/spec/ingress/0/from/0/podSelector/matchExpressions"],
        |live| live["spec"]["ingress"][0]["from"][0]["podSelector"] == selected,
    )
    .await;
}

pub async fn p13_a_publish_after_a_reverted_addition_to_an_atomic_list_has_no_conflict(env: TestEnv) {
    let group = "republished.example.com";
    let kind: KindName = ("republished.example.com/v1", "Entry");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "account"},
        "imagePullSecrets": [{"name": "registry"}]});
    until_applied(&env, group, vec![entry(group, "env"), account.clone()]).await;
    let added = json!([{"name": "LEVEL", "value": "info"}, {"name": "DEBUG", "value": "1"}]);
    env.merge_patch(kind, "env", json!({"spec": {"env": added}}), "kubectl-edit").await;
    until_healed(&env, (kind, "env"), "kubectl-edit", &["/spec/env"], |live| {
        live["spec"]["env"] == json!([{"name": "LEVEL", "value": "info"}])
    })
    .await;
    let added = json!({"imagePullSecrets": [{"name": "registry"}, {"name": "theirs"}]});
    env.merge_patch(SERVICE_ACCOUNT, "account", added, "kubectl-edit").await;
    until_healed(&env, (SERVICE_ACCOUNT, "account"), "kubectl-edit", &["/imagePullSecrets"], |live| {
        live["imagePullSecrets"] == json!([{"name": "registry"}])
    })
    .await;

    let mut changed = entry(group, "env");
    changed["spec"]["env"][0]["value"] = "warn".into();
    let objects = vec![definition(group), changed, account];
    let reverted = env.agent.drift().len();
    let plan = env.dry_run(objects.clone(), Policies::default()).await;
    assert_eq!(plan.findings().next(), None, "{plan:#?}");
    let action = |kind: &str| &plan.objects.iter().find(|change| change.object.kind == kind).unwrap().action;
    assert_eq!(*action("ServiceAccount"), PlannedAction::Unchanged);
    let PlannedAction::Change { fields, .. } = action("Entry") else { panic!("{plan:#?}") };
    assert!(fields.len() == 1 && fields[0].path.starts_with("/spec/env"), "{fields:#?}");
    env.set_present(objects, Policies::default());
    env.until_applied().await;
    let live = env.get(kind, "env").await.unwrap();
    assert_eq!(live["spec"]["env"], json!([{"name": "LEVEL", "value": "warn"}]));
    let account = env.get(SERVICE_ACCOUNT, "account").await.unwrap();
    assert_eq!(account["imagePullSecrets"], json!([{"name": "registry"}]));
    assert_eq!(env.agent.drift().len(), reverted, "a publish is no drift");
}

pub async fn p13_the_server_does_not_record_who_removed_an_item(env: TestEnv) {
    let group = "unrecorded.example.com";
    let kind: KindName = ("unrecorded.example.com/v1", "Entry");
    env.create(definition(group), "test").await;
    let is_served = async || env.api(kind).list(&Default::default()).await.is_ok();
    env.wait_until("served", is_served).await;
    let mut written = entry(group, "own");
    env.apply_as(written.clone(), "applier").await;
    // An editor that owns something else, and one that owns nothing.
    written = env.merge_patch(kind, "own", json!({"spec": {"env": [{"name": "A"}]}}), "editor").await;
    let managers = |live: &Value| {
        let entries = live["metadata"]["managedFields"].as_array().unwrap().iter();
        let named = |entry: &Value| (entry["manager"].to_string(), entry["time"].to_string());
        let mut all: Vec<(String, String)> = entries.map(named).collect();
        all.sort();
        all
    };
    let before = managers(&written);
    assert!(before.iter().any(|(manager, _)| manager.contains("editor")), "{before:?}");
    // Times are recorded to the second.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    for (removed, manager) in [
        (json!({"listeners": [{"name": "http", "port": 80}]}), "editor"),
        (json!({"zones": ["a"]}), "kubectl-edit"),
    ] {
        written = env.merge_patch(kind, "own", json!({"spec": removed}), manager).await;
        assert_eq!(managers(&written), before, "{manager} removed an item");
    }
    assert_eq!(written["spec"]["zones"], json!(["a"]));
}

pub async fn p13_an_item_added_to_a_keyed_list_of_pods_stays(env: TestEnv) {
    let mut web = workload("Deployment", "web", None);
    web["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "LEVEL", "value": "info"}]);
    env.set_present(vec![web], Policies::default());
    env.until_operational().await;
    let before = env.get(DEPLOYMENT, "web").await.unwrap();
    let mut containers = before["spec"]["template"]["spec"]["containers"].clone();
    containers[0]["env"] = json!([{"name": "LEVEL", "value": "warn"}, {"name": "DEBUG", "value": "1"}]);
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    env.merge_patch(DEPLOYMENT, "web", patch, "kubectl-edit").await;
    until_healed(
        &env,
        (DEPLOYMENT, "web"),
        "kubectl-edit",
        &["/spec/template/spec/containers[name=web]/env[name=LEVEL]/value"],
        |live| {
            let env = &live["spec"]["template"]["spec"]["containers"][0]["env"];
            *env == json!([{"name": "LEVEL", "value": "info"}, {"name": "DEBUG", "value": "1"}])
        },
    )
    .await;
}

pub async fn p13_lists_of_an_admission_policy_are_compared_as_the_server_merges_them(env: TestEnv) {
    const POLICY: KindName = ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy");
    const BINDING: KindName = ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding");
    let name = env.namespace.clone();
    let condition = |name: &str, value: &str| json!({"name": name, "expression": format!("object.metadata.name != '{value}'")});
    // It is about a kind that does not exist.
    let policy = json!({"apiVersion": POLICY.0, "kind": POLICY.1, "metadata": {"name": name}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": ["listed.example.com"], "apiVersions": ["v1"],
            "operations": ["CREATE"], "resources": ["lamps"]}]},
        "matchConditions": [condition("own", "a")],
        "validations": [{"expression": "object.metadata.name != 'b'"}]}});
    let binding = json!({"apiVersion": BINDING.0, "kind": BINDING.1, "metadata": {"name": name}, "spec": {
        "policyName": name, "validationActions": ["Warn", "Audit"]}});
    env.set_present(vec![policy, binding], Policies::default());
    env.until_applied().await;

    let conditions = json!([condition("own", "changed"), condition("theirs", "c")]);
    env.merge_patch(POLICY, &name, json!({"spec": {"matchConditions": conditions}}), "kubectl-edit").await;
    let fields = ["/spec/matchConditions[name=own]/expression"];
    until_healed(&env, (POLICY, &name), "kubectl-edit", &fields, |live| {
        live["spec"]["matchConditions"] == json!([condition("own", "a"), condition("theirs", "c")])
    })
    .await;
    let validations =
        json!([{"expression": "object.metadata.name != 'b'"}, {"expression": "object.metadata.name != 'd'"}]);
    env.merge_patch(POLICY, &name, json!({"spec": {"validations": validations}}), "kubectl-edit").await;
    until_healed(&env, (POLICY, &name), "kubectl-edit", &["/spec/validations"], |live| {
        live["spec"]["validations"].as_array().is_some_and(|items| items.len() == 1)
    })
    .await;
    let actions = json!({"spec": {"validationActions": ["Warn"]}});
    env.merge_patch(BINDING, &name, actions, "kubectl-edit").await;
    until_healed(&env, (BINDING, &name), REMOVED_BY, &["/spec/validationActions[.=Audit]"], |live| {
        live["spec"]["validationActions"] == json!(["Warn", "Audit"])
    })
    .await;
}

pub async fn p13_an_action_or_a_condition_taken_out_of_an_admission_policy_is_restored(env: TestEnv) {
    const POLICY: KindName = ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy");
    const BINDING: KindName = ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding");
    let name = env.namespace.clone();
    let condition =
        |name: &str| json!({"name": name, "expression": format!("object.metadata.name != '{name}'")});
    // It is about a kind that does not exist.
    let policy = json!({"apiVersion": POLICY.0, "kind": POLICY.1, "metadata": {"name": name}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": ["denied.example.com"], "apiVersions": ["v1"],
            "operations": ["CREATE"], "resources": ["lamps"]}]},
        "matchConditions": [condition("first"), condition("second")],
        "validations": [{"expression": "object.metadata.name != 'b'"}]}});
    let binding = json!({"apiVersion": BINDING.0, "kind": BINDING.1, "metadata": {"name": name}, "spec": {
        "policyName": name, "validationActions": ["Deny", "Audit"]}});
    env.set_present(vec![policy, binding], Policies::default());
    env.until_applied().await;

    env.merge_patch(BINDING, &name, json!({"spec": {"validationActions": ["Audit"]}}), "kubectl-edit").await;
    until_healed(&env, (BINDING, &name), REMOVED_BY, &["/spec/validationActions[.=Deny]"], |live| {
        let actions = live["spec"]["validationActions"].as_array().unwrap();
        actions.len() == 2 && actions.contains(&json!("Deny"))
    })
    .await;
    let conditions = json!({"spec": {"matchConditions": [condition("first")]}});
    env.merge_patch(POLICY, &name, conditions, "kubectl-edit").await;
    until_healed(&env, (POLICY, &name), REMOVED_BY, &["/spec/matchConditions[name=second]"], |live| {
        live["spec"]["matchConditions"] == json!([condition("first"), condition("second")])
    })
    .await;
}

pub async fn e_2_a_plan_lists_the_items_that_a_publish_removes(env: TestEnv) {
    let group = "removed.example.com";
    let kind: KindName = ("removed.example.com/v1", "Entry");
    until_applied(&env, group, vec![entry(group, "one")]).await;
    let mut next = entry(group, "one");
    next["spec"]["listeners"] = json!([{"name": "https", "port": 443}]);
    next["spec"]["zones"] = json!(["b"]);
    let plan = env.dry_run(vec![definition(group), next.clone()], Policies::default()).await;
    let changed = plan.objects.iter().find(|change| change.object.kind == "Entry").unwrap();
    let PlannedAction::Change { fields, .. } = &changed.action else { panic!("{changed:#?}") };
    let paths: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(paths, ["/spec/listeners[name=http]", "/spec/zones[.=a]"]);
    env.set_present(vec![definition(group), next], Policies::default());
    env.wait_until("removed", async || {
        let live = env.get(kind, "one").await.unwrap();
        live["spec"]["listeners"] == json!([{"name": "https", "port": 443}])
            && live["spec"]["zones"] == json!(["b"])
    })
    .await;
}
