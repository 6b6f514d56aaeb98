//! Scalars are parsed as `kubectl` parses them: compares the results for the same text.

use std::io::Write as _;
use std::process::{Command, Stdio};

use domain::manifest;
use domain::workload::SourceFile;
use serde_json::Value;

/// A manifest as parsed by `kubectl`; `None` with a message if `kubectl` is not installed.
fn kubectl(text: &str) -> Option<Value> {
    let child = Command::new("kubectl")
        .args(["label", "--local", "-f", "-", "q=w", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: kubectl is not installed");
        return None;
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn scalars_and_keys_are_parsed_as_kubectl_parses_them() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n\
        a0: 0644\na1: 010\na2: 08\na3: 0o17\na4: 0x1F\na5: 0b11\na6: 1_000\na7: 12e3\na8: 1.0\na9: .5\n\
        b0: yes\nb1: NO\nb2: On\nb3: off\nb4: y\nb5: N\nb6: 'yes'\nb7: TRUE\nb8: ~\nb9:\n\
        c0: 12:30:45\nc1: 2001-01-01\nc2: +1\nc3: -010\nc4: 0x\nc5: 1.\nc6: -0\nc7: 9007199254740993\nc8: 0.1\nc9: 1e-3\n\
        d0: !!binary aGVsbG8=\nd1: !!str 12\nd2: |\n  two\n  lines\nd3: >-\n  one\n  line\nd4: \"\\u00e9\"\nd5: 0_7\nd6: null\n\
        1: one\n0x10: sixteen\n1.5: half\n2.0: two\non: key\nn: key\n";
    let Some(mut expected) = kubectl(text) else { return };
    expected["metadata"].as_object_mut().unwrap().remove("labels");
    let parsed = manifest::parse(&[SourceFile { name: "a.yaml".into(), text: text.into() }]);
    assert_eq!(parsed.findings, []);
    let actual = parsed.manifests[0].object.as_object().unwrap();
    let expected = expected.as_object().unwrap();
    assert_eq!(actual.keys().collect::<std::collections::BTreeSet<_>>(), expected.keys().collect());
    for (key, value) in expected {
        assert_eq!(&actual[key], value, "{key}");
    }
}
