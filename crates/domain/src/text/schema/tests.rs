//! Tests of schemas, on small kinds and on Kubernetes' own.

use serde_json::{Value, json};

use super::*;

/// A kind `v1/Ship` with this type.
fn ship_schema(of: &Value) -> Schema {
    let text = json!({"minor": 36, "kinds": {"v1/Ship": of}, "shared": [{"name!": "text", "next": 0}]});
    Schema::from_json(text.to_string().as_bytes()).unwrap()
}

fn check_ship(schema: &Schema, object: &Value) -> Vec<SchemaViolation> {
    schema.check(&(String::new(), "v1".to_owned(), "Ship".to_owned()), object)
}

/// Pointer and message of every violation.
fn violations(of: &Value, object: &Value) -> Vec<(String, String)> {
    check_ship(&ship_schema(of), object)
        .into_iter()
        .map(|fault| (fault.pointer.clone(), fault.describe()))
        .collect()
}

/// The violations of an object of one of Kubernetes' own kinds.
fn kubernetes_violations(object: &Value) -> Vec<(String, String)> {
    let name = crate::kubernetes::object::object_ref(object);
    let faults = kubernetes_schema().check(&(name.group, name.version, name.kind), object);
    faults.into_iter().map(|fault| (fault.pointer.clone(), fault.describe())).collect()
}

fn one_violation(pointer: &str, what: &str) -> Vec<(String, String)> {
    vec![(pointer.to_owned(), what.to_owned())]
}

fn deployment(pod: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod}}})
}

#[test]
fn g403_the_schema_of_kubernetes_round_trips() {
    let schema = Schema::from_json(KUBERNETES_JSON).unwrap();
    assert!(schema.kind_count() >= 50, "{}", schema.kind_count());
    assert_eq!(schema.to_json().as_bytes(), KUBERNETES_JSON);
    assert_eq!(*kubernetes_schema(), schema);
}

#[test]
fn g403_every_type_accepts_and_rejects_values() {
    for (of, good, bad) in [
        (json!("text"), json!(["a", ""]), json!([1, true, {}, []])),
        (json!("base64"), json!(["", "YQ==", "Y\nQ==", "YR=="]), json!(["YQ", "a b", 1])),
        (json!("bool"), json!([true, false]), json!(["true", 1, {}])),
        (json!("int32"), json!([0, -1, 3.0, 2_147_483_647]), json!(["3", 1.5, 2_147_483_648_u64])),
        (json!("int"), json!([0, 9_007_199_254_740_993_i64]), json!(["3", 1.5, u64::MAX])),
        (json!("number"), json!([0, 1.5]), json!(["3", true])),
        (json!("intOrText"), json!([0, "http"]), json!([1.5, true, {}])),
        (json!("quantity"), json!(["64Mi", "1e3", 2, 0.5]), json!(["64mb", true, []])),
        (json!("|TCP|UDP"), json!(["TCP", ""]), json!(["tcp", 1])),
        (json!(["int32"]), json!([[], [1]]), json!([1, {}, ["a"]])),
        (json!({"*": "int32"}), json!([{}, {"a": 1}]), json!([1, [], {"a": "b"}])),
        (json!({"a": "int32"}), json!([{}, {"a": 1}]), json!([1, [], {"b": 1}])),
        (json!({"a": "int32", "...": "any"}), json!([{"b": 1}]), json!([{"a": "b"}])),
        (json!(0), json!([{"name": "a", "next": {"name": "b"}}]), json!([{"name": "a", "next": {}}])),
        (json!("any"), json!([1, "a", {}, []]), json!([])),
    ] {
        for value in good.as_array().unwrap().iter().chain([&Value::Null]) {
            assert_eq!(violations(&json!({"f": of}), &json!({"f": value})), [], "{of} {value}");
        }
        for value in bad.as_array().unwrap() {
            assert_eq!(violations(&json!({"f": of}), &json!({"f": value})).len(), 1, "{of} {value}");
        }
    }
}

#[test]
fn g403_an_unknown_field_is_reported_with_the_nearest_known_one() {
    let object = deployment(json!({"container": [{"name": "web", "image": "nginx"}]}));
    assert_eq!(
        kubernetes_violations(&object),
        [
            (
                "/spec/template/spec/container",
                "unknown field spec.template.spec.container (did you mean containers?)"
            ),
            ("/spec/template/spec/containers", "spec.template.spec.containers is missing"),
        ]
        .map(|(pointer, what)| (pointer.to_owned(), what.to_owned()))
    );
    let object = deployment(json!({"containers": [{"name": "web", "imagepullpolicy": "Always"}]}));
    assert_eq!(
        kubernetes_violations(&object),
        one_violation(
            "/spec/template/spec/containers/0/imagepullpolicy",
            "unknown field spec.template.spec.containers[0].imagepullpolicy (did you mean imagePullPolicy?)"
        )
    );
}

#[test]
fn g403_a_field_at_the_wrong_depth_is_reported_with_the_object_it_belongs_to() {
    let mut object = deployment(json!({"containers": [{"name": "web"}], "replicas": 3}));
    assert_eq!(
        kubernetes_violations(&object),
        one_violation(
            "/spec/template/spec/replicas",
            "unknown field spec.template.spec.replicas (replicas belongs in spec)"
        )
    );
    object = deployment(json!({"containers": [{"name": "web"}]}));
    object["spec"]["nodeSelector"] = json!({"a": "b"});
    assert_eq!(
        kubernetes_violations(&object),
        one_violation(
            "/spec/nodeSelector",
            "unknown field spec.nodeSelector (nodeSelector belongs in spec.template.spec)"
        )
    );
}

#[test]
fn g403_wrong_types_enumeration_values_and_keys_are_reported_with_a_hint() {
    let object = deployment(json!({"restartPolicy": "always", "hostNetwork": "true", "containers": [{
        "name": "web", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}],
        "env": {"A": "1"}, "args": ["-v", 2], "resources": {"limits": {"memory": "64mb"}}}]}));
    let name = ("apps".to_owned(), "v1".to_owned(), "Deployment".to_owned());
    let messages: Vec<String> = kubernetes_schema()
        .check(&name, &object)
        .into_iter()
        .map(|fault| format!("{}. {}", fault.describe(), fault.hint))
        .collect();
    let pod = "spec.template.spec";
    assert_eq!(
        messages,
        [
            format!(
                "{pod}.restartPolicy is \"always\", which is not one of Always, Never, OnFailure. Write Always."
            ),
            format!(
                "{pod}.hostNetwork must be true or false, not the text \"true\". Write it without quotes."
            ),
            format!(
                "{pod}.containers[0].ports[1] has the same containerPort 80 and protocol TCP as an earlier item. Keep one of them."
            ),
            format!(
                "{pod}.containers[0].env must be a list, not a map of fields. Write a list: each item on a line that begins with \"- \"."
            ),
            format!("{pod}.containers[0].args[1] must be text, not 2. Put the value in quotes."),
            format!(
                "{pod}.containers[0].resources.limits.memory is \"64mb\", which is not a quantity. Write 64Mi."
            ),
        ]
    );
}

#[test]
fn g403_a_template_is_not_checked_before_it_is_filled_in() {
    let mut object = deployment(
        json!({"containers": [{"name": "web", "image": "${{ cluster.labels.image }}",
        "ports": [{"containerPort": "${{ cluster.labels.port | int }}"}, {"containerPort": "${{ cluster.labels.port | int }}"}]}],
        "restartPolicy": "${{ cluster.labels.restart }}", "replica": "${{ cluster.labels.size }}"}),
    );
    object["spec"]["replicas"] = "${{ cluster.labels.size | int }}".into();
    assert_eq!(
        kubernetes_violations(&object),
        one_violation("/spec/template/spec/replica", "unknown field spec.template.spec.replica")
    );
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "${{ cluster.name }}"}});
    assert_eq!(kubernetes_violations(&secret), []);
}

#[test]
fn g403_an_unknown_kind_is_not_checked() {
    assert_eq!(
        kubernetes_violations(&json!({"apiVersion": "example.com/v1", "kind": "Ship", "sails": 3})),
        []
    );
    assert_eq!(
        kubernetes_violations(
            &json!({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "sails": 3})
        ),
        []
    );
}

#[test]
fn g403_a_custom_kind_is_checked_against_its_definition() {
    let schema = json!({"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object",
        "required": ["masts", "flag"], "properties": {
            "masts": {"type": "integer"},
            "flag": {"type": "string", "default": "white", "enum": ["white", "black"]},
            "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "integer"}}},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "part": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
            "crew": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}}}}});
    let definition = json!({"kind": "CustomResourceDefinition", "spec": {"group": "sea.example.com",
        "names": {"kind": "Ship"}, "versions": [
            {"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}},
            {"name": "v0", "served": false, "schema": {"openAPIV3Schema": schema}}, {"name": "v2"}]}});
    let kinds = parse_definition(&definition, &kubernetes_schema().metadata_type());
    assert_eq!(kinds.len(), 1, "{kinds:#?}");
    let messages = |spec: Value| -> Vec<String> {
        let object = json!({"apiVersion": "sea.example.com/v1", "kind": "Ship",
            "metadata": {"name": "a", "label": {}}, "spec": spec, "status": {"x": 1}});
        kubernetes_schema()
            .check_value(&kinds[0].1, &object)
            .into_iter()
            .map(|fault| fault.describe())
            .collect()
    };
    let metadata = "unknown field metadata.label (did you mean labels?)";
    let good = json!({"masts": 3, "extra": {"a": 1, "b": 2}, "any": {"c": [1]}, "port": "http", "labels": {"a": "b"},
        "part": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}, "crew": [{"name": "a"}, {"name": "b"}]});
    assert_eq!(messages(good), [metadata]);
    let bad = json!({"flag": "red", "mast": 3, "extra": {"a": "1"}, "port": 1.5, "labels": {"a": 1},
        "part": {"specs": {}}, "crew": [{"name": "a"}, {"name": "a", "rank": 1}]});
    assert_eq!(messages(bad).len(), 10, "{:#?}", messages(json!({"mast": 3})));
}

#[test]
fn an_invalid_schema_is_rejected() {
    for text in [
        "",
        "{}",
        r#"{"minor":1,"kinds":{"v1/A":0},"shared":[]}"#,
        r#"{"minor":1,"kinds":{"A":"any"},"shared":[]}"#,
        r#"{"minor":1,"kinds":{},"shared":[0]}"#,
        r#"{"minor":1,"kinds":{},"shared":[{"a":[{"*":1}]}]}"#,
        r#"{"minor":1,"kinds":{"v1/A":"word"},"shared":[]}"#,
        r#"{"minor":1,"kinds":{"v1/A":[]},"shared":[]}"#,
        r#"{"minor":1,"kinds":{"v1/A":{"*":"any","b":"any"}},"shared":[]}"#,
    ] {
        assert!(Schema::from_json(text.as_bytes()).is_err(), "{text}");
    }
    let deep = format!(
        r#"{{"minor":1,"kinds":{{"v1/A":{}"any"{}}},"shared":[]}}"#,
        "[".repeat(9_999),
        "]".repeat(9_999)
    );
    assert!(Schema::from_json(deep.as_bytes()).is_err());
    assert!(Schema::from_json(&vec![b' '; MAX_BYTES + 1]).is_err());
}

#[test]
fn a_check_of_a_recursive_list_type_terminates() {
    let text = r#"{"minor":1,"kinds":{"v1/Ship":{"a":0}},"shared":[[0]]}"#;
    let schema = Schema::from_json(text.as_bytes()).unwrap();
    assert_eq!(check_ship(&schema, &json!({"a": [[[]]], "zzz": 1})).len(), 1);
}

#[test]
fn the_number_of_reported_violations_is_bounded() {
    let many: Value =
        (0..1_000).map(|n| (format!("f{n}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(violations(&json!({"a": "text"}), &many).len(), MAX_VIOLATIONS);
}

/// A schema from one document with these definitions, one kind each.
fn schema_from_documents(definitions: &Value) -> Schema {
    let mut paths = serde_json::Map::new();
    for definition in definitions.as_object().unwrap().values() {
        let kind = &definition["x-kubernetes-group-version-kind"][0];
        let path = format!("/apis/{}/{{name}}", kind["kind"].as_str().unwrap());
        paths.insert(path, json!({"patch": {"x-kubernetes-group-version-kind": kind}}));
    }
    let document = json!({"paths": paths, "components": {"schemas": definitions}});
    let mut documents = OpenApiDocuments::default();
    documents.add(document.to_string().as_bytes()).unwrap();
    Schema::from_openapi(36, &documents)
}

#[test]
fn p19_documents_with_too_many_values_are_refused_alone_and_together() {
    let mut documents = OpenApiDocuments::default();
    let mut add = |name: &str, values: usize| {
        let list = "0,".repeat(values);
        let text = format!(r#"{{"components":{{"schemas":{{"{name}":{{"enum":[{list}0]}}}}}}}}"#);
        documents.add(text.as_bytes()).map_err(|error| error.to_string())
    };
    let refused = add("a", 500_000).unwrap_err();
    assert!(refused.contains("at most 500000 are read"), "{refused}");
    assert_eq!((add("a", 490_000), add("b", 490_000)), (Ok(()), Ok(())));
    let refused = add("c", 490_000).unwrap_err();
    assert!(refused.contains("with the other documents it has more than 1000000 values"), "{refused}");
    assert_eq!(add("a", 490_000), Ok(()), "a repeated definition counts once");
    assert_eq!(add("c", 10_000), Ok(()), "nothing of what was refused is retained");
}

#[test]
fn p19_definitions_that_refer_to_themselves_become_a_bounded_schema() {
    let reference = json!({"$ref": "#/components/schemas/list"});
    let pair = json!({"type": "object", "properties": {"a": reference, "b": reference}});
    for items in [reference.clone(), pair] {
        let ship = custom_definition("Ship", &json!({"spec": reference}));
        let mut documents = OpenApiDocuments::default();
        let kind = &ship["x-kubernetes-group-version-kind"][0];
        let path = json!({"patch": {"x-kubernetes-group-version-kind": kind}});
        let document = json!({"paths": {"/apis/Ship/{name}": path},
            "components": {"schemas": {"io.k8s.api.sea.v1.Ship": ship, "list": {"type": "array", "items": items}}}});
        documents.add(document.to_string().as_bytes()).unwrap();
        let text = Schema::from_openapi(36, &documents).to_bounded_json();
        assert!(
            text.len() <= MAX_BYTES && Schema::from_json(text.as_bytes()).is_ok(),
            "{} bytes",
            text.len()
        );
    }
}

fn custom_definition(kind: &str, properties: &Value) -> Value {
    let names = json!([{"group": "sea.example.com", "version": "v1", "kind": kind}]);
    json!({"type": "object", "properties": properties, "required": ["spec"], "x-kubernetes-group-version-kind": names})
}

#[test]
fn g403_a_custom_kind_from_the_server_equals_that_from_its_definition() {
    let spec = json!({"type": "object", "required": ["masts", "port"], "properties": {
        "description": {"type": "string", "description": "In words."},
        "masts": {"type": "integer", "default": 1}, "port": {"x-kubernetes-int-or-string": true},
        "cargo": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "crew": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}}}}}});
    let definition = json!({"kind": "CustomResourceDefinition", "spec": {"group": "sea.example.com",
        "names": {"kind": "Ship"}, "versions": [{"name": "v1", "schema": {"openAPIV3Schema":
            {"type": "object", "required": ["spec"], "properties": {"spec": spec}}}}]}});
    let (kind, defined) = parse_definition(&definition, &ValueType::Any).pop().unwrap();
    let schema = schema_from_documents(
        &json!({"com.example.sea.v1.Ship": custom_definition("Ship", &json!({"spec": spec}))}),
    );
    assert_eq!(schema.kind_type(&kind), Some(&defined));
    assert_eq!(Schema::from_json(schema.to_json().as_bytes()).unwrap(), schema);
}

#[test]
fn g403_a_custom_kind_without_a_schema_is_omitted() {
    let bare = json!({"apiVersion": {"type": "string"}, "metadata": {"type": "object"}});
    let schema = schema_from_documents(
        &json!({"a": custom_definition("Bare", &bare), "b": custom_definition("Ship", &json!({"spec": {}}))}),
    );
    assert_eq!(schema.kind_count(), 1);
}

#[test]
fn g403_the_largest_kinds_are_omitted_from_a_schema_that_is_too_long() {
    let long: serde_json::Map<String, Value> = (0..60_000)
        .map(|field| (format!("a-field-with-a-long-name-{field}"), json!({"type": "string"})))
        .collect();
    let schema = schema_from_documents(&json!({
        "a": custom_definition("Long", &json!({"spec": {"type": "object", "properties": long}})),
        "b": custom_definition("Ship", &json!({"spec": {"type": "object", "properties": {"masts": {"type": "integer"}}}})),
    }));
    assert_eq!(schema.kind_count(), 2);
    let read = Schema::from_json(schema.to_bounded_json().as_bytes()).unwrap();
    let left: Vec<&str> = read.kinds.keys().map(|(_, _, kind)| kind.as_str()).collect();
    assert_eq!(left, ["Ship"]);
}
