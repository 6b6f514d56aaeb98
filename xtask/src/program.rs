//! How the workspace's own programs are built: by themselves, or as part of the build of all tests.
//!
//! A program alone is there soonest. After that build it would be a second one: cargo switches features on for what it
//! builds together, so alone half of the dependencies would be others and be compiled again.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, which};
use crate::step;

/// Builds the programs of these packages.
///
/// # Errors
/// When they don't compile.
pub fn build(paths: &Paths, name: &str, packages: &[&str]) -> Result<()> {
    if paths.with_tests {
        return step::run(paths, name, tests(paths)?.arg("--no-run")).map(drop);
    }
    let mut cargo = paths.cargo();
    cargo.args(["build", "--bins"]);
    for package in packages {
        cargo.args(["-p", package]);
    }
    step::run(paths, name, &mut cargo).map(drop)
}

/// The cargo that builds and runs all tests of the workspace, and the programs that they start.
///
/// Compiled by clippy, which is the compiler with more lints: to let it look first and compile then would take all
/// dependencies twice. This is what `cargo clippy` does too, but for the compiling.
pub fn tests(paths: &Paths) -> Result<Command> {
    let mut cargo = paths.cargo();
    cargo.args(["test", "--workspace", "--exclude", "frontend", "--features", "server/bench"]);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", clippy()?);
    Ok(cargo)
}

/// Builds them, and fails for a warning too. They are built then all the same, so the tests can run and tell more.
pub fn lint(paths: &Paths) -> Result<()> {
    let output = step::run(paths, "clippy", tests(paths)?.arg("--no-run"))?;
    let warnings = warnings(&output);
    if warnings.is_empty() {
        return Ok(());
    }
    for line in &warnings {
        step::say(&format!("    {line}"));
    }
    bail!("clippy warns; all of its output is in {}", paths.own().join("clippy.log").display())
}

/// What cargo and the compiler say from each warning on, until the next blank line. Cargo repeats those of what it does
/// not compile again, so a second run says the same.
fn warnings(output: &str) -> Vec<&str> {
    let mut within = false;
    let told = output.lines().filter(|line| {
        within = line.starts_with("warning") || (within && !line.is_empty());
        within
    });
    told.collect()
}

/// Clippy's compiler stands beside cargo, or in the path.
fn clippy() -> Result<PathBuf> {
    const NAME: &str = "clippy-driver";
    let cargo = PathBuf::from(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    let beside = cargo.parent().map(|folder| folder.join(NAME)).filter(|file| file.is_file());
    beside.or_else(|| which(NAME)).context("clippy is missing: `rustup component add clippy` installs it")
}

#[cfg(test)]
mod tests {
    use super::warnings;

    #[test]
    fn a_warning_is_told_with_its_place_and_the_rest_is_not() {
        let output = "   Compiling domain v0.1.0\nwarning: unused variable: `x`\n --> src/lib.rs:1:2\n  |\n\n   Compiling hub v0.1.0\n\
                      warning: `domain` (lib) generated 1 warning\n\n    Finished `test` profile";
        let told = [
            "warning: unused variable: `x`",
            " --> src/lib.rs:1:2",
            "  |",
            "warning: `domain` (lib) generated 1 warning",
        ];
        assert_eq!(warnings(output), told);
        assert!(warnings("   Compiling domain v0.1.0\n    Finished `test` profile\n").is_empty());
    }
}
