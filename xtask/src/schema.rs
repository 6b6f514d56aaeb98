//! `cargo xtask schema`: takes the structure of Kubernetes' own kinds from a real API server into the repository.
//!
//! To be run when the version of the control planes changes; a test fails until it was.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::paths::Paths;
use crate::{setup, step};

/// The test that asks the server; told where to write, it writes.
const TEST: &str = "g403_the_schema_in_the_repository_is_what_the_server_says_of_itself";

/// Where the schema is: part of native programs, and one of the files of the console.
pub fn file(paths: &Paths) -> PathBuf {
    paths.root.join("crates/domain/schema/kubernetes.json")
}

/// Writes the schema anew.
///
/// # Errors
/// No API server can be started, or it does not say what is expected.
pub fn run(paths: &Paths) -> Result<()> {
    let programs = setup::kube::ensure(paths)?;
    let out = file(paths);
    let mut cargo = paths.cargo();
    cargo.args(["test", "-p", "engine", "--test", "schema", "--", "--exact"]);
    cargo.arg(format!("taken::{TEST}"));
    cargo.env("FLOTILLA_KUBE_BIN", programs).env("FLOTILLA_SCHEMA_OUT", &out);
    step::run(paths, "schema", &mut cargo)?;
    let size = fs::metadata(&out).with_context(|| format!("{} was not written", out.display()))?.len();
    step::say(&format!("  {} ({} kB)", out.display(), size.div_ceil(1000)));
    Ok(())
}
