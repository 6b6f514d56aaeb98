//! Tests of the rules: accepted input, rejected input and messages.

use super::*;
use crate::model::workload::{Source, SourceFile};
use crate::text::finding::Severity;

mod cluster_rules;
mod declarations;
mod dependencies;
mod exposure;
mod fleet;
mod names;
mod objects;
mod pods;
mod structure;
mod traffic;

/// The findings of the static rules about a text, without G212, which every minimal pod violates.
fn check_text(text: &str) -> Vec<Finding> {
    let files = vec![SourceFile { name: "a.yaml".into(), text: text.into() }];
    let parsed = crate::text::manifest::parse(&files);
    let spec =
        WorkloadSpec { namespace: "web".into(), source: Source::Yaml { files }, ..WorkloadSpec::default() };
    let mut findings = check_static("shop", &spec, &parsed);
    findings.retain(|finding| !matches!(finding.code.as_str(), "G212"));
    findings
}

/// The findings with one code.
fn findings_with_code(code: &str, text: &str) -> Vec<Finding> {
    check_text(text).into_iter().filter(|finding| finding.code == code).collect()
}

/// The only finding with one code.
fn only_finding(code: &str, text: &str) -> Finding {
    let found = findings_with_code(code, text);
    assert_eq!(found.len(), 1, "{:#?}", check_text(text));
    found.into_iter().next().unwrap()
}

fn assert_no_finding(code: &str, text: &str) {
    assert_eq!(findings_with_code(code, text), []);
}

/// A Deployment `web` whose container has these further fields, written from column 10 on.
fn deployment(container: &str) -> String {
    deployment_with("", "", container)
}

/// Like [`deployment`], with further fields of the Deployment's spec and of the pod's.
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
fn findings_are_sorted_by_severity_and_name_object_location_and_hint() {
    let text = deployment("ports: [{containerPort: 70000}]").replace("nginx:1.29", "nginx:latest");
    let findings = check_text(&text);
    assert!(findings.is_sorted_by(|a, b| a.severity >= b.severity), "{findings:#?}");
    for finding in findings {
        assert_eq!(finding.object, "Deployment web/web");
        assert!(!finding.hint.is_empty() && finding.location.is_some(), "{finding:?}");
    }
}

#[test]
fn values_of_unexpected_types_do_not_panic() {
    for text in [
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: 3\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: 3}\nspec: {template: {spec: {containers: {a: 1}}}}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: 3, selector: [a]}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [3, null, [], {ports: [1], env: [2], volumeMounts: x, resources: 7}]}\n",
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: [1, {http: {paths: [2]}}], tls: 3}\n",
    ] {
        check_text(text);
    }
}
