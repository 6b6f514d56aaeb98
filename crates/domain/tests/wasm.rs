//! The guard rails return the same findings in WASM as in native code, byte for byte (E-1).
//!
//! `FLOTILLA_WASM_FINDINGS` is the path of a file written by `cargo xtask test`, which runs the rules as WASM in Node: a list
//! of cases, each with its files and findings.

use std::fs;
use std::path::{Path, PathBuf};

use domain::guard::{ClusterSchemas, check_static_with};
use domain::manifest;
use domain::schema::kubernetes_schema;
use domain::workload::{Source, SourceFile, WorkloadSpec};
use serde::Deserialize;

#[derive(Deserialize)]
struct WasmCase {
    name: String,
    files: Vec<SourceFile>,
    findings: String,
}

fn native_findings(files: &[SourceFile]) -> String {
    let parsed = manifest::parse(files);
    let source = Source::Yaml { files: files.to_vec() };
    let spec = WorkloadSpec { namespace: "shop".to_owned(), source, ..WorkloadSpec::default() };
    serde_json::to_string(&check_static_with(
        &ClusterSchemas::from_schema(kubernetes_schema()),
        "shop",
        &spec,
        &parsed,
    ))
    .unwrap()
}

/// All YAML files below a folder.
fn manifests(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let is_manifest = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "yaml");
    folders.iter().flat_map(|folder| manifests(folder)).chain(files.into_iter().filter(is_manifest)).collect()
}

#[test]
fn e_1_the_guard_rails_return_the_same_findings_in_wasm_and_natively() {
    let Some(file) = std::env::var_os("FLOTILLA_WASM_FINDINGS") else {
        eprintln!("skipped: FLOTILLA_WASM_FINDINGS is not set; `cargo xtask test --only rails` sets it");
        return;
    };
    let cases: Vec<WasmCase> = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    for case in &cases {
        assert_eq!(
            native_findings(&case.files),
            case.findings,
            "{}: left is native, right is WASM",
            case.name
        );
    }
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures");
    for path in manifests(&fixtures) {
        let text = fs::read_to_string(&path).unwrap();
        let is_checked = cases.iter().any(|case| case.files.iter().any(|file| file.text == text));
        assert!(is_checked, "{} was not checked in WASM", path.display());
    }
    for code in ["G109", "G111", "G214", "G403"] {
        let is_reported = cases.iter().any(|case| case.findings.contains(code));
        assert!(is_reported, "{code} is reported in none of {} cases", cases.len());
    }
}
