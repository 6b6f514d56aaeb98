//! The tests of the workspace by cargo, on SQLite, a temporary PostgreSQL and real control planes.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::cargo_output::CargoOutput;
use super::report::{TestFailure, TestRun, WHOLE_PROGRAM};
use crate::paths::Paths;
use crate::step::{self, StepOptions};
use crate::{postgres, program, setup};

/// A test program without a line of output for this long hangs and is ended. Single tests take up to two minutes on an idle
/// machine.
const SILENCE_LIMIT: Duration = Duration::from_mins(10);
/// The value with which tests on real manifests are told to go without.
const WITHOUT_CORPUS: &str = "none";
/// What a test prints that goes without real manifests.
const WITHOUT_CORPUS_LINE: &str = "did not run, no corpus: ";

/// Runs all tests. `used` receives versions and counts.
///
/// # Errors
/// When the tests cannot be compiled or started, and when one did not run for want of a control plane. Failed tests are in
/// the result.
pub fn run(paths: &Paths, used: &mut Vec<String>) -> Result<TestRun> {
    let server = postgres::start(paths, &setup::postgres::ensure(paths)?)?;
    used.push(server.version.clone());
    let mut cargo = tests_command(paths, &server.url)?;
    cargo.arg("--no-fail-fast");
    used.extend(setup::kube::program_versions(paths));
    used.extend(setup::renderer::program_versions(paths)?);
    let (run, output) = run_cargo(paths, "tests", &mut cargo, test_threads())?;
    let (passed, ignored) = count_tests(&output);
    used.push(format!("{passed} tests passed, {ignored} ignored"));
    let (planes, without) = count_control_planes(&output);
    used.push(format!("{planes} real control planes"));
    if without > 0 {
        bail!("{without} tests did not run because no control plane was available");
    }
    let without = count_lines(&output, WITHOUT_CORPUS_LINE);
    if without > 0 {
        used.push(format!(
            "{without} tests on real manifests did not run: FLOTILLA_CORPUS names no folder of them"
        ));
    }
    Ok(run)
}

/// Repeats failed tests, each alone. For each failure, whether it passed.
pub fn repeat(paths: &Paths, failures: &[TestFailure]) -> Result<Vec<bool>> {
    let server = postgres::start(paths, &setup::postgres::ensure(paths)?)?;
    repeat_with(paths, failures, || tests_command(paths, &server.url))
}

fn repeat_with(
    paths: &Paths,
    failures: &[TestFailure],
    command: impl Fn() -> Result<Command>,
) -> Result<Vec<bool>> {
    let mut programs: BTreeMap<(&str, &[String]), Vec<&str>> = BTreeMap::new();
    for failure in failures {
        programs.entry((&failure.program, &failure.selection)).or_default().push(&failure.name);
    }
    let mut passed = BTreeMap::new();
    for ((program, selection), names) in programs {
        let whole = names.contains(&WHOLE_PROGRAM);
        let mut cargo = command()?;
        cargo.args(selection).args(["--no-fail-fast", "--", "--test-threads=1"]);
        if !whole {
            cargo.arg("--exact").args(&names);
        }
        let step = format!("second run of {}", program.split(' ').next().unwrap_or(program));
        let (run, output) = read_cargo(paths, &step, &mut cargo, 1)?;
        let has_failed =
            |name: &str| run.failures.iter().any(|again| again.program == program && again.name == name);
        for name in names {
            // A test that did not run again has no result and did not pass.
            let is_passed = match whole {
                true => output.status.success() && run.passed.iter().any(|(of, _)| of == program),
                false => run.passed.contains(&(program.to_owned(), name.to_owned())) && !has_failed(name),
            };
            passed.insert((program, name), is_passed);
        }
    }
    Ok(failures.iter().map(|failure| passed[&(failure.program.as_str(), failure.name.as_str())]).collect())
}

/// The command with everything that the tests need.
fn tests_command(paths: &Paths, postgres: &str) -> Result<Command> {
    let mut cargo = program::tests_command(paths)?;
    cargo.env("FLOTILLA_TEST_POSTGRES", postgres);
    let corpus = env::var_os("FLOTILLA_CORPUS").filter(|corpus| corpus != WITHOUT_CORPUS);
    match corpus {
        Some(corpus) => {
            let corpus =
                env::current_dir()?.join(corpus).canonicalize().context("FLOTILLA_CORPUS does not exist")?;
            cargo.env("FLOTILLA_CORPUS", corpus);
        }
        None => {
            cargo.env("FLOTILLA_CORPUS", WITHOUT_CORPUS);
        }
    }
    cargo.env("FLOTILLA_KUBE_BIN", setup::kube::ensure(paths)?);
    setup::renderer::set_all(paths, &mut cargo)?;
    Ok(cargo)
}

/// Runs cargo to the end and reads the results; a failure without a failed test is an error.
fn run_cargo(paths: &Paths, step: &str, cargo: &mut Command, threads: usize) -> Result<(TestRun, String)> {
    let (read, output) = read_cargo(paths, step, cargo, threads)?;
    if !output.status.success() && read.failures.is_empty() {
        step::print_failed_output(&output.text);
        bail!("{step} failed ({}); the complete output is in {}", output.status, output.log.display());
    }
    Ok((TestRun { failures: read.failures, times: read.times, log: output.log }, output.text))
}

fn read_cargo(
    paths: &Paths,
    step: &str,
    cargo: &mut Command,
    threads: usize,
) -> Result<(CargoOutput, step::StepOutput)> {
    let mut read = CargoOutput::new(threads);
    let mut on_line = |line: &str| read.read_line(line, Instant::now());
    let options = StepOptions { silence_limit: Some(SILENCE_LIMIT), on_line: Some(&mut on_line) };
    let output = step::run_observed(paths, step, cargo, options)?;
    Ok((read.finish(), output))
}

/// How many tests a program runs at a time.
fn test_threads() -> usize {
    let set = env::var("RUST_TEST_THREADS").ok().and_then(|number| number.parse().ok());
    set.unwrap_or_else(|| available_parallelism().map_or(1, usize::from))
}

fn count_lines(output: &str, words: &str) -> usize {
    output.lines().filter(|line| line.contains(words)).count()
}

/// Counts the started control planes and the tests that were skipped without one, by the messages of `testkit`.
fn count_control_planes(output: &str) -> (usize, usize) {
    (count_lines(output, "control plane up in "), count_lines(output, "did not run, no control plane: "))
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::report::Verification;
    use super::*;

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

    /// Three tests: one fails always, one only in its first run, one never.
    const PLANTED: &str = r#"
#[test]
fn fails_twice() {
    assert_eq!(1 + 1, 3, "planted");
}

#[test]
fn fails_once() {
    let marker = std::env::temp_dir().join(std::env::var("PLANTED_MARKER").unwrap());
    let is_second = marker.exists();
    std::fs::write(&marker, "").unwrap();
    assert!(is_second, "planted for the first run");
}

#[test]
fn passes() {}
"#;

    #[test]
    fn a_planted_failing_test_fails_twice_and_a_planted_flaky_one_passes_alone() {
        let root = env::temp_dir().join(format!("flotilla-planted-{}", std::process::id()));
        let marker = format!("flotilla-planted-marker-{}", std::process::id());
        fs::create_dir_all(root.join("tests")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        let manifest =
            "[package]\nname = \"planted\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
        fs::write(root.join("Cargo.toml"), manifest).unwrap();
        fs::write(root.join("src/lib.rs"), "").unwrap();
        fs::write(root.join("tests/planted.rs"), PLANTED).unwrap();
        let paths = Paths::below(&root, &root.join("target"));
        let command = || {
            let mut cargo = paths.cargo();
            cargo.args(["test", "--offline"]).env("CARGO_TARGET_DIR", &paths.target);
            cargo.env("PLANTED_MARKER", &marker).env_remove("RUSTC_WORKSPACE_WRAPPER");
            Ok(cargo)
        };
        let (run, _) = run_cargo(&paths, "planted", command().unwrap().arg("--no-fail-fast"), 2).unwrap();
        let names = |failures: &[TestFailure]| {
            let mut names: Vec<String> = failures.iter().map(|failure| failure.name.clone()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(&run.failures), ["fails_once", "fails_twice"]);
        let verified =
            Verification::of(run.failures, |failures| repeat_with(&paths, failures, command).unwrap());
        fs::remove_dir_all(&root).unwrap();
        fs::remove_file(env::temp_dir().join(&marker)).unwrap();
        assert_eq!(names(&verified.failed), ["fails_twice"]);
        assert_eq!(names(&verified.flaky), ["fails_once"]);
        let [failed] = verified.failed.as_slice() else { unreachable!() };
        assert_eq!(failed.program, "planted (tests/planted.rs)");
        assert!(failed.message.iter().any(|line| line.contains("planted")), "{:?}", failed.message);
        assert_eq!(run.times.len(), 3);
    }
}
