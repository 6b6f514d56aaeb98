//! The guard rails as the browser runs them, in Node: compared with the native ones, and timed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::paths::Paths;
use crate::{program, schema, step};

/// Folders whose manifests are checked on both sides: good ones, and all that is broken.
const FOLDERS: [&str; 2] = ["end2end/fixtures", "crates/domain/tests"];

/// Lets the rules speak in WASM, then runs the test that holds the native ones against it.
pub fn compare(paths: &Paths) -> Result<()> {
    let out = paths.own().join("said-in-wasm.json");
    let folders = FOLDERS.map(|folder| paths.root.join(folder));
    step::run(paths, "guard rails in Node", script(paths, "say")?.arg(&out).args(folders))?;
    let mut cargo = program::tests(paths)?;
    cargo.args(["--test", "browser"]).env("FLOTILLA_SAID_IN_WASM", out);
    step::run(paths, "guard rails compared", &mut cargo).map(drop)
}

/// Prints what they cost in WASM.
pub fn time(paths: &Paths) -> Result<()> {
    let status = script(paths, "time")?.args(["50", "50"]).status()?;
    anyhow::ensure!(status.success(), "the guard rails in Node failed ({status})");
    Ok(())
}

/// Node with the rules, about to do a task.
fn script(paths: &Paths, task: &str) -> Result<Command> {
    let glue = build(paths)?;
    let mut node = paths.tool("node");
    node.arg("xtask/rails/rails.mjs").arg(task).arg(glue).arg(schema::file(paths));
    Ok(node)
}

/// Builds the rules for WASM, and the glue for Node. Together with the console, whose build of the domain is used: alone
/// its dependencies would have other features and be compiled again.
pub fn build(paths: &Paths) -> Result<PathBuf> {
    let mut cargo = paths.cargo();
    cargo.args(["build", "-p", "frontend", "-p", "rails", "--lib", "--target", "wasm32-unknown-unknown"]);
    cargo.args(["--profile", "wasm", "--target-dir"]).arg(paths.front());
    step::run(paths, "guard rails for WASM", &mut cargo)?;
    program::build(paths, "packer", &["pack"])?;
    let (wasm, out) =
        (paths.front().join("wasm32-unknown-unknown/wasm/rails.wasm"), paths.front().join("rails"));
    let mut packer = paths.tool(paths.bin("pack", false));
    step::run(paths, "glue for Node", packer.arg("--node").args([&wasm, &out]))?;
    out.join("rails.js").canonicalize().context("the packer has written no rails.js")
}
