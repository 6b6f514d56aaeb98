//! Bad inputs through the command line and the REST API, and the memory that the server needs for them (P19).
//!
//! `tests/bad-inputs/` has one file per input, `bad-inputs.txt` the expected outcome of each. Long inputs are generated.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use domain::workload::{Source, SourceFile, WorkloadSpec};
use domain::{Finding, Severity};
use serde_json::Value;
use wire::ValidateRequest;

use crate::test_server::TestServer;

/// How much the peak of the server's memory may grow by the largest inputs, in KiB: the text of 10 MiB, its JSON, its parsed
/// form with locations, and copies of them, in a debug build.
const MAX_PEAK_GROWTH_KIB: u64 = 640 * 1024;

/// What the command line and the API have to answer.
enum ExpectedOutcome {
    /// The codes of errors and warnings; none if the input is accepted.
    Codes(BTreeSet<String>),
    /// A part of the command line's error: the text can't be sent.
    Error(String),
}

fn tests_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn expected_outcomes() -> Vec<(String, ExpectedOutcome)> {
    let text = std::fs::read_to_string(tests_folder().join("bad-inputs.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let outcome = |line: &str| {
        let (file, rest) = line.split_once(' ').unwrap();
        let expected = match rest.strip_prefix("error: ") {
            Some(error) => ExpectedOutcome::Error(error.to_owned()),
            None => ExpectedOutcome::Codes(
                rest.split_whitespace().filter(|code| *code != "-").map(str::to_owned).collect(),
            ),
        };
        (file.to_owned(), expected)
    };
    lines.map(outcome).collect()
}

/// The inputs that are too long to be files of the repository, by their names.
fn generated_inputs() -> [(&'static str, String); 3] {
    const DEPTH: usize = 10_000;
    let json = "[".repeat(DEPTH) + &"]".repeat(DEPTH);
    let (open, close) = ("{a: ".repeat(DEPTH), "}".repeat(DEPTH));
    let yaml =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {open}x{close}\n");
    let document = |number: usize| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings-{number}}}\ndata: {{value: \"1\"}}\n"
        )
    };
    let documents: Vec<String> = (0..600).map(document).collect();
    [
        ("nested-ten-thousand-deep.json", json),
        ("nested-ten-thousand-deep.yaml", yaml),
        ("six-hundred-documents.yaml", documents.join("---\n")),
    ]
}

/// Writes every input into this folder; returns the names.
fn write_inputs(folder: &Path) -> Vec<String> {
    for entry in std::fs::read_dir(tests_folder().join("bad-inputs")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    for (name, text) in generated_inputs() {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The codes of errors and warnings.
fn codes(findings: &[Finding]) -> BTreeSet<String> {
    findings.iter().filter(|one| one.severity > Severity::Note).map(|one| one.code.clone()).collect()
}

fn draft(name: &str, text: &str) -> ValidateRequest {
    let files = vec![SourceFile { name: name.to_owned(), text: text.to_owned() }];
    let spec = WorkloadSpec {
        namespace: "default".to_owned(),
        source: Source::Yaml { files },
        ..WorkloadSpec::default()
    };
    ValidateRequest { name: "bad-input".to_owned(), spec }
}

/// Each finding says what is wrong, why or where, and what to do.
fn assert_findings_are_complete(file: &str, findings: &[Finding]) {
    for one in findings.iter().filter(|one| one.severity > Severity::Note) {
        assert!(!one.message.is_empty() && !one.hint.is_empty(), "{file}: {one:?}");
        assert!(one.message.len() < 1_000 && one.hint.len() < 1_000, "{file}: {} is long", one.code);
    }
}

#[test]
fn p19_every_bad_input_has_its_expected_outcome_in_the_command_line_and_the_api() {
    let server = TestServer::start_new();
    let expected = expected_outcomes();
    let folder = tempfile::tempdir().unwrap();
    let files = write_inputs(folder.path());
    assert_eq!(files, expected.iter().map(|(file, _)| file.clone()).collect::<Vec<_>>());
    for (file, outcome) in expected {
        let path = folder.path().join(&file);
        let run = server.run_cli(&["validate", "-f", &path.display().to_string(), "-o", "json"]);
        let codes_of_cli = match outcome {
            ExpectedOutcome::Error(error) => {
                assert!(run.exit_code == 1 && run.stderr.contains(&error), "{file}: {run}");
                assert!(run.stderr.contains("hint: "), "{file}: {run}");
                continue;
            }
            ExpectedOutcome::Codes(codes) => codes,
        };
        let output: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{file}: {error}, {run}"));
        let findings: Vec<Finding> = serde_json::from_value(output["findings"].clone()).unwrap();
        assert_eq!(codes(&findings), codes_of_cli, "{file}: {run}");
        assert_eq!(
            run.exit_code,
            if findings.iter().any(Finding::is_blocking) { 3 } else { 0 },
            "{file}: {run}"
        );
        assert_findings_are_complete(&file, &findings);

        let text = std::fs::read_to_string(&path).unwrap();
        let request = draft(&file, &text);
        let answer = server.call(async |client| client.validate_workload(&request).await);
        // What can't be stored is refused before it is parsed.
        if text.contains('\0') {
            let refusal = answer.unwrap_err().to_string();
            assert!(refusal.contains("/spec/source/files/0/text") && refusal.contains("U+0000"), "{refusal}");
            continue;
        }
        let answer = answer.unwrap_or_else(|error| panic!("{file}: {error}"));
        // The API adds findings about the fleet, such as a placement that selects no cluster.
        assert!(codes(&answer.findings).is_superset(&codes_of_cli), "{file}: {:?}", answer.findings);
        assert_findings_are_complete(&file, &answer.findings);
    }
}

#[test]
fn p19_the_largest_inputs_are_answered_within_a_bound_of_memory() {
    let server = TestServer::start_new();
    let config_map = |name: usize, value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{name}}}\ndata: {{value: \"{value}\"}}\n---\n"
        )
    };
    let long = |documents: usize| -> String {
        (0..documents).map(|name| config_map(name, &"x".repeat(20_000))).collect()
    };
    let keys: String = (0..90_000).map(|key| format!("  k{key}: v\n")).collect();
    let many = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: many}}\ndata:\n{keys}");
    let too_many: String = (0..600_000).map(|key| format!("  k{key}: v\n")).collect();
    let too_many = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: many}}\ndata:\n{too_many}");
    let too_long = "x".repeat(13 << 20);

    let before = server.peak_memory_kib();
    let validate = |name: &str, text: &str| {
        let request = draft(name, text);
        server.call(async |client| client.validate_workload(&request).await)
    };
    assert!(!codes(&validate("long.yaml", &long(190)).unwrap().findings).contains("G111"));
    assert!(codes(&validate("too-long-together.yaml", &long(490)).unwrap().findings).contains("G111"));
    assert!(codes(&validate("many.yaml", &many).unwrap().findings).contains("G111"), "more than 1 MiB");
    assert!(codes(&validate("too-many.yaml", &too_many).unwrap().findings).contains("G111"));
    let rejected = validate("too-long.yaml", &too_long).unwrap_err().to_string();
    assert!(rejected.contains("MiB"), "{rejected}");
    let growth = server.peak_memory_kib() - before;
    assert!(growth < MAX_PEAK_GROWTH_KIB, "the peak grew by {growth} KiB");
    // The server is not affected.
    assert_eq!(server.run_cli(&["cluster", "list"]).exit_code, 0);
}
