//! Renderings of charts beside what clusters have.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::text::finding::SourceLocation;

fn parsed(objects: Vec<Value>) -> ParsedManifests {
    let manifests =
        objects.into_iter().map(|object| Manifest::new(object, SourceLocation::default())).collect();
    ParsedManifests { manifests, findings: Vec::new() }
}

fn secret(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"}, "data": data})
}

fn deployment(annotations: Value, replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "template": {"metadata": {"annotations": annotations}}}})
}

fn encode(text: &str) -> Value {
    STANDARD.encode(text).into()
}

/// The objects of a rendering with what a cluster retains that has these objects, and the paths of what is replaced.
fn retain(runs: [Vec<Value>; 2], current: Vec<Value>) -> (Vec<Value>, Vec<String>) {
    let [first, second] = runs.map(parsed);
    let generated = find_generated_fields(&first, &second);
    let mut current = current;
    for object in &mut current {
        object["metadata"]["namespace"] = "shop".into();
    }
    let bundle = Bundle { objects: current, ..Bundle::default() };
    let values = retain_generated_values(&generated, &first, "shop", &bundle);
    let replaced = values.replaced(&generated).into_iter().map(|field| field.path.clone()).collect();
    let mut rendered = first;
    values.apply(&generated, &mut rendered);
    (rendered.manifests.into_iter().map(|one| one.object).collect(), replaced)
}

#[test]
fn a_password_stays_what_it_is_on_the_cluster_and_a_new_key_gets_its_own() {
    let run = |old: &str, new: &str| {
        vec![secret(json!({"password": encode(old), "token": encode(new), "user": encode("app")}))]
    };
    let current = secret(json!({"password": encode("first"), "user": encode("ada")}));
    let (objects, replaced) = retain([run("aa", "bb"), run("cc", "dd")], vec![current]);
    assert_eq!(
        objects[0]["data"],
        json!({"password": encode("first"), "token": encode("bb"), "user": encode("app")})
    );
    assert!(replaced.is_empty());
}

#[test]
fn a_value_that_moves_between_data_and_string_data_stays() {
    let text = |password: &str| {
        vec![json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"},
            "stringData": {"password": password}})]
    };
    let (objects, _) = retain([text("aa"), text("cc")], vec![secret(json!({"password": encode("first")}))]);
    assert_eq!(objects[0]["stringData"]["password"], "first");
    let run = |password: &str| vec![secret(json!({"password": encode(password)}))];
    let (objects, _) = retain([run("aa"), run("cc")], text("first"));
    assert_eq!(objects[0]["data"]["password"], encode("first"));
}

#[test]
fn a_new_object_gets_the_certificate_that_an_existing_one_has() {
    let webhook = |ca: &str| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "web"}, "webhooks": [{"clientConfig": {"caBundle": encode(ca)}}]})
    };
    let run = |ca: &str| vec![webhook(ca), secret(json!({"ca.crt": encode(ca)}))];
    let (objects, _) = retain([run("new"), run("other")], vec![secret(json!({"ca.crt": encode("first")}))]);
    assert_eq!(objects[0]["webhooks"][0]["clientConfig"]["caBundle"], encode("first"));
}

#[test]
fn a_digest_in_a_pod_template_stays_while_no_configuration_changes() {
    let digest = |character: &str| character.repeat(64);
    let run = |password: &str, sum: &str, size: &str| {
        let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"size": size}});
        vec![
            config,
            secret(json!({"password": encode(password)})),
            deployment(json!({"checksum/secret": digest(sum)}), 2),
        ]
    };
    let sum = |objects: &[Value]| {
        objects[2]["spec"]["template"]["metadata"]["annotations"]["checksum/secret"].clone()
    };
    let runs = || [run("aa", "a", "s"), run("cc", "c", "s")];
    let (objects, _) = retain(runs(), run("first", "f", "s"));
    assert_eq!(sum(&objects), digest("f"));
    let (objects, _) = retain(runs(), run("first", "f", "xl"));
    assert_eq!(sum(&objects), digest("a"), "the ConfigMap changes, so the pods restart");
    assert_eq!(objects[1]["data"]["password"], encode("first"));
}

#[test]
fn an_annotation_that_restarts_pods_follows_the_rendering() {
    let run = |roll: &str| vec![deployment(json!({"rollme": roll}), 2)];
    let (objects, replaced) = retain([run("aXb2c"), run("dYe3f")], run("first"));
    assert_eq!(objects[0]["spec"]["template"]["metadata"]["annotations"]["rollme"], "aXb2c");
    assert!(replaced.is_empty());
}

#[test]
fn a_text_that_changes_around_the_value_names_the_field_that_is_replaced() {
    let run = |password: &str, host: &str| {
        vec![secret(json!({"url": encode(&format!("db://app:{password}@{host}"))}))]
    };
    let (objects, replaced) = retain([run("aa", "east"), run("bb", "east")], run("first", "west"));
    assert_eq!(objects, run("aa", "east"));
    assert_eq!(replaced, ["/data/url"]);
}

#[test]
fn numbers_stay_and_generated_names_are_found() {
    let run = |port: u16, name: &str| {
        vec![
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": port}]}}),
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}}),
        ]
    };
    let generated = find_generated_fields(&parsed(run(81, "a")), &parsed(run(82, "b")));
    let names: Vec<String> = generated.objects.iter().map(ToString::to_string).collect();
    assert_eq!((generated.fields.len(), names), (1, vec!["Job a".to_owned()]));
    let (objects, _) = retain([run(81, "a"), run(82, "b")], run(90, "old"));
    assert_eq!(objects[0]["spec"]["ports"][0]["port"], 90);
}

#[test]
fn a_list_of_another_length_and_a_map_with_other_keys_follow_the_rendering() {
    let run = |names: &[&str], key: &str, size: &str| {
        vec![
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "finalizers": names},
            "data": {key: "x", "size": size}}),
        ]
    };
    let runs = || [run(&["a"], "key-a", "l"), run(&["b", "c"], "key-b", "l")];
    let (objects, replaced) = retain(runs(), run(&["d", "e"], "key-d", "s"));
    assert_eq!(objects, run(&["a"], "key-a", "l"));
    assert_eq!(replaced, ["/metadata/finalizers"]);
}

#[test]
fn an_item_of_a_list_is_found_by_its_name_and_never_by_a_position_that_may_have_changed() {
    let named = |env: Value| {
        vec![json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "web", "env": env}]}}}})]
    };
    let run = |password: &str| {
        named(
            json!([{"name": "LEVEL", "value": "info"}, {"name": "PASSWORD", "value": password}, {"name": "TOKEN", "value": password}]),
        )
    };
    let current = named(json!([{"name": "PASSWORD", "value": "first"}, {"name": "LEVEL", "value": "debug"}]));
    let (objects, replaced) = retain([run("aa"), run("cc")], current);
    let env = &objects[0]["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!((&env[0]["value"], &env[1]["value"]), (&json!("info"), &json!("first")));
    assert!(replaced.is_empty(), "{replaced:?}");

    let plain = |args: [&str; 2]| {
        vec![
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "args": args}]}}),
        ]
    };
    let runs = || [plain(["-t", "aa"]), plain(["-t", "cc"])];
    let args = |objects: &[Value]| objects[0]["spec"]["containers"][0]["args"].clone();
    assert_eq!(args(&retain(runs(), plain(["-t", "first"])).0), json!(["-t", "first"]));
    let (objects, replaced) = retain(runs(), plain(["first", "-v"]));
    assert_eq!(
        (args(&objects), replaced),
        (json!(["-t", "aa"]), vec!["/spec/containers/0/args/1".to_owned()])
    );
}

#[test]
fn hooks_for_tests_generate_nothing() {
    let run = |name: &str| {
        vec![json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {"helm.sh/hook": "test"}}})]
    };
    assert_eq!(find_generated_fields(&parsed(run("a")), &parsed(run("b"))), GeneratedFields::default());
}

/// What a chart renders from a random password and these settings: the password alone, within a line, and in a file of settings.
fn run_with_settings(password: &str, (host, size, is_large): &(String, u32, bool)) -> Vec<Value> {
    let mut file = format!("host={host}\npassword={password}\nsize={size}\n");
    if *is_large {
        file.push_str("mode=large\n");
    }
    vec![
        secret(
            json!({"password": encode(password), "url": encode(&format!("db://app:{password}@{host}/shop"))}),
        ),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"app.properties": file}}),
    ]
}

proptest! {
    #[test]
    fn over_any_sequence_of_settings_a_password_stays_or_its_field_is_named(
        first in "[a-zA-Z0-9]{20}",
        steps in prop::collection::vec(
            ("[a-zA-Z0-9]{20}", "[a-zA-Z0-9]{20}", ("[a-z]{1,8}", 0..3_u32, any::<bool>())),
            1..8,
        ),
    ) {
        let mut current = run_with_settings(&first, &("east".to_owned(), 1, false));
        for (password, second, settings) in steps {
            prop_assume!(password != second);
            let runs = [run_with_settings(&password, &settings), run_with_settings(&second, &settings)];
            let (objects, replaced) = retain(runs, current.clone());
            for (at, path) in [(0, "/data/password"), (0, "/data/url"), (1, "/data/app.properties")] {
                let kept = objects[at].pointer(path) == current[at].pointer(path);
                let text = |object: &Value| {
                    let text = object.pointer(path).and_then(Value::as_str).unwrap_or_default();
                    let decoded = decode_text(&Value::from(text), at == 0).map(std::borrow::Cow::into_owned);
                    decoded.unwrap_or_default()
                };
                let (before, after) = (text(&current[at]), text(&objects[at]));
                let is_named = replaced.iter().any(|named| named == path);
                // What is rendered anew has the new password; nothing else may have it.
                prop_assert!(kept || is_named || !after.contains(&password), "{path}: {before:?} became {after:?}");
                prop_assert!(!is_named || path != "/data/password", "a value that is random as a whole stays");
            }
            current = objects;
        }
    }
}
