//! `cargo xtask test`: runs all checks and prints a summary with results, durations and versions.
//!
//! All steps run even if one fails, so that one run reports all failures.

use std::env;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, program_version};
use crate::{e2e, postgres, program, rails, setup, site, step};

/// Names for `--only`, in execution order.
pub const STEPS: [&str; 7] = ["fmt", "deny", "clippy", "wasm", "unit", "rails", "e2e"];

struct StepOutcome {
    name: &'static str,
    result: Result<()>,
    time: Duration,
}

/// Runs all steps, or one.
///
/// # Errors
/// When a step fails; the summary names it.
pub fn run(paths: &Paths, only: Option<&str>) -> Result<()> {
    let paths = &Paths { with_tests: true, ..paths.clone() };
    setup::run(paths, only.is_none(), only.is_none())?;
    let mut used = Vec::new();
    let outcomes: Vec<StepOutcome> = STEPS
        .into_iter()
        .filter(|name| only.is_none_or(|only| only == *name))
        .map(|name| {
            let began = Instant::now();
            let result = run_step(paths, name, only, &mut used);
            if let Err(error) = &result {
                step::print_line(&format!("{} {name}: {error:#}", step::failure_mark()));
            }
            StepOutcome { name, result, time: began.elapsed() }
        })
        .collect();
    print_summary(paths, &outcomes, used)
}

fn run_step(paths: &Paths, name: &str, only: Option<&str>, used: &mut Vec<String>) -> Result<()> {
    match name {
        "fmt" => step::run(paths, "fmt", paths.cargo().args(["fmt", "--all", "--check"])).map(drop),
        "deny" => check_dependencies(paths, used),
        "clippy" => program::lint(paths),
        "wasm" => lint_wasm(paths),
        "unit" if only.is_none() => thread::scope(|scope| {
            // The WASM builds run while tests wait for their clusters. Their errors are ignored here, because the steps that
            // use them build them again.
            scope.spawn(|| site::build(paths).and_then(|()| rails::build_wasm(paths)));
            run_unit_tests(paths, used)
        }),
        "unit" => run_unit_tests(paths, used),
        "rails" => rails::compare(paths),
        "e2e" => e2e::run_as_step(paths),
        other => bail!("there is no step {other}"),
    }
}

/// Checks bans, licences and sources of the dependencies by `deny.toml`, and the advisories if their database has been
/// fetched: a test does not fetch it, so that its result does not depend on the day.
fn check_dependencies(paths: &Paths, used: &mut Vec<String>) -> Result<()> {
    let program = setup::deny::ensure(paths)?;
    let mut deny = paths.command(&program);
    deny.args(["--log-level", "error", "check", "bans", "licenses", "sources"]);
    step::run(paths, "dependencies", &mut deny)?;
    if !has_advisories() {
        used.push("advisories were not checked: `cargo deny fetch` fetches their database".to_owned());
        return Ok(());
    }
    let mut deny = paths.command(&program);
    deny.args(["--offline", "--log-level", "error", "check", "advisories"]);
    step::run(paths, "advisories", &mut deny).map(drop)
}

/// Whether `cargo deny fetch` has stored the database of advisories.
fn has_advisories() -> bool {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    home.and_then(|home| home.join("advisory-dbs").read_dir().ok())
        .is_some_and(|mut folder| folder.next().is_some())
}

/// Lints the packages of the browser for WASM: the domain alone, and the console.
fn lint_wasm(paths: &Paths) -> Result<()> {
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
        cargo.arg(paths.wasm_target()).args(["--", "-D", "warnings"]);
        step::run(paths, &format!("clippy of {package} for WASM"), &mut cargo)?;
    }
    Ok(())
}

/// Runs all tests of the workspace with a temporary PostgreSQL.
fn run_unit_tests(paths: &Paths, used: &mut Vec<String>) -> Result<()> {
    let server = postgres::start(paths, &setup::postgres::ensure(paths)?)?;
    used.push(server.version.clone());
    let mut cargo = program::tests_command(paths)?;
    cargo.arg("--no-fail-fast");
    cargo.env("FLOTILLA_TEST_POSTGRES", &server.url);
    match env::var_os("FLOTILLA_CORPUS") {
        Some(corpus) => {
            let corpus =
                env::current_dir()?.join(corpus).canonicalize().context("FLOTILLA_CORPUS does not exist")?;
            cargo.env("FLOTILLA_CORPUS", corpus);
        }
        None => step::print_line("  FLOTILLA_CORPUS is not set: tests on real manifests are skipped"),
    }
    cargo.env("FLOTILLA_KUBE_BIN", setup::kube::ensure(paths)?);
    used.extend(setup::kube::program_versions(paths));
    setup::renderer::set_all(paths, &mut cargo)?;
    used.extend(setup::renderer::program_versions(paths)?);
    let output = step::run(paths, "tests", &mut cargo)?;
    let (passed, ignored) = count_tests(&output);
    used.push(format!("{passed} tests passed, {ignored} ignored"));
    let (planes, without) = count_control_planes(&output);
    used.push(format!("{planes} real control planes"));
    if without > 0 {
        bail!("{without} tests did not run because no control plane was available");
    }
    Ok(())
}

/// Counts the started control planes and the tests that were skipped without one, by the messages of `testkit`.
fn count_control_planes(output: &str) -> (usize, usize) {
    let lines = |words: &str| output.lines().filter(|line| line.contains(words)).count();
    (lines("control plane up in "), lines("did not run, no control plane: "))
}

/// Passed and ignored tests, summed over cargo's "test result: ok. 12 passed; 0 failed; 1 ignored; …" lines.
fn count_tests(output: &str) -> (u32, u32) {
    let number = |line: &str, what: &str| -> u32 {
        line.split(';')
            .find_map(|part| part.trim().strip_suffix(what)?.rsplit(' ').next()?.parse().ok())
            .unwrap_or(0)
    };
    output.lines().filter(|line| line.starts_with("test result:")).fold((0, 0), |(passed, ignored), line| {
        (passed + number(line, " passed"), ignored + number(line, " ignored"))
    })
}

fn print_summary(paths: &Paths, outcomes: &[StepOutcome], used: Vec<String>) -> Result<()> {
    step::print_line("");
    for StepOutcome { name, result, time } in outcomes {
        let (mark, word) =
            if result.is_ok() { (step::success_mark(), "passed") } else { (step::failure_mark(), "failed") };
        step::print_line(&format!("{mark} {name:<8} {word}  {:>12}", step::format_duration(*time)));
    }
    let rustc = program_version("rustc".as_ref(), "--version");
    let node = program_version("node".as_ref(), "--version").map(|version| format!("node {version}"));
    let ran_browser = outcomes.iter().any(|outcome| outcome.name == "e2e");
    let chromium =
        ran_browser.then(|| program_version(&setup::chromium::ensure(paths).ok()?, "--version")).flatten();
    for line in [rustc, node, chromium].into_iter().flatten().chain(used) {
        step::print_line(&format!("  {line}"));
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
    use super::{count_control_planes, count_tests};

    #[test]
    fn results_of_all_test_programs_are_summed() {
        let output = "running 3 tests\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                      test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(count_tests(output), (15, 1));
    }

    #[test]
    fn control_planes_and_tests_without_one_are_counted() {
        let output = "running 2 tests\ncontrol plane up in 2.1 s: Kubernetes v1.36.3, API only\n\
                      did not run, no control plane: a_test (FLOTILLA_KUBE_BIN is not set)\ntest a_test ... ok\n";
        assert_eq!(count_control_planes(output), (1, 1));
    }
}
