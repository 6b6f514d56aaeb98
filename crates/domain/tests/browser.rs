//! The guard rails say the same in the browser as here, byte for byte (E-1).
//!
//! `FLOTILLA_SAID_IN_WASM` names what `cargo xtask test` let the rules say when compiled for WASM and run in Node: a list
//! of cases, each with its files and what was said of them.

use std::fs;
use std::path::{Path, PathBuf};

use domain::guard::{Known, check_static_with};
use domain::manifest;
use domain::schema::kubernetes;
use domain::workload::{Source, SourceFile, WorkloadSpec};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    name: String,
    files: Vec<SourceFile>,
    said: String,
}

fn said_here(files: &[SourceFile]) -> String {
    let parsed = manifest::parse(files);
    let source = Source::Yaml { files: files.to_vec() };
    let spec = WorkloadSpec { namespace: "shop".to_owned(), source, ..WorkloadSpec::default() };
    serde_json::to_string(&check_static_with(&Known::of(kubernetes()), "shop", &spec, &parsed)).unwrap()
}

/// All manifests below a folder.
fn manifests(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let is_manifest = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "yaml");
    folders.iter().flat_map(|folder| manifests(folder)).chain(files.into_iter().filter(is_manifest)).collect()
}

#[test]
fn the_guard_rails_say_the_same_in_the_browser_and_here() {
    let Some(file) = std::env::var_os("FLOTILLA_SAID_IN_WASM") else {
        eprintln!(
            "FLOTILLA_SAID_IN_WASM is not set: nothing to compare with; `cargo xtask test --only rails` sets it"
        );
        return;
    };
    let cases: Vec<Case> = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    for case in &cases {
        assert_eq!(said_here(&case.files), case.said, "{}: left is said here, right in WASM", case.name);
    }
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures");
    for path in manifests(&fixtures) {
        let text = fs::read_to_string(&path).unwrap();
        let there = cases.iter().any(|case| case.files.iter().any(|file| file.text == text));
        assert!(there, "{} was not checked in WASM", path.display());
    }
    for code in ["G109", "G111", "G214", "G403"] {
        let said = cases.iter().any(|case| case.said.contains(code));
        assert!(said, "{code} is said of none of {} cases", cases.len());
    }
}
