//! The rules, each with what passes, what fails and what it says.

use super::*;
use crate::finding::Severity;
use crate::workload::{Source, SourceFile};

mod exposure;
mod fleet;
mod needs;
mod objects;
mod pods;
mod site;
mod structure;
mod traffic;

/// What the rules say of this text, the codes of the rules that every bare pod breaks left out.
fn say(text: &str) -> Vec<Finding> {
    let files = vec![SourceFile { name: "a.yaml".into(), text: text.into() }];
    let parsed = crate::manifest::parse(&files);
    let spec =
        WorkloadSpec { namespace: "web".into(), source: Source::Yaml { files }, ..WorkloadSpec::default() };
    let mut findings = check_static("shop", &spec, &parsed);
    findings.retain(|finding| !matches!(finding.code.as_str(), "G212"));
    findings
}

/// The findings with one code.
fn of(code: &str, text: &str) -> Vec<Finding> {
    say(text).into_iter().filter(|finding| finding.code == code).collect()
}

/// The only finding with one code.
fn one(code: &str, text: &str) -> Finding {
    let found = of(code, text);
    assert_eq!(found.len(), 1, "{:#?}", say(text));
    found.into_iter().next().unwrap()
}

fn is_quiet(code: &str, text: &str) {
    assert_eq!(of(code, text), []);
}

/// A Deployment `web` whose container has these further fields, written from column 10 on.
fn deployment(container: &str) -> String {
    deployment_with("", "", container)
}

/// The same, with further fields of the Deployment's spec and of the pod's.
fn deployment_with(spec: &str, pod: &str, container: &str) -> String {
    let nested = |text: &str, depth: usize| -> String {
        text.lines().map(|line| format!("{:depth$}{line}\n", "")).collect()
    };
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n{}  selector: {{matchLabels: {{app: web}}}}\n  \
         template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n{}      containers:\n      - name: web\n        image: nginx:1.29\n{}",
        nested(spec, 2),
        nested(pod, 6),
        nested(container, 8)
    )
}

#[test]
fn findings_come_worst_first_and_name_object_place_and_fix() {
    let text = deployment("ports: [{containerPort: 70000}]").replace("nginx:1.29", "nginx:latest");
    let findings = say(&text);
    assert!(findings.is_sorted_by(|a, b| a.severity >= b.severity), "{findings:#?}");
    for finding in findings {
        assert_eq!(finding.object, "Deployment web/web");
        assert!(!finding.hint.is_empty() && finding.place.is_some(), "{finding:?}");
    }
}

#[test]
fn every_rule_of_the_table_is_there_once_and_in_order() {
    assert!(RULES.is_sorted_by_key(|(code, _)| *code));
}

#[test]
fn shapes_that_no_rule_expects_are_left_to_the_cluster() {
    for text in [
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: 3\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: 3}\nspec: {template: {spec: {containers: {a: 1}}}}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: 3, selector: [a]}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [3, null, [], {ports: [1], env: [2], volumeMounts: x, resources: 7}]}\n",
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: [1, {http: {paths: [2]}}], tls: 3}\n",
    ] {
        say(text);
    }
}
