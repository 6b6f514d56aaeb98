//! The packer as `cargo xtask` calls it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn pack(arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pack")).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_argument_that_is_missing_is_named() {
    let output = pack(&[Path::new("a.wasm"), Path::new("parts")]);
    assert!(!output.status.success());
    assert!(
        said(&output).contains("pack WASM PARTS SCHEMA PUBLIC OUT: SCHEMA is missing"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_module_that_is_none_is_named_and_the_site_that_is_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (wasm, out) = (folder.path().join("frontend.wasm"), folder.path().join("site"));
    fs::write(&wasm, "no module").unwrap();
    fs::create_dir(&out).unwrap();
    fs::write(out.join("assets.json"), "{}").unwrap();
    let output = pack(&[&wasm, folder.path(), folder.path(), folder.path(), &out]);
    assert!(!output.status.success());
    assert!(said(&output).contains("frontend.wasm"), "{}", said(&output));
    assert_eq!(fs::read_to_string(out.join("assets.json")).unwrap(), "{}");
}
