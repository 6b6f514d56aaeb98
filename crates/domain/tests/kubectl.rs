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

/// Plain scalars at the edges of what is a number, a truth value or null.
const PLAIN_SCALARS: &str = "\
    0644 010 08 09.5 0o17 0o8 0O17 0x1F 0xg 0X1f 0b11 0B11 0b12 1_000 _1 1_ 1__0 1_0.5 12e3 1e3 1E3 1.0 .5 5. \
    -.5 +.5 +1 -0 +0 -010 +010 0x 0x_1 0x1_0 -0x1F +0x1F 0b -0b11 1e999 -1e999 1e400 123e456 12345e67 1e-999 \
    9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 -9223372036854775808 \
    -9223372036854775809 99999999999999999999999 0.1 1e-3 1e+3 1.e3 .e3 1.5e 1e 0e0 00 000 0_7 0_8 07_7 1:30 \
    12:30:45 190:20:30.15 2001-01-01 2001-12-14t21:59:43.10-05:00 yes No on OFF y n Y N True TRUE true tRue \
    Null NULL null ~ nULL .iNf inf nan = 0.0.1 1.2.3 1,000 1e3.5 0xFFFFFFFFFFFFFFFFF \
    0o777777777777777777777777 1.7976931348623157e308 1.7976931348623159e308 4.9e-324 123456789012345678 \
    1234567890123456789012 1.0e6 1e6 100000000000000000000.0 -1_000 1._5 1.5_0 1e1_0 0x1p-2 0x1.8p1 infinity \
    Infinity +Inf NaN 1d 1f 0b_1 0b1_ 0o1_0 -0o17 0o 0o_7 .5_0 ._5 .5_ +_1 -_1 _0x1 0x_FF_ 0_x1 \
    0xFFFF_FFFF_FFFF_FFFF_F 1_e999 0o1_ 2001-01-01_ 1_:30 1_000. 0__ +0b1_1 -0b1_1 0B1_1 -0B1_1 0X1_F 0O1_7 \
    -0x8000_0000_0000_0000 1234567890_1234567890 yeS oN nO tRUE oFF fALSE +.InF .nAN_ .nAn -.nan +.nan 09_ 1_e3 1_E+3 -_ +_ \
    0x1_p4 18446744073709551615_ -9223372036854775809_ +0xFFFFFFFFFFFFFFFF +18446744073709551615 12e3456 34e5678 \
    56e7890 78e9012 90e1234 11e2345 13e4567 15e6789 17e8901 19e9999";

/// Whether two numbers are the same float: `kubectl` reads integers beyond 63 bits as floats.
fn is_same_float(one: &Value, other: &Value) -> bool {
    one.as_f64()
        .zip(other.as_f64())
        .is_some_and(|(one, other)| (one - other).abs() <= one.abs() * f64::EPSILON)
}

#[test]
fn plain_scalars_are_the_numbers_truth_values_and_texts_that_kubectl_reads() {
    let items: String = PLAIN_SCALARS.split_whitespace().map(|scalar| format!("- {scalar}\n")).collect();
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\nvalues:\n{items}");
    let test = "plain_scalars_are_the_numbers_truth_values_and_texts_that_kubectl_reads";
    let Some(expected) = kubectl(test, &text) else { return };
    let expected = expected.unwrap();
    let parsed = parse(&text);
    assert_eq!(parsed.findings, []);
    let actual = parsed.manifests[0].object["values"].as_array().unwrap();
    let expected = expected["values"].as_array().unwrap();
    assert_eq!(actual.len(), expected.len());
    let differing: Vec<(&str, &Value, &Value)> = PLAIN_SCALARS
        .split_whitespace()
        .zip(actual.iter().zip(expected))
        .filter(|(_, (actual, expected))| actual != expected && !is_same_float(actual, expected))
        .map(|(scalar, (actual, expected))| (scalar, actual, expected))
        .collect();
    assert!(differing.is_empty(), "scalar, as read here, as read by kubectl: {differing:?}");
}
