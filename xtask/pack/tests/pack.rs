//! Tests the packer program, which `cargo xtask` calls.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run_pack(arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pack")).args(arguments).output().unwrap()
}

fn stderr_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_missing_argument_is_named() {
    let output = run_pack(&[Path::new("a.wasm"), Path::new("parts")]);
    assert!(!output.status.success());
    assert!(
        stderr_text(&output).contains("pack WASM PARTS SCHEMA PUBLIC OUT: SCHEMA is missing"),
        "{}",
        stderr_text(&output)
    );
}

#[test]
fn an_invalid_module_is_named_and_the_existing_site_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (wasm, out) = (folder.path().join("frontend.wasm"), folder.path().join("site"));
    fs::write(&wasm, "no module").unwrap();
    fs::create_dir(&out).unwrap();
    fs::write(out.join("assets.json"), "{}").unwrap();
    let output = run_pack(&[&wasm, folder.path(), folder.path(), folder.path(), &out]);
    assert!(!output.status.success());
    assert!(stderr_text(&output).contains("frontend.wasm"), "{}", stderr_text(&output));
    assert_eq!(fs::read_to_string(out.join("assets.json")).unwrap(), "{}");
}
