//! `cargo xtask test`: every check, and a summary of what passed, how long it took and with which versions.
//!
//! All steps run even if one fails, so one run tells everything.

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, version_of};
use crate::{e2e, postgres, program, rails, setup, site, step};

/// Names for `--only`, in the order they run.
pub const STEPS: [&str; 6] = ["fmt", "clippy", "wasm", "unit", "rails", "e2e"];

struct Outcome {
    name: &'static str,
    result: Result<()>,
    time: Duration,
}

/// Runs all steps, or one.
///
/// # Errors
/// When a step failed; the summary says which.
pub fn run(paths: &Paths, only: Option<&str>) -> Result<()> {
    let paths = &Paths { with_tests: true, ..paths.clone() };
    setup::run(paths, only.is_none(), only.is_none())?;
    let mut used = Vec::new();
    let outcomes: Vec<Outcome> = STEPS
        .into_iter()
        .filter(|name| only.is_none_or(|only| only == *name))
        .map(|name| {
            let began = Instant::now();
            let result = step(paths, name, only, &mut used);
            if let Err(error) = &result {
                step::say(&format!("{} {name}: {error:#}", step::cross()));
            }
            Outcome { name, result, time: began.elapsed() }
        })
        .collect();
    summarise(paths, &outcomes, used)
}

fn step(paths: &Paths, name: &str, only: Option<&str>, used: &mut Vec<String>) -> Result<()> {
    match name {
        "fmt" => step::run(paths, "fmt", paths.cargo().args(["fmt", "--all", "--check"])).map(drop),
        "clippy" => program::lint(paths),
        "wasm" => wasm(paths),
        "unit" if only.is_none() => thread::scope(|scope| {
            // What runs in WASM compiles while tests wait for their clusters. What is wrong with it is said by the steps
            // that use it: they build it again if it is not there.
            scope.spawn(|| site::build(paths).and_then(|()| rails::build(paths)));
            unit(paths, used)
        }),
        "unit" => unit(paths, used),
        "rails" => rails::compare(paths),
        "e2e" => e2e::as_step(paths),
        other => bail!("there is no step {other}"),
    }
}

/// What runs in the browser must compile for it: the domain on its own, and the console.
fn wasm(paths: &Paths) -> Result<()> {
    for package in ["domain", "frontend"] {
        let mut cargo = paths.cargo();
        cargo.args([
            "clippy",
            "-p",
            package,
            "--target",
            "wasm32-unknown-unknown",
            "--profile",
            "wasm",
            "--target-dir",
        ]);
        cargo.arg(paths.front()).args(["--", "-D", "warnings"]);
        step::run(paths, &format!("clippy of {package} for WASM"), &mut cargo)?;
    }
    Ok(())
}

/// All tests of the workspace, with a PostgreSQL of their own.
fn unit(paths: &Paths, used: &mut Vec<String>) -> Result<()> {
    let server = postgres::start(paths, &setup::postgres::ensure(paths)?)?;
    used.push(server.version.clone());
    let mut cargo = program::tests(paths)?;
    cargo.arg("--no-fail-fast");
    cargo.env("FLOTILLA_TEST_POSTGRES", &server.url);
    match env::var_os("FLOTILLA_CORPUS") {
        Some(corpus) => {
            let corpus =
                env::current_dir()?.join(corpus).canonicalize().context("FLOTILLA_CORPUS is not there")?;
            cargo.env("FLOTILLA_CORPUS", corpus);
        }
        None => step::say("  FLOTILLA_CORPUS is not set: tests on real manifests are skipped"),
    }
    cargo.env("FLOTILLA_KUBE_BIN", setup::kube::ensure(paths)?);
    used.extend(setup::kube::versions(paths));
    let output = step::run(paths, "tests", &mut cargo)?;
    let (passed, ignored) = count(&output);
    used.push(format!("{passed} tests passed, {ignored} ignored"));
    let (planes, without) = control_planes(&output);
    used.push(format!("{planes} real control planes"));
    if without > 0 {
        bail!("{without} tests did not run for want of a control plane");
    }
    Ok(())
}

/// Real control planes that were started, and tests that did without one: in the words of `testkit`.
fn control_planes(output: &str) -> (usize, usize) {
    let lines = |words: &str| output.lines().filter(|line| line.contains(words)).count();
    (lines("control plane up in "), lines("did not run, no control plane: "))
}

/// Sums cargo's "test result: ok. 12 passed; 0 failed; 1 ignored; …" lines.
fn count(output: &str) -> (u32, u32) {
    let number = |line: &str, what: &str| -> u32 {
        line.split(';')
            .find_map(|part| part.trim().strip_suffix(what)?.rsplit(' ').next()?.parse().ok())
            .unwrap_or(0)
    };
    output.lines().filter(|line| line.starts_with("test result:")).fold((0, 0), |(passed, ignored), line| {
        (passed + number(line, " passed"), ignored + number(line, " ignored"))
    })
}

fn summarise(paths: &Paths, outcomes: &[Outcome], used: Vec<String>) -> Result<()> {
    step::say("");
    for Outcome { name, result, time } in outcomes {
        let (mark, word) = if result.is_ok() { (step::tick(), "passed") } else { (step::cross(), "failed") };
        step::say(&format!("{mark} {name:<8} {word}  {:>12}", step::seconds(*time)));
    }
    let rustc = version_of("rustc".as_ref(), "--version");
    let node = version_of("node".as_ref(), "--version").map(|version| format!("node {version}"));
    let ran_browser = outcomes.iter().any(|outcome| outcome.name == "e2e");
    let chromium =
        ran_browser.then(|| version_of(&setup::chromium::ensure(paths).ok()?, "--version")).flatten();
    for line in [rustc, node, chromium].into_iter().flatten().chain(used) {
        step::say(&format!("  {line}"));
    }
    let failed: Vec<&str> =
        outcomes.iter().filter(|outcome| outcome.result.is_err()).map(|outcome| outcome.name).collect();
    if failed.is_empty() {
        return Ok(());
    }
    bail!("failed: {}", failed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{control_planes, count};

    #[test]
    fn results_of_all_test_programs_are_summed() {
        let output = "running 3 tests\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                      test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(count(output), (15, 1));
    }

    #[test]
    fn control_planes_and_tests_without_one_are_counted() {
        let output = "running 2 tests\ncontrol plane up in 2.1 s: Kubernetes v1.36.3, API only\n\
                      did not run, no control plane: a_test (FLOTILLA_KUBE_BIN is not set)\ntest a_test ... ok\n";
        assert_eq!(control_planes(output), (1, 1));
    }
}
