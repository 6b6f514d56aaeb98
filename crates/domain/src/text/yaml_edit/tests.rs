//! Edits of example texts.

use serde_json::{Value, json};

use super::*;

fn path(text: &str) -> FieldPath {
    text.parse().unwrap()
}

fn set_in(text: &str, at: &str, value: &Value) -> String {
    set(text, 0, &path(at), value).unwrap_or_else(|why| panic!("{at}: {why}"))
}

fn remove_in(text: &str, at: &str) -> String {
    remove(text, 0, &path(at)).unwrap_or_else(|why| panic!("{at}: {why}"))
}

const WEB: &str = "\
# the shop's front
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # never rename
spec:
  replicas: 2   # per cluster

  template:
    spec:
      containers:
        - name: web
          image: 'reg.example/web:1.4'
          resources:
            requests: { cpu: 250m, memory: 256Mi }
          # unknown to the form
          terminationMessagePolicy: FallbackToLogsOnError
        - image: side:1
          name: side
";

/// The lines in which two texts differ.
fn diff_lines(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let removed = old[head..old.len() - tail].iter().map(|line| format!("-{line}"));
    removed
        .chain(new[head..new.len() - tail].iter().map(|line| format!("+{line}")))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_scalar_is_replaced_and_keeps_its_quotes_and_comment() {
    insta::assert_snapshot!(diff_lines(WEB, &set_in(WEB, "/spec/replicas", &json!(3))), @r"
    -  replicas: 2   # per cluster
    +  replicas: 3   # per cluster
    ");
    let image = "/spec/template/spec/containers[name=web]/image";
    insta::assert_snapshot!(diff_lines(WEB, &set_in(WEB, image, &json!("reg.example/web:1.5"))), @r"
    -          image: 'reg.example/web:1.4'
    +          image: 'reg.example/web:1.5'
    ");
    let cpu = "/spec/template/spec/containers/0/resources/requests/cpu";
    insta::assert_snapshot!(diff_lines(WEB, &set_in(WEB, cpu, &json!("1"))), @r#"
    -            requests: { cpu: 250m, memory: 256Mi }
    +            requests: { cpu: "1", memory: 256Mi }
    "#);
}

#[test]
fn a_missing_field_is_added_behind_its_siblings_with_its_missing_parents() {
    let limit = "/spec/template/spec/containers/0/resources/limits/memory";
    insta::assert_snapshot!(diff_lines(WEB, &set_in(WEB, limit, &json!("512Mi"))), @r"
    +            limits:
    +              memory: 512Mi
    ");
    let port = "/spec/template/spec/containers[name=side]/ports/-";
    insta::assert_snapshot!(diff_lines(WEB, &set_in(WEB, port, &json!({"name": "http", "containerPort": 80}))), @r"
    +          ports:
    +            - name: http
    +              containerPort: 80
    ");
    let ephemeral = "/spec/template/spec/containers/0/resources/requests/ephemeral-storage";
    insta::assert_snapshot!(diff_lines(WEB, &set_in(WEB, ephemeral, &json!("1Gi"))), @r"
    -            requests: { cpu: 250m, memory: 256Mi }
    +            requests: { cpu: 250m, memory: 256Mi, ephemeral-storage: 1Gi }
    ");
    let container = json!({"name": "third", "image": "x", "args": ["-v", "yes"]});
    insta::assert_snapshot!(diff_lines(WEB, &set_in(WEB, "/spec/template/spec/containers/-", &container)), @r#"
    +        - name: third
    +          image: x
    +          args:
    +            - -v
    +            - "yes"
    "#);
}

#[test]
fn removal_deletes_the_lines_of_a_value_and_nothing_else() {
    insta::assert_snapshot!(diff_lines(WEB, &remove_in(WEB, "/spec/template/spec/containers/0/resources")), @r"
    -          resources:
    -            requests: { cpu: 250m, memory: 256Mi }
    ");
    insta::assert_snapshot!(diff_lines(WEB, &remove_in(WEB, "/spec/template/spec/containers[name=side]")), @r"
    -        - image: side:1
    -          name: side
    ");
    insta::assert_snapshot!(diff_lines(WEB, &remove_in(WEB, "/spec/template/spec/containers[name=side]/image")), @r"
    -        - image: side:1
    -          name: side
    +        - name: side
    ");
    insta::assert_snapshot!(diff_lines(WEB, &remove_in(WEB, "/spec/template/spec/containers/0/resources/requests/cpu")), @r"
    -            requests: { cpu: 250m, memory: 256Mi }
    +            requests: { memory: 256Mi }
    ");
    let only = "a:\n  b: 1 # gone\nc: [x]\n";
    assert_eq!(remove_in(only, "/a/b"), "a: {}\nc: [x]\n");
    assert_eq!(remove_in(only, "/c/0"), "a:\n  b: 1 # gone\nc: []\n");
    assert_eq!(remove_in("l:\n- x\n- y\n", "/l/0"), "l:\n- y\n");
    assert_eq!(remove_in("l:\n- x\n", "/l/0"), "l: []\n");
}

#[test]
fn each_notation_of_an_empty_value_accepts_a_value() {
    assert_eq!(set_in("a:\nb: 1\n", "/a", &json!("x")), "a: x\nb: 1\n");
    assert_eq!(set_in("a: # why\nb: 1\n", "/a/c", &json!("x")), "a: # why\n  c: x\nb: 1\n");
    assert_eq!(set_in("a: \"\" # say it\n", "/a", &json!("x")), "a: x # say it\n");
    assert_eq!(set_in("a: {}\n", "/a/c", &json!("x")), "a:\n  c: x\n");
    assert_eq!(set_in("a: [] # none\n", "/a/-", &json!("x")), "a: # none\n  - x\n");
    assert_eq!(set_in("a: null\n", "/a/-", &json!("x")), "a:\n  - x\n");
    assert_eq!(set_in("b: 1\nl:\n- x", "/l/-", &json!("z")), "b: 1\nl:\n- x\n- z");
    assert_eq!(set_in("{\"a\": {\"b\": 1}}", "/a/c", &json!("x")), "{\"a\": {\"b\": 1, \"c\": \"x\"}}");
}

#[test]
fn multi_line_texts_become_literals_and_are_read_back() {
    let text = set_in("kind: ConfigMap\ndata:\n  a: x\n", "/data/a.conf", &json!("one: 1\n\n  two\n"));
    assert_eq!(text, "kind: ConfigMap\ndata:\n  a: x\n  a.conf: |\n    one: 1\n\n      two\n");
    assert_eq!(remove_in(&text, "/data/a.conf"), "kind: ConfigMap\ndata:\n  a: x\n");
    assert_eq!(set_in(&text, "/data/a.conf", &json!("x")), "kind: ConfigMap\ndata:\n  a: x\n  a.conf: x\n");
    assert_eq!(set_in(&text, "/data/b", &json!("x")).lines().last(), Some("  b: x"));
}

#[test]
fn windows_line_ends_and_other_documents_stay_unchanged() {
    let text = "\u{feff}a: 1\r\n---\r\nb: 2\r\n---\r\n# only this\r\n---\r\nc: 3\r\n";
    let new = set(text, 1, &path("/d/e"), &json!(4)).unwrap();
    assert_eq!(new, text.replace("b: 2\r\n", "b: 2\r\nd:\r\n  e: 4\r\n"));
    assert_eq!(remove(&new, 2, &path("/c")), Err(EditError::UnsupportedNotation));
}

#[test]
fn a_value_shared_by_an_anchor_is_rejected_and_others_are_not() {
    let text = "base: &b {x: 1}\nuse: *b\nmap:\n  <<: *b\n  z: 2\n";
    assert_eq!(set(text, 0, &path("/use/x"), &json!(2)), Err(EditError::Anchored));
    assert_eq!(set(text, 0, &path("/base"), &json!(2)), Err(EditError::Anchored));
    assert_eq!(remove(text, 0, &path("/base")), Err(EditError::Anchored));
    assert_eq!(set_in(text, "/map/z", &json!(3)), text.replace("z: 2", "z: 3"));
}

#[test]
fn an_invalid_text_is_not_changed() {
    assert_eq!(set("a: [", 0, &path("/a"), &json!(1)), Err(EditError::InvalidYaml));
    assert_eq!(set("a: 1\na: 2\n", 0, &path("/a"), &json!(1)), Err(EditError::InvalidYaml));
    assert_eq!(set("a: 1\n", 1, &path("/a"), &json!(1)), Err(EditError::NotFound));
    assert_eq!(set("a: x\n", 0, &path("/a/b"), &json!(1)), Err(EditError::NotFound));
    assert!(EditError::UnsupportedNotation.to_string().contains("edit this in the YAML"));
}

#[test]
fn documents_are_appended_and_removed_with_their_marker() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}});
    let two = add_document("a: 1", &service);
    assert_eq!(two, "a: 1\n---\napiVersion: v1\nkind: Service\nspec:\n  ports:\n    - port: 80\n");
    assert_eq!(parse_documents(&two), [Some(json!({"a": 1})), Some(service.clone())]);
    let other = json!({"b": [1]});
    assert_eq!(replace_document(&two, 1, &other).unwrap(), "a: 1\n---\nb:\n  - 1\n");
    assert_eq!(replace_document(&two, 0, &other).unwrap(), two.replace("a: 1\n", "b:\n  - 1\n"));
    assert_eq!(remove_document(&two, 1).unwrap(), "a: 1\n");
    assert_eq!(remove_document(&two, 0).unwrap(), add_document("", &service));
}
