//! Builds the programs of the workspace, separately or together with all tests.
//!
//! A separate build is the fastest one for a single program. Before or after a build of the tests it would compile many
//! dependencies twice, because cargo unifies features over all packages that are built together.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, find_program};
use crate::step;

/// Builds the programs of these packages.
///
/// # Errors
/// When compilation fails.
pub fn build(paths: &Paths, name: &str, packages: &[&str]) -> Result<()> {
    if paths.with_tests {
        return step::run(paths, name, tests_command(paths)?.arg("--no-run")).map(drop);
    }
    let mut cargo = paths.cargo();
    cargo.args(["build", "--bins"]);
    for package in packages {
        cargo.args(["-p", package]);
    }
    step::run(paths, name, &mut cargo).map(drop)
}

/// The cargo command that builds and runs all tests of the workspace, and the programs that they start.
///
/// The compiler is clippy's, which adds lints: a separate clippy run would check all dependencies a second time. `cargo
/// clippy` uses the same wrapper, but does not generate code.
pub fn tests_command(paths: &Paths) -> Result<Command> {
    let mut cargo = paths.cargo();
    cargo.args(["test", "--workspace", "--exclude", "frontend", "--features", "server/bench"]);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", clippy_driver()?);
    Ok(cargo)
}

/// Builds the tests, and fails on warnings. The build is complete nevertheless, so that the tests can still run.
pub fn lint(paths: &Paths) -> Result<()> {
    let output = step::run(paths, "clippy", tests_command(paths)?.arg("--no-run"))?;
    reject_warnings(paths, "clippy", &output)
}

/// Runs a cargo build with clippy's compiler if there is one; a build with the tests fails on warnings.
pub fn build_with_lints(paths: &Paths, name: &str, cargo: &mut Command) -> Result<()> {
    match clippy_driver() {
        Ok(driver) => {
            cargo.env("RUSTC_WORKSPACE_WRAPPER", driver);
        }
        Err(error) if paths.with_tests => return Err(error),
        Err(_) => {}
    }
    let output = step::run(paths, name, cargo)?;
    if paths.with_tests { reject_warnings(paths, name, &output) } else { Ok(()) }
}

fn reject_warnings(paths: &Paths, name: &str, output: &str) -> Result<()> {
    let warnings = parse_warnings(output);
    if warnings.is_empty() {
        return Ok(());
    }
    for line in &warnings {
        step::print_line(&format!("    {line}"));
    }
    bail!(
        "clippy reports warnings; the complete output is in {}",
        paths.xtask_folder().join(format!("{}.log", name.replace(' ', "-"))).display()
    )
}

/// The lines from each warning to the next blank line. Cargo repeats the warnings of packages that it does not compile
/// again, so a second run reports the same.
fn parse_warnings(output: &str) -> Vec<&str> {
    let mut within = false;
    let reported = output.lines().filter(|line| {
        within = line.starts_with("warning") || (within && !line.is_empty());
        within
    });
    reported.collect()
}

/// Clippy's compiler, in the folder of cargo or in `PATH`.
fn clippy_driver() -> Result<PathBuf> {
    const NAME: &str = "clippy-driver";
    let cargo = PathBuf::from(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    let sibling = cargo.parent().map(|folder| folder.join(NAME)).filter(|file| file.is_file());
    sibling
        .or_else(|| find_program(NAME))
        .context("clippy is missing: `rustup component add clippy` installs it")
}

#[cfg(test)]
mod tests {
    use super::parse_warnings;

    #[test]
    fn a_warning_is_reported_with_its_location_and_other_lines_are_not() {
        let output = "   Compiling domain v0.1.0\nwarning: unused variable: `x`\n --> src/lib.rs:1:2\n  |\n\n   Compiling hub v0.1.0\n\
                      warning: `domain` (lib) generated 1 warning\n\n    Finished `test` profile";
        let expected = [
            "warning: unused variable: `x`",
            " --> src/lib.rs:1:2",
            "  |",
            "warning: `domain` (lib) generated 1 warning",
        ];
        assert_eq!(parse_warnings(output), expected);
        assert!(parse_warnings("   Compiling domain v0.1.0\n    Finished `test` profile\n").is_empty());
    }
}
