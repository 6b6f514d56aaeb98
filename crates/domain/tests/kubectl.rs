//! Scalars are parsed as `kubectl` parses them: compares the results for the same text.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use domain::manifest::{self, ParsedManifests};
use domain::workload::SourceFile;
use serde_json::Value;

/// What `kubectl` reads from a manifest: the object, or its error. `None` if the run goes without the programs of real
/// control planes, with the message by which `cargo xtask test` fails.
fn kubectl(test: &str, text: &str) -> Option<Result<Value, String>> {
    let folder = std::env::var_os("FLOTILLA_KUBE_BIN").filter(|folder| !folder.is_empty());
    let folder =
        folder.expect("set FLOTILLA_KUBE_BIN to the directory of kubectl, or to `none` to run without it");
    if folder == "none" {
        // The harness captures `eprintln!`, but not this.
        let _ =
            writeln!(std::io::stderr(), "did not run, no control plane: {test} (FLOTILLA_KUBE_BIN is none)");
        return None;
    }
    let mut child = Command::new(Path::new(&folder).join("kubectl"))
        .args(["label", "--local", "-f", "-", "q=w", "-o", "json"])
        .env("KUBECONFIG", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if !output.status.success() {
        return Some(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Some(Ok(serde_json::from_slice(&output.stdout).unwrap()))
}

fn parse(text: &str) -> ParsedManifests {
    manifest::parse(&[SourceFile { name: "a.yaml".into(), text: text.into() }])
}

#[test]
fn scalars_and_keys_are_parsed_as_kubectl_parses_them() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n\
        a0: 0644\na1: 010\na2: 08\na3: 0o17\na4: 0x1F\na5: 0b11\na6: 1_000\na7: 12e3\na8: 1.0\na9: .5\n\
        b0: yes\nb1: NO\nb2: On\nb3: off\nb4: y\nb5: N\nb6: 'yes'\nb7: TRUE\nb8: ~\nb9:\n\
        c0: 12:30:45\nc1: 2001-01-01\nc2: +1\nc3: -010\nc4: 0x\nc5: 1.\nc6: -0\nc7: 9007199254740993\nc8: 0.1\nc9: 1e-3\n\
        d0: !!binary aGVsbG8=\nd1: !!str 12\nd2: |\n  two\n  lines\nd3: >-\n  one\n  line\nd4: \"\\u00e9\"\nd5: 0_7\nd6: null\n\
        1: one\n0x10: sixteen\n1.5: half\n2.0: two\non: key\nn: key\n";
    let Some(expected) = kubectl("scalars_and_keys_are_parsed_as_kubectl_parses_them", text) else { return };
    let mut expected = expected.unwrap();
    expected["metadata"].as_object_mut().unwrap().remove("labels");
    let parsed = parse(text);
    assert_eq!(parsed.findings, []);
    let actual = parsed.manifests[0].object.as_object().unwrap();
    let expected = expected.as_object().unwrap();
    assert_eq!(actual.keys().collect::<std::collections::BTreeSet<_>>(), expected.keys().collect());
    for (key, value) in expected {
        assert_eq!(&actual[key], value, "{key}");
    }
}

/// A ConfigMap whose `value` is this text.
fn with_value(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\nvalue: {value}\n")
}

#[test]
fn numbers_that_json_does_not_have_are_rejected_as_by_kubectl() {
    for value in [".inf", "-.inf", ".nan"] {
        let Some(result) =
            kubectl("numbers_that_json_does_not_have_are_rejected_as_by_kubectl", &with_value(value))
        else {
            return;
        };
        assert!(result.unwrap_err().contains("unsupported value"), "{value}");
        assert_eq!(parse(&with_value(value)).findings[0].code, "G109", "{value}");
    }
}

#[test]
fn where_kubectl_loses_a_value_it_is_retained_or_rejected() {
    const TEST: &str = "where_kubectl_loses_a_value_it_is_retained_or_rejected";
    // kubectl rounds integers beyond 64 bits.
    let text = with_value("12345678901234567890");
    let Some(rounded) = kubectl(TEST, &text) else { return };
    assert_eq!(rounded.unwrap()["value"].to_string(), "12345678901234567000");
    assert_eq!(parse(&text).manifests[0].object["value"].to_string(), "12345678901234567890");
    // kubectl takes the last of two equal keys.
    let text = with_value("first\nvalue: second");
    assert_eq!(kubectl(TEST, &text).unwrap().unwrap()["value"], "second");
    assert_eq!(parse(&text).findings[0].code, "G109");
}
