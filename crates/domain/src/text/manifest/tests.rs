//! Parsing of manifests, through its public functions.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::text::null_character;

fn file(name: &str, text: &str) -> SourceFile {
    SourceFile { name: name.into(), text: text.into() }
}

fn read(text: &str) -> ParsedManifests {
    parse(&[file("a.yaml", text)])
}

fn single_finding(text: &str) -> Finding {
    let findings = read(text).findings;
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.into_iter().next().unwrap()
}

fn position_of(finding: &Finding) -> (u32, u32) {
    let place = finding.location.as_ref().unwrap();
    (place.line, place.column)
}

fn parse_config_map(body: &str) -> Value {
    let parsed = read(&format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n{body}\n"));
    assert_eq!(parsed.findings, []);
    parsed.manifests[0].object.clone()
}

#[test]
fn scalars_are_read_as_kubectl_reads_them() {
    let object = parse_config_map(
        "a: 0644\nb: 12e3\nc: 08\nd: yes\ne: '0644'\nf: 12:30:45\ng: 9007199254740993\nh: 1.5\n1: on",
    );
    let expected = json!({"a": 420, "b": 12000, "c": 8, "d": true, "e": "0644", "f": "12:30:45",
        "g": 9_007_199_254_740_993_u64, "h": 1.5, "1": true});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&object[key], value, "{key}");
    }
}

#[test]
fn every_field_has_its_location() {
    let parsed = read(
        "# head\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: b\n    image: c\n",
    );
    let pod = &parsed.manifests[0];
    let at = |pointer: &str| (pod.location_of(pointer).line, pod.location_of(pointer).column);
    assert_eq!(at(""), (3, 1));
    assert_eq!(at("/metadata/name"), (6, 3));
    assert_eq!(at("/spec/containers/0/image"), (10, 5));
    assert_eq!(at("/spec/containers/0"), (9, 5));
    assert_eq!(at("/spec/containers/0/ports/3"), (9, 5), "the nearest parent");
    assert_eq!(pod.location_of("/spec").file, "a.yaml");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let parsed =
        read("\u{feff}apiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: a\r\n---\r\n# nothing\r\n");
    assert_eq!(parsed.findings, []);
    assert_eq!(parsed.manifests[0].location_of("/metadata/name").line, 4);
}

#[test]
fn empty_documents_and_comments_are_no_objects() {
    assert_eq!(read(""), ParsedManifests::default());
    assert_eq!(read("---\n# a\n---\n\n--- # b\nnull\n...\n"), ParsedManifests::default());
}

#[test]
fn json_files_and_lists_are_also_parsed() {
    let text = r#"{"apiVersion":"v1","kind":"List","items":[
	{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"smile":"\ud83d\ude00\u007f\/"}},
	{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}]}"#;
    let parsed = parse(&[file("a.json", text)]);
    assert_eq!(parsed.findings, []);
    assert_eq!(parsed.manifests[0].object["data"]["smile"], "😀\u{7f}/");
    assert_eq!(parsed.manifests[1].object_ref().name, "b");
    assert_eq!(parsed.manifests[1].location_of("/metadata/name").line, 3);
}

#[test]
fn an_item_of_a_typed_list_without_its_own_kind_has_that_of_the_list() {
    let text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleList\nitems:\n- metadata: {name: a}\n- {kind: Role, metadata: {name: b}}\n";
    let parsed = read(text);
    assert_eq!(parsed.findings, []);
    for (manifest, name) in parsed.manifests.iter().zip(["a", "b"]) {
        let expected =
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}});
        assert_eq!(manifest.object, expected);
    }
    // A list of anything implies nothing.
    let any = single_finding("apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n");
    assert!(any.message.contains("has no apiVersion and no kind"), "{}", any.message);
}

#[test]
fn lists_of_every_kind_are_their_items_and_an_object_whose_kind_ends_with_list_is_itself() {
    let text = "apiVersion: rbac.authorization.k8s.io/v1
kind: RoleList
items:
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: reader-a}
    rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]
  - metadata: {name: reader-b}          # without apiVersion and kind, as in an API response
    rules: [{apiGroups: [\"\"], resources: [pods], verbs: [list]}]
---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: ConfigMapList
    items:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: nested}, data: {a: \"1\"}}
---
apiVersion: net.example.com/v1
kind: AllowList                         # a custom kind whose name ends with List
metadata: {name: offices}
spec: {ranges: [10.0.0.0/8]}
---
apiVersion: v1
kind: ConfigMapList
items: []
";
    let parsed = read(text);
    assert_eq!(parsed.findings, []);
    let objects: Vec<String> = parsed.manifests.iter().map(|one| one.object_ref().to_string()).collect();
    assert_eq!(objects, ["Role reader-a", "Role reader-b", "ConfigMap nested", "AllowList offices"]);
}

#[test]
fn files_of_a_repository_without_an_object_are_left_out_with_one_warning() {
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let kept = [
        ("a.yaml", manifest),
        ("broken.yaml", "a: [\n"),
        ("half.yaml", "kind: ConfigMap\n"),
        ("mixed.yaml", "values: 1\n---\nkind: ConfigMap\n"),
        ("twice.yaml", "a: 1\na: 2\n"),
        ("sub/kustomization.yaml", "resources: [a.yaml]\n"),
        ("empty.yaml", "# nothing\n"),
    ];
    let data =
        [("values-eu.yaml", "replicas: 3\n"), ("dashboards/app.json", "{\"panels\": []}"), ("b.yaml", "[1]")];
    let files = kept.iter().chain(&data).map(|(name, text)| file(name, text)).collect();
    let (manifests, warning) = leave_out_data(files);
    let names: Vec<&str> = manifests.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, kept.map(|(name, _)| name));
    let warning = warning.unwrap();
    assert_eq!((warning.code.as_str(), warning.is_blocking()), ("G109", false));
    for (name, _) in data {
        assert!(warning.message.contains(name), "{}", warning.message);
    }
    assert_eq!(leave_out_data(manifests).1, None);
}

#[test]
fn anchors_and_merge_keys_are_expanded() {
    let object = parse_config_map("base: &b {x: 1, z: 2}\ndata:\n  <<: *b\n  x: 3");
    assert_eq!(object["data"], json!({"x": 3, "z": 2}));
}

#[test]
fn g109_a_duplicate_key_is_rejected_with_both_locations() {
    let finding =
        single_finding("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  x: 1\n  y2: 2\n  x: 3\n");
    assert_eq!((finding.code.as_str(), position_of(&finding)), ("G109", (8, 3)));
    assert!(finding.message.contains("at line 6 and at line 8"), "{}", finding.message);
}

#[test]
fn g109_missing_fields_are_named() {
    let finding = single_finding("kind: Pod\nmetadata: {}\n");
    assert_eq!(
        finding.message,
        "This Pod has no apiVersion and no metadata.name, so a cluster cannot identify it."
    );
    assert_eq!(
        single_finding("apiVersion: v1\nmetadata: {name: a}\n").message,
        "The object \"a\" has no kind, so a cluster cannot identify it."
    );
    let generated = single_finding("apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: a-\n");
    assert!(generated.message.contains("generateName"));
    assert_eq!(position_of(&generated), (4, 3));
    let number = single_finding("apiVersion: v1\nkind: Pod\nmetadata:\n  name: 123\n");
    assert_eq!((number.hint.as_str(), position_of(&number)), ("Put the value in quotes.", (4, 3)));
}

#[test]
fn g109_an_api_version_or_a_kind_that_no_server_can_serve_is_rejected() {
    for (api_version, kind, path) in [
        ("a/b/c", "Pod", "/apiVersion"),
        ("/v1", "Pod", "/apiVersion"),
        ("apps/", "Pod", "/apiVersion"),
        ("../../api/v1", "Pod", "/apiVersion"),
        ("v1", "Pod/status", "/kind"),
        ("v1", "Pod status", "/kind"),
    ] {
        let finding =
            single_finding(&format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n"));
        assert_eq!((finding.code.as_str(), finding.path.as_str()), ("G109", path), "{api_version} {kind}");
    }
    let empty = single_finding("apiVersion: v1\nkind: Pod\nmetadata: {name: \"\"}\n");
    assert_eq!(empty.message, "This Pod has no metadata.name, so a cluster cannot identify it.");
}

#[test]
fn g109_an_error_in_one_document_hides_nothing_in_the_others() {
    let good = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\n";
    let text = format!(
        "{}---\na: b: c\n---\n{}---\n- x\n---\nspec:\n\tx: 1\n",
        good.replace("NAME", "a"),
        good.replace("NAME", "b")
    );
    let parsed = read(&text);
    assert_eq!(parsed.manifests.len(), 2);
    let lines: Vec<u32> = parsed.findings.iter().map(|finding| position_of(finding).0).collect();
    assert_eq!(lines, [5, 11, 14]);
    assert!(parsed.findings[2].hint.contains("tabs"), "{:?}", parsed.findings[2]);
    assert!(parsed.findings[1].message.contains("a list"));
}

#[test]
fn g109_files_that_are_not_yaml_are_named() {
    let page = parse(&[file("x.yaml", "<!DOCTYPE html>\n<html>a: b</html>\n")]).findings;
    assert!(page[0].message.contains("web page"), "{page:?}");
    let script = parse(&[file("x.sh", "#!/bin/sh\nset -e\nkubectl apply -f .\n")]).findings;
    assert!(script[0].message.contains("a script"), "{script:?}");
    let binary = parse(&[file("x.tgz", "\u{1f}\u{fffd}\u{8}\0\0\0\0\u{3}")]).findings;
    assert!(binary[0].message.contains("binary"), "{binary:?}");
    assert_eq!((page.len(), script.len(), binary.len()), (1, 1, 1));
}

#[test]
fn g109_files_of_kustomize_and_helm_are_named() {
    let finding = |name: &str, text: &str| {
        let findings = parse(&[file(name, text)]).findings;
        assert_eq!(findings.len(), 1, "{findings:#?}");
        (findings[0].code.clone(), findings[0].message.clone())
    };
    let kustomize = finding(
        "kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
    );
    assert_eq!(
        kustomize,
        (
            "G109".into(),
            "\"kustomization.yaml\" is a kustomize file, not a Kubernetes object; no cluster would accept it."
                .into()
        )
    );
    assert!(finding("kustomization.yml", "resources: [a.yaml]\n").1.contains("kustomize"));
    assert!(finding("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n").1.contains("Helm chart"));
    assert!(finding("values.yaml", "replicaCount: 1\n").1.contains("Helm values"));
    assert!(
        finding("t.yaml", "{{- if .Values.on }}\napiVersion: v1\n{{- end }}\n").1.contains("Helm template")
    );
    assert!(
        finding("t.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x-{{ .Release.Name }}\n")
            .1
            .contains("template")
    );
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n";
    assert_eq!(read(flux).findings, [], "an object of its own");
}

#[test]
fn g109_expressions_of_other_tools_are_ignored() {
    let alert = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  rule: |\n    {{- if $value }}{{ .Labels.pod }}{{ end }}\n";
    assert_eq!(read(alert).findings, []);
    let finding = single_finding(&format!("{alert}---\na: b: c\n"));
    assert!(!finding.message.contains("Helm"), "{finding:?}");
}

#[test]
fn g110_an_object_that_is_defined_twice_is_rejected_with_both_locations() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: web}\n";
    let findings = parse(&[file("a.yaml", pod), file("b.yaml", &format!("---\n{pod}"))]).findings;
    assert_eq!(
        findings[0].message,
        "Pod web/a is defined twice (a.yaml:1, b.yaml:2); one would overwrite the other."
    );
    let other = pod.replace("v1", "example.org/v1");
    assert_eq!(parse(&[file("a.yaml", pod), file("b.yaml", &other)]).findings, []);
}

#[test]
fn g110_the_fix_of_a_secret_that_is_defined_twice_does_not_contain_its_values() {
    let defined_twice = |kind: &str, field: &str| {
        let object =
            format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n{field}: {{password: hunter2}}\n");
        single_finding(&format!("{object}---\n{object}"))
    };
    assert!(defined_twice("ConfigMap", "data").fix.is_some(), "the second one can be removed");
    for field in ["data", "stringData"] {
        let finding = defined_twice("Secret", field);
        assert_eq!(finding.code, "G110");
        assert!(!serde_json::to_string(&finding).unwrap().contains("hunter2"), "{finding:?}");
    }
}

#[test]
fn g111_objects_over_the_limit_of_etcd_are_rejected() {
    let config = |name: &str, size: usize| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: {}}}\n---\n",
            "x".repeat(size)
        )
    };
    let finding = single_finding(&config("a", 1 << 20));
    assert_eq!(finding.code, "G111");
    assert!(finding.message.starts_with("ConfigMap a has 1.0 MiB"));
    let many: String = (0..5).map(|n| config(&format!("c{n}"), 900 << 10)).collect();
    assert!(single_finding(&many).message.starts_with("All objects together have 4.4 MiB"));
}

#[test]
fn g111_yaml_bombs_and_large_sources_are_limited_and_named() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for n in 1..9 {
        bomb += &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(","));
    }
    assert_eq!(single_finding(&bomb).code, "G111");
    let text_bomb = format!("a: &a {}\nb:\n{}", "x".repeat(1 << 20), "- *a\n".repeat(5000));
    assert_eq!(single_finding(&text_bomb).code, "G111");
    assert_eq!(single_finding(&"[".repeat(10_000)).code, "G111");
    assert!(single_finding(&"a: 1\n".repeat((10 << 20) / 5 + 1)).message.contains("10 MiB"));
    let many = read(&"---\n- 1\n".repeat(501)).findings;
    assert!(many[500].message.contains("more than 500 documents"), "{:?}", many[500]);
    let bombs = read(&format!("---\n{bomb}").repeat(100)).findings;
    assert!(bombs.len() < 20 && bombs.last().unwrap().message.contains("was not read"));
}

#[test]
fn g111_the_objects_of_envelopes_count_as_documents() {
    let objects = |count: usize| -> Vec<Value> {
        let object =
            |n| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c-{n}")}});
        (0..count).map(object).collect()
    };
    let list = |items: Vec<Value>| json!({"apiVersion": "v1", "kind": "List", "items": items});
    let work = |manifests: Vec<Value>| {
        json!({"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": {"name": "w"},
            "spec": {"workload": {"manifests": manifests}}})
    };
    let nested = |count: usize| {
        let lists = objects(count).into_iter().map(|object| list(vec![object]));
        work(vec![list(lists.collect())])
    };
    let config_maps =
        |count: usize| json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": objects(count)});
    let envelopes: [&dyn Fn(usize) -> Value; 4] =
        [&|count| list(objects(count)), &|count| work(objects(count)), &nested, &config_maps];
    for envelope in envelopes {
        let allowed = read(&envelope(MAX_DOCUMENTS).to_string());
        assert_eq!((allowed.manifests.len(), allowed.findings), (MAX_DOCUMENTS, Vec::new()));
        let more = read(&envelope(5_000).to_string());
        assert_eq!(more.manifests.len(), MAX_DOCUMENTS);
        let [finding] = more.findings.as_slice() else { panic!("{:?}", more.findings) };
        assert_eq!(finding.code, "G111");
        assert!(finding.message.contains("more than 500 documents"), "{finding:?}");
    }
    // Documents and objects of envelopes count together.
    let text = format!("{}\n---\n{}", list(objects(MAX_DOCUMENTS)), objects(1)[0]);
    assert!(read(&text).findings.iter().any(|finding| finding.code == "G111"));
}

#[test]
fn g109_a_text_with_the_character_u_0000_is_rejected_with_its_field() {
    let found = single_finding(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations:\n    a: \"b\\0\"\ndata: {a: b}\n",
    );
    assert_eq!((&*found.code, &*found.path, position_of(&found).0), ("G109", "/metadata/annotations/a", 6));
    assert!(found.message.contains("U+0000") && !found.message.contains('\0'), "{found:?}");
    let named =
        single_finding("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {\"a\\x00\": b}\n");
    assert_eq!((&*named.code, &*named.path), ("G109", "/data"));
    let own = single_finding("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"c\\0\"}\n");
    assert_eq!((&*own.code, &*own.path), ("G109", "/metadata/name"));
    assert!(!own.message.contains('\0'), "{own:?}");
}

#[test]
fn the_deepest_objects_that_are_parsed_fit_a_small_stack() {
    let list = format!("{}1{}", "[".repeat(62), "]".repeat(62));
    let map = format!("{}1{}", "{a: ".repeat(62), "}".repeat(62));
    let read = move || [list, map].map(|deep| parse_config_map(&format!("a: {deep}")));
    std::thread::Builder::new().stack_size(3 << 19).spawn(read).unwrap().join().unwrap();
}

proptest! {
    #[test]
    fn reading_never_panics(text in "(?s).{0,400}") {
        read(&text);
    }

    #[test]
    fn reading_text_that_looks_like_yaml_never_panics(text in "([a-c]: |- |\\{|\\}|\\[|\\]|\n|  |\t|&a |\\*a|<<: |---\n|\\.\\.\\.\n|'|\"|\\||>|#|!|%|x|0|é){0,60}") {
        read(&text);
    }

    #[test]
    fn an_object_written_as_json_reads_back_the_same(fields in prop::collection::btree_map("\\PC{0,12}|(?s).{0,6}", json_value(), 0..6)) {
        let mut object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}});
        object["spec"] = Value::Object(fields.into_iter().collect());
        prop_assume!(null_character::find_in(&object).is_none());
        for text in [object.to_string(), serde_json::to_string_pretty(&object).unwrap()] {
            let parsed = read(&text);
            prop_assert_eq!(&parsed.findings, &[]);
            prop_assert_eq!(&parsed.manifests[0].object, &object);
        }
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "(?s).{0,20}".prop_map(Value::from),
        "(yes|no|0644|1e3|~|null|<<|=|- a|a: b|#x|\\*a|&a|!x)".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("(?s).{0,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn p19_g111_a_key_has_a_limited_length_because_paths_repeat_it() {
    let text = |bytes: usize| {
        let key = "K".repeat(bytes);
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  ? \"{key}\"\n  : b\n")
    };
    assert_eq!(read(&text(4_096)).findings, []);
    let finding = single_finding(&text(4_097));
    assert_eq!(finding.code, "G111", "{finding:?}");
    assert!(finding.message.contains("longer than 4096 bytes"), "{}", finding.message);
}

#[test]
fn p19_g111_paths_of_fields_below_nested_long_keys_are_bounded_together() {
    let nested = |fields: usize| {
        let leaves: Vec<String> = (0..fields).map(|n| format!("\"k{n}\": 1")).collect();
        let mut text = format!("{{{}}}", leaves.join(", "));
        for _ in 0..40 {
            text = format!("{{\"{}\": {text}}}", "K".repeat(1_000));
        }
        format!(
            "{{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {{\"name\": \"c\"}}, \"x\": {text}}}"
        )
    };
    assert_eq!(read(&nested(1_000)).findings, []);
    let finding = single_finding(&nested(2_000));
    assert_eq!((finding.code.as_str(), finding.object.contains("ConfigMap")), ("G111", true), "{finding:?}");
    assert!(finding.message.contains("paths of all fields"), "{}", finding.message);
}
