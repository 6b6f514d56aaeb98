//! Comparison by example: what the API server does to objects, and what people do to them.

use serde_json::{Value, json};

use super::*;

/// `path: wanted <- live` for each change.
fn told(changes: &[FieldChange]) -> Vec<String> {
    let text = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
    changes.iter().map(|c| format!("{}: {} <- {}", c.path, text(&c.wanted), text(&c.live))).collect()
}

fn same(wanted: Value, live: Value) {
    assert_eq!(told(&diff(&wanted, &live)), [""; 0], "{wanted} and {live}");
}

fn differs(wanted: Value, live: Value, expected: &[&str]) {
    assert_eq!(told(&diff(&wanted, &live)), expected, "{wanted} and {live}");
}

fn wanted() -> Value {
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

/// What a server makes of [`wanted`].
fn live() -> Value {
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
fn what_the_server_adds_and_rewrites_is_no_difference() {
    same(wanted(), live());
}

#[test]
fn s0_12_what_people_change_is_told_by_name() {
    let mut live = live();
    live["spec"]["replicas"] = json!(5);
    let pod = &mut live["spec"]["template"]["spec"];
    pod["containers"][1]["image"] = json!("nginx:2");
    pod["containers"][1]["env"][1]["value"] = json!("1");
    pod["containers"][1]["ports"].as_array_mut().unwrap().remove(0);
    pod["containers"][1]["resources"]["limits"]["cpu"] = json!("2");
    pod["volumes"][0] = json!({"name": "data", "hostPath": {"path": "/"}});
    live["metadata"]["labels"].as_object_mut().unwrap().remove("app");
    let web = "/spec/template/spec/containers[name=web]";
    differs(
        wanted(),
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
fn an_object_that_is_not_there_is_one_change() {
    let wanted = json!({"kind": "ConfigMap", "data": {"a": "b"}});
    differs(wanted, Value::Null, &[": {\"kind\":\"ConfigMap\",\"data\":{\"a\":\"b\"}} <- nothing"]);
}

#[test]
fn null_and_empty_are_nothing_but_empty_texts_in_maps_of_texts_are_something() {
    same(json!({"spec": {"a": null, "b": {}, "c": [], "d": {"e": {"f": []}}}}), json!({"spec": {}}));
    same(json!({"spec": {"a": {}, "b": null}}), json!({"spec": {"a": {"x": 1}, "b": 7}}));
    differs(
        json!({"metadata": {"labels": {"legacy": ""}}}),
        json!({"metadata": {}}),
        &["/metadata/labels: {\"legacy\":\"\"} <- nothing"],
    );
    differs(json!({"data": {"a": ""}}), json!({"data": {}}), &["/data/a: \"\" <- nothing"]);
    differs(json!({"spec": {"a": []}}), json!({"spec": {"a": [1]}}), &["/spec/a: [] <- [1]"]);
}

#[test]
fn what_the_server_keeps_when_it_is_false_is_a_difference_when_it_is_missing() {
    let container = |security: Value| {
        let container = json!({"name": "a", "securityContext": security});
        json!({"kind": "Pod", "spec": {"hostNetwork": false, "containers": [container]}})
    };
    let live = json!({"kind": "Pod", "spec": {"containers": [{"name": "a", "securityContext": {}}]}});
    differs(
        container(json!({"allowPrivilegeEscalation": false})),
        live,
        &["/spec/containers[name=a]/securityContext/allowPrivilegeEscalation: false <- nothing"],
    );
}

#[test]
fn quantities_count_only_where_quantities_stand() {
    let env = |value: &str| json!({"spec": {"containers": [{"name": "a", "env": [{"name": "X", "value": value}]}]}});
    differs(env("1"), env("1000m"), &["/spec/containers[name=a]/env[name=X]/value: \"1\" <- \"1000m\""]);
    let claim = |size: &str| json!({"kind": "PersistentVolumeClaim", "spec": {"resources": {"requests": {"storage": size}}}});
    same(claim("1Gi"), claim("1024Mi"));
    differs(claim("1Gi"), claim("2Gi"), &["/spec/resources/requests/storage: \"1Gi\" <- \"2Gi\""]);
    let quota = |pods: Value| json!({"kind": "ResourceQuota", "spec": {"hard": {"pods": pods}}});
    same(quota(json!(10)), quota(json!("10")));
    let range = |kind: &str, max: &str| json!({"kind": kind, "spec": {"limits": [{"max": {"cpu": max}}]}});
    same(range("LimitRange", "2"), range("LimitRange", "2000m"));
}

#[test]
fn an_integer_and_its_text_are_different() {
    let probe = |port: Value| json!({"spec": {"targetPort": port}});
    differs(probe(json!(80)), probe(json!("80")), &["/spec/targetPort: 80 <- \"80\""]);
    same(json!({"spec": {"weight": 1}}), json!({"spec": {"weight": 1.0}}));
    differs(
        json!({"spec": {"n": 9_007_199_254_740_993_i64}}),
        json!({"spec": {"n": 9_007_199_254_740_992_i64}}),
        &["/spec/n: 9007199254740993 <- 9007199254740992"],
    );
}

#[test]
fn lists_without_keys_are_applied_as_a_whole_and_tolerate_defaults_in_their_items() {
    let ingress = |rules: Value| json!({"kind": "Ingress", "spec": {"rules": rules}});
    same(ingress(json!([{"host": "a"}])), ingress(json!([{"host": "a", "http": {}}])));
    differs(
        ingress(json!([{"host": "a"}])),
        ingress(json!([{"host": "b"}])),
        &["/spec/rules/0/host: \"a\" <- \"b\""],
    );
    differs(
        ingress(json!([{"host": "a"}])),
        ingress(json!([{"host": "a"}, {"host": "b"}])),
        &["/spec/rules: [{\"host\":\"a\"}] <- [{\"host\":\"a\"},{\"host\":\"b\"}]"],
    );
    differs(
        json!({"spec": {"args": ["a", "b"]}}),
        json!({"spec": {"args": ["b", "a"]}}),
        &["/spec/args: [\"a\",\"b\"] <- [\"b\",\"a\"]"],
    );
}

#[test]
fn ports_are_told_apart_by_what_their_kind_tells_them_apart_by() {
    let service = |ports: Value| json!({"kind": "Service", "spec": {"ports": ports}});
    same(
        service(json!([{"port": 80}])),
        service(json!([{"port": 53, "protocol": "UDP"}, {"port": 80, "protocol": "TCP", "targetPort": 80}])),
    );
    differs(
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
    same(env(twice.clone()), env(twice.clone()));
    let other = json!([{"name": "X", "value": "1"}, {"name": "X", "value": "3"}]);
    assert_eq!(diff(&env(twice), &env(other))[0].path, "/spec/containers[name=a]/env/1/value");
}

#[test]
fn a_key_somebody_added_to_a_selector_would_go() {
    let service = |selector: Value| json!({"kind": "Service", "spec": {"selector": selector}});
    differs(
        service(json!({"app": "web"})),
        service(json!({"app": "web", "track": "canary"})),
        &["/spec/selector/track: nothing <- \"canary\""],
    );
}

#[test]
fn finalizers_of_others_stay() {
    let with = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    same(with(json!(["a"])), with(json!(["b", "a"])));
    differs(with(json!(["a"])), with(json!(["b"])), &["/metadata/finalizers: [\"a\"] <- [\"b\"]"]);
}

#[test]
fn another_version_of_the_same_group_is_no_difference() {
    let of = |version: &str| json!({"apiVersion": version, "kind": "X"});
    same(of("autoscaling/v1"), of("autoscaling/v2"));
    differs(of("apps/v1"), of("extensions/v1"), &["/apiVersion: \"apps/v1\" <- \"extensions/v1\""]);
}

#[test]
fn a_secret_is_compared_by_its_bytes_and_its_values_are_never_told() {
    let secret = |fields: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque"});
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        object
    };
    let live = secret(json!({"data": {"password": "aHVudGVyMg==", "other": "eA=="}}));
    same(secret(json!({"stringData": {"password": "hunter2"}})), live.clone());
    same(secret(json!({"data": {"password": "aHVu\ndGVyMg=="}})), live.clone());
    same(secret(json!({"data": {"password": "eA=="}, "stringData": {"password": "hunter2"}})), live.clone());
    let wanted =
        secret(json!({"stringData": {"password": "swordfish", "new": "x"}, "data": {"other": "eQ=="}}));
    differs(
        wanted.clone(),
        live.clone(),
        &[
            "/data/other: \"(hidden)\" <- \"(hidden)\"",
            "/stringData/password: \"(hidden)\" <- \"(hidden)\"",
            "/stringData/new: \"(hidden)\" <- nothing",
        ],
    );
    let whole = told(&diff(&wanted, &Value::Null)).concat();
    assert!(whole.contains("(hidden)") && !whole.contains("swordfish") && !whole.contains("eQ=="), "{whole}");
    let gone = removed_since(&wanted, &secret(json!({"stringData": {"password": "a"}})), &live);
    assert_eq!(told(&gone), ["/data/other: nothing <- \"(hidden)\""]);
}

#[test]
fn binary_data_is_compared_by_its_bytes() {
    let map = |text: &str| json!({"kind": "ConfigMap", "binaryData": {"a": text}});
    same(map("aGk=\n"), map("aGk="));
    assert_eq!(diff(&map("aGk="), &map("aGo=")).len(), 1);
}

#[test]
fn s3_13_fields_that_are_no_longer_wanted_are_told_where_they_still_are() {
    let previous = wanted();
    let mut next = wanted();
    let pod = &mut next["spec"]["template"]["spec"];
    pod["volumes"] = json!([]);
    let container = pod["containers"][0].as_object_mut().unwrap();
    container.remove("resources");
    container.remove("readinessProbe");
    container.insert("env".into(), json!([{"name": "A", "value": "2"}]));
    next["metadata"].as_object_mut().unwrap().remove("labels");
    next["spec"].as_object_mut().unwrap().remove("replicas");
    let paths: Vec<String> =
        removed_since(&previous, &next, &live()).into_iter().map(|change| change.path).collect();
    let web = "/spec/template/spec/containers[name=web]";
    assert_eq!(
        paths,
        [
            // `team` was put there by somebody else and stays.
            "/metadata/labels/app",
            "/spec/replicas",
            &format!("{web}/env[name=B]"),
            &format!("{web}/resources"),
            &format!("{web}/readinessProbe/httpGet/path"),
            &format!("{web}/readinessProbe/httpGet/port"),
            "/spec/template/spec/volumes[name=data]",
        ]
    );
    assert!(removed_since(&previous, &next, &json!({})).is_empty());
    assert!(removed_since(&previous, &previous, &live()).is_empty());
}

#[test]
fn a_field_that_changed_its_shape_is_a_change_and_not_a_removal() {
    let (previous, next) = (json!({"spec": {"a": {"b": 1}}}), json!({"spec": {"a": 2}}));
    assert_eq!(removed_since(&previous, &next, &previous), []);
    assert_eq!(told(&diff(&next, &previous)), ["/spec/a: 2 <- {\"b\":1}"]);
}
