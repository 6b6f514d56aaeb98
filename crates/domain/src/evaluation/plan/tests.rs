//! Comparison by example: changes by the API server and changes by users.

use serde_json::{Value, json};

use super::*;
use crate::model::bundle::Bundle;

/// `path: desired <- live_object` for each change.
fn format_changes(changes: &[FieldChange]) -> Vec<String> {
    let text = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
    changes.iter().map(|c| format!("{}: {} <- {}", c.path, text(&c.desired), text(&c.live))).collect()
}

fn assert_same(desired: Value, live: Value) {
    assert_eq!(format_changes(&diff(&desired, &live)), [""; 0], "{desired} and {live}");
}

fn assert_differs(desired: Value, live: Value, expected: &[&str]) {
    assert_eq!(format_changes(&diff(&desired, &live)), expected, "{desired} and {live}");
}

fn desired_object() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}, "creationTimestamp": null},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {},
            "template": {
                "metadata": {"labels": {"app": "web"}, "creationTimestamp": null},
                "spec": {
                    "containers": [{
                        "name": "web", "image": "nginx:1",
                        "env": [{"name": "A", "value": "1000m"}, {"name": "B", "value": ""}],
                        "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
                        "resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}, "requests": {"cpu": 0.5}},
                        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": false}],
                        "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
                    }],
                    "volumes": [{"name": "data", "emptyDir": {}}],
                    "tolerations": [],
                },
            },
        },
        "status": {"replicas": 9},
    })
}

/// [`desired_object`] as a server returns it.
fn live_object() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{"manager": "flotilla"}],
            "labels": {"app": "web", "team": "a"}, "annotations": {"deployment.kubernetes.io/revision": "1"},
        },
        "spec": {
            "replicas": 2, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [
                        {"name": "injected", "image": "envoy"},
                        {
                            "name": "web", "image": "nginx:1", "imagePullPolicy": "IfNotPresent",
                            "env": [{"name": "B"}, {"name": "A", "value": "1000m"}],
                            "ports": [
                                {"containerPort": 53, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP"},
                            ],
                            "resources": {"limits": {"cpu": "1", "memory": "1024Mi"}, "requests": {"cpu": "500m"}},
                            "volumeMounts": [
                                {"name": "token", "mountPath": "/var/run"}, {"name": "data", "mountPath": "/data"},
                            ],
                            "readinessProbe": {
                                "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1,
                            },
                        },
                    ],
                    "volumes": [{"name": "data", "emptyDir": {}}, {"name": "token"}],
                    "restartPolicy": "Always",
                },
            },
        },
        "status": {"replicas": 2},
    })
}

#[test]
fn what_the_server_adds_and_normalizes_is_no_difference() {
    assert_same(desired_object(), live_object());
}

#[test]
fn s0_12_changes_by_users_are_listed_with_named_paths() {
    let mut live = live_object();
    live["spec"]["replicas"] = json!(5);
    let pod = &mut live["spec"]["template"]["spec"];
    pod["containers"][1]["image"] = json!("nginx:2");
    pod["containers"][1]["env"][1]["value"] = json!("1");
    pod["containers"][1]["ports"].as_array_mut().unwrap().remove(0);
    pod["containers"][1]["resources"]["limits"]["cpu"] = json!("2");
    pod["volumes"][0] = json!({"name": "data", "hostPath": {"path": "/"}});
    live["metadata"]["labels"].as_object_mut().unwrap().remove("app");
    let web = "/spec/template/spec/containers[name=web]";
    assert_differs(
        desired_object(),
        live,
        &[
            "/metadata/labels/app: \"web\" <- nothing",
            "/spec/replicas: 2 <- 5",
            &format!("{web}/image: \"nginx:1\" <- \"nginx:2\""),
            &format!("{web}/env[name=A]/value: \"1000m\" <- \"1\""),
            &format!(
                "{web}/ports[containerPort=53][protocol=UDP]: {{\"containerPort\":53,\"protocol\":\"UDP\"}} <- nothing"
            ),
            &format!("{web}/resources/limits/cpu: \"1000m\" <- \"2\""),
            "/spec/template/spec/volumes[name=data]/emptyDir: {} <- nothing",
        ],
    );
}

#[test]
fn a_missing_object_is_one_change() {
    let desired = json!({"kind": "ConfigMap", "data": {"a": "b"}});
    assert_differs(desired, Value::Null, &[": {\"kind\":\"ConfigMap\",\"data\":{\"a\":\"b\"}} <- nothing"]);
}

#[test]
fn null_and_empty_values_are_no_difference_except_empty_strings_in_string_maps() {
    assert_same(json!({"spec": {"a": null, "b": {}, "c": [], "d": {"e": {"f": []}}}}), json!({"spec": {}}));
    assert_same(json!({"spec": {"a": {}, "b": null}}), json!({"spec": {"a": {"x": 1}, "b": 7}}));
    assert_differs(
        json!({"metadata": {"labels": {"legacy": ""}}}),
        json!({"metadata": {}}),
        &["/metadata/labels: {\"legacy\":\"\"} <- nothing"],
    );
    assert_differs(json!({"data": {"a": ""}}), json!({"data": {}}), &["/data/a: \"\" <- nothing"]);
    assert_differs(json!({"spec": {"a": []}}), json!({"spec": {"a": [1]}}), &["/spec/a: [] <- [1]"]);
}

#[test]
fn a_false_value_that_the_server_stores_is_a_difference_when_it_is_missing() {
    let container = |security: Value| {
        let container = json!({"name": "a", "securityContext": security});
        json!({"kind": "Pod", "spec": {"hostNetwork": false, "containers": [container]}})
    };
    let live = json!({"kind": "Pod", "spec": {"containers": [{"name": "a", "securityContext": {}}]}});
    assert_differs(
        container(json!({"allowPrivilegeEscalation": false})),
        live,
        &["/spec/containers[name=a]/securityContext/allowPrivilegeEscalation: false <- nothing"],
    );
}

#[test]
fn quantities_are_compared_by_amount_only_in_quantity_fields() {
    let env = |value: &str| json!({"spec": {"containers": [{"name": "a", "env": [{"name": "X", "value": value}]}]}});
    assert_differs(
        env("1"),
        env("1000m"),
        &["/spec/containers[name=a]/env[name=X]/value: \"1\" <- \"1000m\""],
    );
    let claim = |size: &str| json!({"kind": "PersistentVolumeClaim", "spec": {"resources": {"requests": {"storage": size}}}});
    assert_same(claim("1Gi"), claim("1024Mi"));
    assert_differs(claim("1Gi"), claim("2Gi"), &["/spec/resources/requests/storage: \"1Gi\" <- \"2Gi\""]);
    let quota = |pods: Value| json!({"kind": "ResourceQuota", "spec": {"hard": {"pods": pods}}});
    assert_same(quota(json!(10)), quota(json!("10")));
    let range = |kind: &str, max: &str| json!({"kind": kind, "spec": {"limits": [{"max": {"cpu": max}}]}});
    assert_same(range("LimitRange", "2"), range("LimitRange", "2000m"));
}

#[test]
fn an_integer_and_its_text_are_different() {
    let probe = |port: Value| json!({"spec": {"targetPort": port}});
    assert_differs(probe(json!(80)), probe(json!("80")), &["/spec/targetPort: 80 <- \"80\""]);
    assert_same(json!({"spec": {"weight": 1}}), json!({"spec": {"weight": 1.0}}));
    assert_differs(
        json!({"spec": {"n": 9_007_199_254_740_993_i64}}),
        json!({"spec": {"n": 9_007_199_254_740_992_i64}}),
        &["/spec/n: 9007199254740993 <- 9007199254740992"],
    );
}

#[test]
fn lists_without_keys_are_applied_as_a_whole_and_tolerate_defaults_in_their_items() {
    let ingress = |rules: Value| json!({"kind": "Ingress", "spec": {"rules": rules}});
    assert_same(ingress(json!([{"host": "a"}])), ingress(json!([{"host": "a", "http": {}}])));
    assert_differs(
        ingress(json!([{"host": "a"}])),
        ingress(json!([{"host": "b"}])),
        &["/spec/rules/0/host: \"a\" <- \"b\""],
    );
    assert_differs(
        ingress(json!([{"host": "a"}])),
        ingress(json!([{"host": "a"}, {"host": "b"}])),
        &["/spec/rules: [{\"host\":\"a\"}] <- [{\"host\":\"a\"},{\"host\":\"b\"}]"],
    );
    assert_differs(
        json!({"spec": {"args": ["a", "b"]}}),
        json!({"spec": {"args": ["b", "a"]}}),
        &["/spec/args: [\"a\",\"b\"] <- [\"b\",\"a\"]"],
    );
}

#[test]
fn ports_are_matched_by_the_merge_keys_of_their_kind() {
    let service = |ports: Value| json!({"kind": "Service", "spec": {"ports": ports}});
    assert_same(
        service(json!([{"port": 80}])),
        service(json!([{"port": 53, "protocol": "UDP"}, {"port": 80, "protocol": "TCP", "targetPort": 80}])),
    );
    assert_differs(
        service(json!([{"port": 80, "targetPort": "http"}])),
        service(json!([{"port": 80, "protocol": "TCP", "targetPort": 80}])),
        &["/spec/ports[port=80]/targetPort: \"http\" <- 80"],
    );
    let policy = |ports: Value| json!({"kind": "NetworkPolicy", "spec": {"ingress": [{"ports": ports}]}});
    let (two, one) = (json!([{"port": 80}, {"port": 81}]), json!([{"port": 80}]));
    assert_eq!(diff(&policy(one), &policy(two))[0].path, "/spec/ingress/0/ports");
}

#[test]
fn a_list_whose_keys_are_not_unique_is_applied_as_a_whole() {
    let env = |items: Value| json!({"spec": {"containers": [{"name": "a", "env": items}]}});
    let twice = json!([{"name": "X", "value": "1"}, {"name": "X", "value": "2"}]);
    assert_same(env(twice.clone()), env(twice.clone()));
    let other = json!([{"name": "X", "value": "1"}, {"name": "X", "value": "3"}]);
    assert_eq!(diff(&env(twice), &env(other))[0].path, "/spec/containers[name=a]/env/1/value");
}

#[test]
fn a_key_that_another_manager_added_to_a_selector_is_removed() {
    let service = |selector: Value| json!({"kind": "Service", "spec": {"selector": selector}});
    assert_differs(
        service(json!({"app": "web"})),
        service(json!({"app": "web", "track": "canary"})),
        &["/spec/selector/track: nothing <- \"canary\""],
    );
}

#[test]
fn finalizers_of_other_managers_stay() {
    let with = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    assert_same(with(json!(["a"])), with(json!(["b", "a"])));
    assert_differs(with(json!(["a"])), with(json!(["b"])), &["/metadata/finalizers[.=a]: \"a\" <- nothing"]);
    let maps = with(Value::Array((0..1_000).map(|n| json!({"a": n})).collect()));
    assert_eq!(
        diff(&maps, &with(json!(["b"]))).len(),
        1,
        "the list stands in one change, not in one for each item"
    );
}

/// An object as Flotilla applied it, with its `fieldsV1` and those of `kubectl-edit`.
fn owned(mut object: Value, flotilla: Value, other: Value) -> Value {
    object["metadata"] = json!({"managedFields": [
        {"manager": "flotilla", "operation": "Apply", "fieldsV1": flotilla},
        {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": other},
    ]});
    object
}

#[test]
fn p13_items_of_a_list_are_compared_by_the_keys_that_the_server_uses() {
    let listeners = |items: Value| json!({"kind": "Gateway", "spec": {"listeners": items}});
    let own =
        json!({"f:spec": {"f:listeners": {"k:{\"name\":\"http\"}": {".": {}, "f:name": {}, "f:port": {}}}}});
    let http = json!({"name": "http", "port": 80});
    let live = |items: Value, other: Value| owned(listeners(items), own.clone(), other);
    assert_differs(
        listeners(json!([http, {"name": "https", "port": 443}])),
        live(json!([http]), json!({})),
        &["/spec/listeners[name=https]: {\"name\":\"https\",\"port\":443} <- nothing"],
    );
    let foreign = json!({"f:spec": {"f:listeners": {"k:{\"name\":\"theirs\"}": {".": {}, "f:name": {}}}}});
    assert_same(
        listeners(json!([http])),
        live(json!([{"name": "theirs"}, {"name": "http", "port": 80}]), foreign.clone()),
    );
    assert_differs(
        listeners(json!([http])),
        live(json!([{"name": "theirs"}, {"name": "http", "port": 81}]), foreign),
        &["/spec/listeners[name=http]/port: 80 <- 81"],
    );
}

#[test]
fn p13_a_key_that_the_server_defaults_does_not_separate_items() {
    let routes = |items: Value| json!({"kind": "Route", "spec": {"routes": items}});
    let own = json!({"f:spec": {"f:routes": {"k:{\"name\":\"a\",\"zone\":\"all\"}": {}}}});
    let live = |items: Value| owned(routes(items), own.clone(), json!({}));
    assert_same(routes(json!([{"name": "a"}])), live(json!([{"name": "a", "zone": "all"}])));
    assert_differs(
        routes(json!([{"name": "a", "to": 1}, {"name": "b"}])),
        live(json!([{"name": "a", "zone": "all", "to": 2}])),
        &["/spec/routes[name=a]/to: 1 <- 2", "/spec/routes[name=b]: {\"name\":\"b\"} <- nothing"],
    );
}

#[test]
fn p13_items_of_a_set_are_compared_by_value() {
    let zones = |items: Value| json!({"kind": "Entry", "spec": {"zones": items}});
    let own = json!({"f:spec": {"f:zones": {"v:\"a\"": {}}}});
    assert_differs(
        zones(json!(["a", "b"])),
        owned(zones(json!(["c", "a"])), own, json!({"f:spec": {"f:zones": {"v:\"c\"": {}}}})),
        &["/spec/zones[.=b]: \"b\" <- nothing"],
    );
}

#[test]
fn p13_a_value_that_another_manager_replaced_as_a_whole_has_no_fields_but_the_desired() {
    let env = |items: Value| json!({"kind": "Collector", "spec": {"env": items}});
    let replaced = json!({"f:spec": {"f:env": {}}});
    assert_differs(
        env(json!([{"name": "A"}])),
        owned(env(json!([{"name": "A"}, {"name": "B"}])), json!({}), replaced),
        &["/spec/env: [{\"name\":\"A\"}] <- [{\"name\":\"A\"},{\"name\":\"B\"}]"],
    );
    let policy = |selector: Value| json!({"kind": "NetworkPolicy", "spec": {"podSelector": selector}});
    let replaced = json!({"f:spec": {"f:podSelector": {}}});
    assert_differs(
        policy(json!({})),
        owned(policy(json!({"matchLabels": {"a": "b"}})), json!({}), replaced),
        &["/spec/podSelector/matchLabels: nothing <- {\"a\":\"b\"}"],
    );
    let peers = |peer: Value| json!({"kind": "NetworkPolicy", "spec": {"ingress": [{"from": [peer]}]}});
    let replaced = json!({"f:spec": {"f:ingress": {}}});
    assert_differs(
        peers(json!({"podSelector": {}})),
        owned(peers(json!({"podSelector": {}, "namespaceSelector": {}})), json!({}), replaced.clone()),
        &["/spec/ingress/0/from/0/namespaceSelector: nothing <- {}"],
    );
    // What Flotilla owns as a whole differs only by defaults of the server.
    assert_same(
        peers(json!({"podSelector": {}})),
        owned(peers(json!({"podSelector": {}, "defaulted": 1})), replaced, json!({})),
    );
}

#[test]
fn removed_items_are_listed_one_by_one() {
    let entry = |zones: Value, listeners: Value| json!({"kind": "Entry", "spec": {"zones": zones, "listeners": listeners}});
    let own = json!({"f:spec": {"f:zones": {"v:\"a\"": {}, "v:\"b\"": {}},
        "f:listeners": {"k:{\"name\":\"http\"}": {}, "k:{\"name\":\"https\"}": {}}}});
    let before = entry(json!(["a", "b"]), json!([{"name": "http"}, {"name": "https"}]));
    let live = owned(before, own, json!({}));
    let after = owned(entry(json!(["a"]), json!([{"name": "https"}])), json!({}), json!({}));
    assert_eq!(diff(&after, &live), vec![]);
    let removed = find_removed_fields(&live, &after, &live);
    let paths: Vec<&str> = removed.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["/spec/zones[.=b]", "/spec/listeners[name=http]"]);
}

#[test]
fn another_version_of_the_same_group_is_no_difference() {
    let object = |version: &str| json!({"apiVersion": version, "kind": "X"});
    assert_same(object("autoscaling/v1"), object("autoscaling/v2"));
    assert_differs(
        object("apps/v1"),
        object("extensions/v1"),
        &["/apiVersion: \"apps/v1\" <- \"extensions/v1\""],
    );
}

#[test]
fn a_secret_is_compared_by_its_bytes_and_its_values_are_never_shown() {
    let secret = |fields: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque"});
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        object
    };
    let live = secret(json!({"data": {"password": "aHVudGVyMg==", "other": "eA=="}}));
    assert_same(secret(json!({"stringData": {"password": "hunter2"}})), live.clone());
    assert_same(secret(json!({"data": {"password": "aHVu\ndGVyMg=="}})), live.clone());
    assert_same(
        secret(json!({"data": {"password": "eA=="}, "stringData": {"password": "hunter2"}})),
        live.clone(),
    );
    let desired =
        secret(json!({"stringData": {"password": "swordfish", "new": "x"}, "data": {"other": "eQ=="}}));
    assert_differs(
        desired.clone(),
        live.clone(),
        &[
            "/data/other: \"(hidden)\" <- \"(hidden)\"",
            "/stringData/password: \"(hidden)\" <- \"(hidden)\"",
            "/stringData/new: \"(hidden)\" <- nothing",
        ],
    );
    let whole = format_changes(&diff(&desired, &Value::Null)).concat();
    assert!(whole.contains("(hidden)") && !whole.contains("swordfish") && !whole.contains("eQ=="), "{whole}");
    let removed = find_removed_fields(&desired, &secret(json!({"stringData": {"password": "a"}})), &live);
    assert_eq!(format_changes(&removed), ["/data/other: nothing <- \"(hidden)\""]);
}

#[test]
fn a_secret_in_another_object_is_compared_and_its_values_are_never_shown() {
    let object = |value: &str, replicas: i64| {
        json!({"apiVersion": "x.test/v1", "kind": "Template", "metadata": {"name": "a"}, "spec": {"replicas": replicas,
            "template": {"apiVersion": "v1", "kind": "Secret", "data": {"password": value}}}})
    };
    let (desired, live) = (object("swordfish", 2), object("hunter2", 1));
    assert_differs(
        desired.clone(),
        live.clone(),
        &["/spec/replicas: 2 <- 1", "/spec/template/data/password: \"(hidden)\" <- \"(hidden)\""],
    );
    let without = json!({"apiVersion": "x.test/v1", "kind": "Template", "spec": {"replicas": 2}});
    for changes in [diff(&desired, &Value::Null), find_removed_fields(&live, &without, &live)] {
        let shown = format_changes(&changes).concat();
        assert!(shown.contains("(hidden)"), "{shown}");
        assert!(!shown.contains("swordfish") && !shown.contains("hunter2"), "{shown}");
    }
    let rendered = RenderedManifests::new("eu-1", None, &Bundle::new(vec![desired]));
    assert_eq!(rendered.objects[0]["spec"]["template"]["data"]["password"], HIDDEN_VALUE);
    assert_eq!(rendered.objects[0]["spec"]["replicas"], 2);
}

#[test]
fn binary_data_is_compared_by_its_bytes() {
    let map = |text: &str| json!({"kind": "ConfigMap", "binaryData": {"a": text}});
    assert_same(map("aGk=\n"), map("aGk="));
    assert_eq!(diff(&map("aGk="), &map("aGo=")).len(), 1);
}

#[test]
fn s3_13_fields_that_are_no_longer_desired_are_listed_where_they_are_live() {
    let previous = desired_object();
    let mut next = desired_object();
    let pod = &mut next["spec"]["template"]["spec"];
    pod["volumes"] = json!([]);
    let container = pod["containers"][0].as_object_mut().unwrap();
    container.remove("resources");
    container.remove("readinessProbe");
    container.insert("env".into(), json!([{"name": "A", "value": "2"}]));
    next["metadata"].as_object_mut().unwrap().remove("labels");
    next["spec"].as_object_mut().unwrap().remove("replicas");
    let paths: Vec<String> =
        find_removed_fields(&previous, &next, &live_object()).into_iter().map(|change| change.path).collect();
    let web = "/spec/template/spec/containers[name=web]";
    assert_eq!(
        paths,
        [
            // `team` belongs to another manager and stays.
            "/metadata/labels/app",
            "/spec/replicas",
            &format!("{web}/env[name=B]"),
            &format!("{web}/resources"),
            &format!("{web}/readinessProbe/httpGet/path"),
            &format!("{web}/readinessProbe/httpGet/port"),
            "/spec/template/spec/volumes[name=data]",
        ]
    );
    assert!(find_removed_fields(&previous, &next, &json!({})).is_empty());
    assert!(find_removed_fields(&previous, &previous, &live_object()).is_empty());
}

#[test]
fn a_field_that_changed_its_type_is_a_change_and_not_a_removal() {
    let (previous, next) = (json!({"spec": {"a": {"b": 1}}}), json!({"spec": {"a": 2}}));
    assert_eq!(find_removed_fields(&previous, &next, &previous), []);
    assert_eq!(format_changes(&diff(&next, &previous)), ["/spec/a: 2 <- {\"b\":1}"]);
}
