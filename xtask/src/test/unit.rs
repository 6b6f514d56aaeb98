//! The tests of the workspace, on SQLite, a temporary PostgreSQL and real control planes.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};

use super::programs::{FinishedProgram, TestProgram, TestRunner};
use super::report::{TestFailure, TestRun, WHOLE_PROGRAM};
use crate::paths::Paths;
use crate::{postgres, program, setup, step};

/// The value with which tests on real manifests are told to go without.
const WITHOUT_CORPUS: &str = "none";
/// What a test prints that goes without real manifests.
const WITHOUT_CORPUS_LINE: &str = "did not run, no corpus: ";

/// Runs all tests. `used` receives versions and counts.
///
/// # Errors
/// When the tests cannot be compiled or started, when one did not run for want of a control plane, and when an example in the
/// documentation does not compile. Failed tests are in the result.
pub fn run(paths: &Paths, used: &mut Vec<String>) -> Result<TestRun> {
    let server = postgres::start(paths, &setup::postgres::ensure(paths)?)?;
    used.push(server.version.clone());
    used.extend(setup::kube::program_versions(paths));
    used.extend(setup::renderer::program_versions(paths)?);
    let programs = TestProgram::build_all(paths, &mut program::tests_command(paths)?)?;
    let runner = TestRunner { paths, variables: &find_variables(paths, &server.url)? };
    let finished = runner.run_all(programs, test_threads())?;
    step::run(paths, "doc tests", program::tests_command(paths)?.arg("--doc"))?;
    let run = summarize(paths, &finished)?;
    let output: String = finished.into_iter().map(|program| program.text).collect();
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

/// The results of all programs, whose outputs are written into one log.
fn summarize(paths: &Paths, finished: &[FinishedProgram]) -> Result<TestRun> {
    let log = paths.xtask_folder().join("tests.log");
    let outputs = finished.iter().map(|program| format!("Running {}\n{}\n", program.name, program.text));
    fs::write(&log, outputs.collect::<String>())
        .with_context(|| format!("cannot write {}", log.display()))?;
    let mut run = TestRun { log, ..TestRun::default() };
    for FinishedProgram { results, .. } in finished {
        run.failures.extend_from_slice(&results.failures);
        run.times.extend_from_slice(&results.times);
    }
    Ok(run)
}

/// Repeats failed tests, each alone. For each failure, whether it passed.
///
/// # Errors
/// When the tests cannot be compiled or started.
pub fn repeat(paths: &Paths, failures: &[TestFailure]) -> Result<Vec<bool>> {
    let server = postgres::start(paths, &setup::postgres::ensure(paths)?)?;
    let programs = TestProgram::build_all(paths, &mut program::tests_command(paths)?)?;
    repeat_with(&TestRunner { paths, variables: &find_variables(paths, &server.url)? }, &programs, failures)
}

fn repeat_with(
    runner: &TestRunner<'_>,
    programs: &[TestProgram],
    failures: &[TestFailure],
) -> Result<Vec<bool>> {
    let mut failed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for failure in failures {
        failed.entry(&failure.program).or_default().push(&failure.name);
    }
    let mut passed = BTreeMap::new();
    for (name, tests) in failed {
        let program = programs.iter().find(|program| program.name == name);
        let program = program.with_context(|| format!("there is no test program {name}"))?;
        let is_whole = tests.contains(&WHOLE_PROGRAM);
        let step = format!("second run of {}", program.short_name());
        let again = runner.run(&step, program, 1, if is_whole { &[] } else { &tests })?;
        for test in tests {
            // A test that did not run again has no result and did not pass.
            let has_passed = match is_whole {
                true => again.is_success && !again.results.passed.is_empty(),
                false => again.results.passed.contains(test),
            };
            passed.insert((name, test), has_passed);
        }
    }
    Ok(failures.iter().map(|failure| passed[&(failure.program.as_str(), failure.name.as_str())]).collect())
}

/// The environment variables that the tests read, with everything installed that they name.
fn find_variables(paths: &Paths, postgres: &str) -> Result<Vec<(&'static str, OsString)>> {
    let corpus = match env::var_os("FLOTILLA_CORPUS").filter(|corpus| corpus != WITHOUT_CORPUS) {
        Some(corpus) => env::current_dir()?
            .join(corpus)
            .canonicalize()
            .context("FLOTILLA_CORPUS does not exist")?
            .into_os_string(),
        None => WITHOUT_CORPUS.into(),
    };
    let mut variables = vec![
        ("FLOTILLA_TEST_POSTGRES", postgres.into()),
        ("FLOTILLA_CORPUS", corpus),
        ("FLOTILLA_KUBE_BIN", setup::kube::ensure(paths)?.into_os_string()),
    ];
    let renderers = setup::renderer::ensure_all(paths)?;
    variables.extend(renderers.into_iter().map(|(name, path)| (name, path.into_os_string())));
    Ok(variables)
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
        let mut cargo = paths.cargo();
        cargo.args(["test", "--offline"]).env("CARGO_TARGET_DIR", &paths.target);
        cargo.env_remove("RUSTC_WORKSPACE_WRAPPER");
        let programs = TestProgram::build_all(&paths, &mut cargo).unwrap();
        let variables = [("PLANTED_MARKER", OsString::from(&marker))];
        let runner = TestRunner { paths: &paths, variables: &variables };
        let of_tests = programs.iter().find(|program| program.name == "tests/planted.rs").unwrap();
        let first = runner.run("planted", of_tests, 2, &[]).unwrap();
        let run = summarize(&paths, &[first]).unwrap();
        assert!(fs::read_to_string(&run.log).unwrap().contains("Running tests/planted.rs\n"));
        let names = |failures: &[TestFailure]| {
            let mut names: Vec<String> = failures.iter().map(|failure| failure.name.clone()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(&run.failures), ["fails_once", "fails_twice"]);
        let repeat = |failures: &[TestFailure]| repeat_with(&runner, &programs, failures).unwrap();
        let verified = Verification::of(run.failures, repeat);
        fs::remove_dir_all(&root).unwrap();
        fs::remove_file(env::temp_dir().join(&marker)).unwrap();
        assert_eq!(names(&verified.failed), ["fails_twice"]);
        assert_eq!(names(&verified.flaky), ["fails_once"]);
        let [failed] = verified.failed.as_slice() else { unreachable!() };
        assert_eq!(failed.program, "tests/planted.rs");
        assert!(failed.message.iter().any(|line| line.contains("planted")), "{:?}", failed.message);
        assert_eq!(run.times.len(), 3);
    }
}
