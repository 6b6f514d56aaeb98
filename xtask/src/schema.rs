//! `cargo xtask schema`: writes the schema of the built-in kinds of Kubernetes from a real API server into the repository.
//!
//! Must be run when the version of the control planes changes; otherwise a test fails.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::paths::Paths;
use crate::{setup, step};

/// The test that reads the schema from the server; it writes the file if `FLOTILLA_SCHEMA_OUT` is set.
const TEST: &str = "g403_the_schema_in_the_repository_equals_the_schema_of_the_server";

/// Path of the schema, which is compiled into native programs and served to the console.
pub fn schema_path(paths: &Paths) -> PathBuf {
    paths.root.join("crates/domain/schema/kubernetes.json")
}

/// Replaces the schema.
///
/// # Errors
/// When no API server starts, or its schema is not as expected.
pub fn run(paths: &Paths) -> Result<()> {
    let programs = setup::kube::ensure(paths)?;
    let out = schema_path(paths);
    let mut cargo = paths.cargo();
    cargo.args(["test", "-p", "engine", "--test", "schema", "--", "--exact"]);
    cargo.arg(format!("server_schema::{TEST}"));
    cargo.env("FLOTILLA_KUBE_BIN", programs).env("FLOTILLA_SCHEMA_OUT", &out);
    step::run(paths, "schema", &mut cargo)?;
    let size = fs::metadata(&out).with_context(|| format!("{} was not written", out.display()))?.len();
    step::print_line(&format!("  {} ({} kB)", out.display(), size.div_ceil(1000)));
    Ok(())
}
