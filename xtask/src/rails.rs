//! Runs the WASM build of the guard rails in Node: compares it with the native build, and measures its run time.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::paths::Paths;
use crate::{program, schema, step};

/// Folders with the manifests to check, valid and invalid ones.
const FOLDERS: [&str; 2] = ["end2end/fixtures", "crates/domain/tests"];

/// Writes the findings of the WASM build to a file, then runs the test that compares them with the native build.
pub fn compare(paths: &Paths) -> Result<()> {
    let out = paths.xtask_folder().join("wasm-findings.json");
    let folders = FOLDERS.map(|folder| paths.root.join(folder));
    step::run(paths, "guard rails in Node", node_command(paths, "check")?.arg(&out).args(folders))?;
    let mut cargo = program::tests_command(paths)?;
    cargo.args(["--test", "wasm"]).env("FLOTILLA_WASM_FINDINGS", out);
    step::run(paths, "guard rails compared", &mut cargo).map(drop)
}

/// Prints the run time in WASM.
pub fn measure(paths: &Paths) -> Result<()> {
    let status = node_command(paths, "measure")?.args(["50", "50"]).status()?;
    anyhow::ensure!(status.success(), "the guard rails in Node failed ({status})");
    Ok(())
}

/// The Node command that runs a task of `rails.mjs`.
fn node_command(paths: &Paths, task: &str) -> Result<Command> {
    let glue = build_wasm(paths)?;
    let mut node = paths.command("node");
    node.arg("xtask/rails/rails.mjs").arg(task).arg(glue).arg(schema::schema_path(paths));
    Ok(node)
}

/// Builds the rules for WASM, and the glue for Node. They are built together with the console: in a separate build the
/// dependencies would have other features and be compiled again.
pub fn build_wasm(paths: &Paths) -> Result<PathBuf> {
    let mut cargo = paths.cargo();
    cargo.args(["build", "-p", "frontend", "-p", "rails", "--lib", "--target", "wasm32-unknown-unknown"]);
    cargo.args(["--profile", "wasm", "--target-dir"]).arg(paths.wasm_target());
    program::build_with_lints(paths, "guard rails for WASM", &mut cargo)?;
    program::build(paths, "packer", &["pack"])?;
    let (wasm, out) = (
        paths.wasm_target().join("wasm32-unknown-unknown/wasm/rails.wasm"),
        paths.wasm_target().join("rails"),
    );
    let mut packer = paths.command(paths.binary("pack", false));
    step::run(paths, "glue for Node", packer.arg("--node").args([&wasm, &out]))?;
    out.join("rails.js").canonicalize().context("the packer did not write rails.js")
}
