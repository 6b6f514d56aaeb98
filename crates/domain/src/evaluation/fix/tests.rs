//! A fix resolves its finding and changes no other byte.

use super::*;
use crate::evaluation::guard;
use crate::evaluation::render::BundleRenderer;
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{Cluster, ClusterFacts, ClusterKind, Connectivity};
use crate::model::workload::{Source, WorkloadSpec};
use crate::text::manifest;

fn files(texts: &[&str]) -> Vec<SourceFile> {
    let file = |(n, text): (usize, &&str)| SourceFile { name: format!("{n}.yaml"), text: (*text).to_owned() };
    texts.iter().enumerate().map(file).collect()
}

fn check(files: &[SourceFile]) -> Vec<Finding> {
    let parsed = manifest::parse(files);
    let source = Source::Yaml { files: files.to_vec() };
    let spec = WorkloadSpec { namespace: "web".into(), source, ..WorkloadSpec::default() };
    guard::check_static("shop", &spec, &parsed)
}

/// The text after the fix of the only finding with this code; the finding must then be resolved.
fn apply_fix(code: &str, text: &str) -> String {
    let before = files(&[text]);
    let findings = check(&before);
    let found: Vec<&Finding> = findings.iter().filter(|finding| finding.code == code).collect();
    let [finding] = found[..] else { panic!("{findings:#?}") };
    let fix = finding.fix.as_ref().unwrap_or_else(|| panic!("{finding:#?}"));
    assert!(fix.description.ends_with('.'), "{}", fix.description);
    let after = apply(&before, fix).unwrap();
    let left = check(&after);
    assert!(left.iter().all(|finding| finding.code != code), "{left:#?}");
    after.into_iter().next().unwrap().text
}

fn assert_no_fix(code: &str, text: &str) {
    let findings = check(&files(&[text]));
    let found: Vec<&Finding> = findings.iter().filter(|finding| finding.code == code).collect();
    assert!(!found.is_empty() && found.iter().all(|finding| finding.fix.is_none()), "{findings:#?}");
}

fn pod(container: &str) -> String {
    format!(
        "# Größe: über alles\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a   # the one\nspec:\n  containers:\n  - name: a\n{container}"
    )
}

#[test]
fn g209_a_colloquial_unit_becomes_a_unit_of_kubernetes() {
    for (written, meant) in [
        ("memory: 512mb # half", "memory: 512Mi # half"),
        ("memory: \"512 MB\"", "memory: \"512Mi\""),
        ("memory: '1gib'\r", "memory: '1Gi'\r"),
    ] {
        let text = pod(&format!("    image: a:1\n    resources:\n      limits:\n        {written}\n"));
        assert_eq!(apply_fix("G209", &text), text.replace(written, meant));
    }
    let flow = pod("    {image: a:1, resources: {limits: {memory: 512mb, cpu: 1}}}")
        .replace("name: a\n    {", "{name: a, ");
    assert_eq!(apply_fix("G209", &flow), flow.replace("512mb", "512Mi"));
    let json = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a:1", "resources": {"limits": {"memory": "512mb"}}}]}}"#;
    assert_eq!(apply_fix("G209", json), json.replace("512mb", "512Mi"));
}

#[test]
fn a_fix_applies_behind_other_documents_and_byte_order_marks() {
    let bad = pod("    image: Web:1\n").replace("name: a  ", "name: b  ");
    let text = format!("{}# é\r\n{}\r\n---\r\n{bad}...\n", '\u{feff}', pod("    image: a:1\n"));
    assert_eq!(apply_fix("G201", &text), text.replace("Web:1", "web:1"));
}

#[test]
fn g209_an_ambiguous_unit_has_no_fix() {
    for written in
        ["memory: 1g", "memory: lots", "cpu: 1gi", "memory: >-\n          512mb", "memory: !!str 512mb"]
    {
        assert_no_fix(
            "G209",
            &pod(&format!("    image: a:1\n    resources:\n      limits:\n        {written}\n")),
        );
    }
    let anchored = pod(
        "    image: a:1\n    resources:\n      limits: {memory: &m 512mb}\n      requests: {memory: *m}\n",
    );
    assert_no_fix("G209", &anchored);
}

#[test]
fn g201_a_repository_becomes_lower_case_and_a_tag_stays() {
    let text = pod("    image: Reg.example.com/Team/Web:V1.0-RC\n");
    assert_eq!(
        apply_fix("G201", &text),
        text.replace("Reg.example.com/Team/Web:", "reg.example.com/team/web:")
    );
    assert_no_fix("G201", &pod("    image: https://a.b/c\n"));
    assert_no_fix("G201", &pod("    image: My Web\n"));
}

#[test]
fn g215_g217_and_g403_numbers_and_booleans_are_quoted() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {version: 1.10, on: b}\n";
    assert_eq!(apply_fix("G215", text), text.replace("1.10", "\"1.10\""));
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    a/b: yes # why\n";
    assert_eq!(apply_fix("G215", text), text.replace("yes", "\"yes\""));
    let text = pod("    image: a:1\n    env:\n    - {name: PORT, value: 8080}\n");
    assert_eq!(apply_fix("G217", &text), text.replace("8080", "\"8080\""));
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  port: -1\n";
    assert_eq!(apply_fix("G403", text), text.replace("-1", "\"-1\""));
    assert_no_fix("G215", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {version: +1}\n");
    assert_no_fix(
        "G215",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {version: [1]}\n",
    );
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a} # one\n";

#[test]
fn g110_the_second_of_two_identical_objects_is_removed() {
    let other = MAP.replace("name: a", "name: b");
    let text =
        format!("# head\n---\n{other}---\n{MAP}---\n{MAP}\n---\n{}", MAP.replace("name: a", "name: c"));
    let left = format!("# head\n---\n{other}---\n{MAP}---\n{}", MAP.replace("name: a", "name: c"));
    assert_eq!(apply_fix("G110", &text), left);
    assert_eq!(apply_fix("G110", &format!("{MAP}---\r\n{MAP}")), MAP);
    assert_no_fix("G110", &format!("{MAP}---\n{}", MAP.replace("# one", "# two")));
    assert_no_fix("G110", &format!("{MAP}---\n# why\n{MAP}"));
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n";
    assert_no_fix("G110", list);
}

#[test]
fn g110_a_file_that_contained_nothing_else_is_left_empty() {
    let before = files(&[MAP, MAP]);
    let findings = check(&before);
    let after = apply(&before, findings[0].fix.as_ref().unwrap()).unwrap();
    assert_eq!((after[0].text.as_str(), after[1].text.as_str()), (MAP, ""));
    assert_eq!(check(&after), []);
}

#[test]
fn g402_an_api_version_that_was_only_renamed_is_replaced() {
    let budget = "# b\nkind: PodDisruptionBudget\napiVersion: policy/v1beta1  # old\nmetadata: {name: a}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: a}}}\n";
    assert_eq!(apply_fix("G402", budget), budget.replace("policy/v1beta1", "policy/v1"));
    assert_no_fix("G402", &budget.replace("{matchLabels: {app: a}}", "{}"));
    for (old, kind) in [
        ("networking.k8s.io/v1beta1", "Ingress"),
        ("extensions/v1beta1", "Deployment"),
        ("autoscaling/v2beta1", "HorizontalPodAutoscaler"),
    ] {
        assert_no_fix("G402", &format!("apiVersion: {old}\nkind: {kind}\nmetadata: {{name: a}}\n"));
    }
}

#[test]
fn g402_the_fix_is_also_offered_when_a_cluster_does_not_serve_the_api() {
    let before = files(&["apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n"]);
    let cluster = Cluster {
        facts: ClusterFacts { kubernetes_version: "v1.33.0".into(), ..ClusterFacts::default() },
        connectivity: Connectivity::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0))
    };
    let (spec, parsed) = (WorkloadSpec::default(), manifest::parse(&before));
    let rendering = BundleRenderer {
        workload: "shop",
        revision: 1,
        spec: &spec,
        parsed: &parsed,
        groups: &[],
        targets: &[],
    };
    let findings = guard::check_fleet(&rendering, &[&cluster]);
    let fix = findings.iter().find(|finding| finding.is_blocking()).unwrap().fix.clone().unwrap();
    assert!(apply(&before, &fix).unwrap()[0].text.starts_with("apiVersion: batch/v1\n"));
}

#[test]
fn a_fix_for_another_text_changes_nothing() {
    let before = files(&[&pod("    image: Web:1\n")]);
    let fix = check(&before).into_iter().find_map(|finding| finding.fix).unwrap();
    for text in
        ["", "apiVersion: v1\n", &before[0].text.replace("Web", "Wob"), &before[0].text.replace("ß", "s")]
    {
        assert_eq!(apply(&files(&[text]), &fix), Err(StaleFix));
    }
    assert_eq!(apply(&[], &fix), Err(StaleFix));
}

#[test]
fn all_fixes_are_applied_together() {
    let text = pod("    image: Web:1\n    resources: {limits: {memory: 512mb}, requests: {memory: 128MB}}\n");
    let before = files(&[&text, "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n"]);
    let found = check(&before);
    let (after, applied) = apply_all(&before, &found);
    assert_eq!(applied.len(), 4);
    assert_eq!(
        after[0].text,
        text.replace("Web:1", "web:1").replace("512mb", "512Mi").replace("128MB", "128Mi")
    );
    assert!(after[1].text.starts_with("apiVersion: batch/v1\n"));
}

#[test]
fn three_identical_objects_become_one() {
    let before = files(&[&format!("{MAP}---\n{MAP}---\n{MAP}")]);
    let found = check(&before);
    let (after, applied) = apply_all(&before, &found);
    assert_eq!((applied.len(), after[0].text.as_str()), (2, MAP));
}
