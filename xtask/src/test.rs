//! `cargo xtask test`: runs all checks and prints a summary with results, durations and versions.
//!
//! All steps run even if one fails, so that one run reports all failures. Failed tests and scenarios are repeated alone after
//! all steps; the last lines of the output name what failed.

mod busy;
mod program_output;
mod programs;
mod report;
mod scenarios;
mod unit;

use std::env;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use self::busy::BusyThreads;
use self::report::{MAX_FLAKY, Verification, print_failure, print_slowest};
pub use self::report::{TestFailure, TestRun};
pub use self::scenarios::{parse_report, passed_again};
use crate::paths::{Paths, program_version};
use crate::{disk, e2e, program, rails, setup, site, step};

/// Names for `--only`, in execution order.
pub const STEPS: [&str; 7] = ["fmt", "deny", "clippy", "wasm", "unit", "rails", "e2e"];

struct StepOutcome {
    name: &'static str,
    /// The tests of the step; none for steps that only check.
    result: Result<TestRun>,
    time: Duration,
}

impl StepOutcome {
    fn of(name: &'static str, run: impl FnOnce() -> Result<TestRun>) -> Self {
        let began = Instant::now();
        let result = run();
        if let Err(error) = &result {
            step::print_line(&format!("{} {name}: {error:#}", step::failure_mark()));
        }
        Self { name, result, time: began.elapsed() }
    }
}

/// Runs all steps, or one, beside this many busy threads.
///
/// # Errors
/// When a step fails; the message names it and its failed tests.
pub fn run(paths: &Paths, only: Option<&str>, load: usize) -> Result<()> {
    let paths = &Paths { with_tests: true, ..paths.clone() };
    let free_before = disk::describe_free_space(&paths.target);
    step::print_line(&format!("  free disk space: {free_before}"));
    setup::run(paths, only.is_none(), only.is_none())?;
    let _busy = BusyThreads::start(load);
    let mut used = Vec::new();
    let outcomes = run_steps(paths, only, &mut used);
    let free_after = disk::describe_free_space(&paths.target);
    used.push(format!("free disk space: {free_before} at the start, {free_after} at the end"));
    let verified = outcomes.into_iter().map(|outcome| verify(paths, outcome)).collect();
    print_summary(paths, verified, used)
}

fn run_steps(paths: &Paths, only: Option<&str>, used: &mut Vec<String>) -> Vec<StepOutcome> {
    let in_background = &Paths { in_background: true, ..paths.clone() };
    thread::scope(|scope| {
        let mut wasm = None;
        let mut outcomes = Vec::new();
        for name in STEPS.into_iter().filter(|name| only.is_none_or(|only| only == *name)) {
            match name {
                // Built while the tests wait for their clusters.
                "wasm" if only.is_none() => {
                    wasm = Some(scope.spawn(|| StepOutcome::of("wasm", || build_wasm(in_background))));
                }
                _ => outcomes.push(StepOutcome::of(name, || run_step(paths, name, used))),
            }
            if let Some(build) = wasm.take_if(|_| name == "unit") {
                outcomes.push(build.join().unwrap_or_else(|_| StepOutcome {
                    name: "wasm",
                    result: Err(anyhow!("the build for WASM panicked")),
                    time: Duration::ZERO,
                }));
            }
        }
        outcomes
    })
}

fn run_step(paths: &Paths, name: &str, used: &mut Vec<String>) -> Result<TestRun> {
    match name {
        "fmt" => step::run(paths, "fmt", paths.cargo().args(["fmt", "--all", "--check"])).map(drop)?,
        "deny" => check_dependencies(paths, used)?,
        "clippy" => program::lint(paths)?,
        "wasm" => return build_wasm(paths),
        "unit" => return unit::run(paths, used),
        "rails" => rails::compare(paths)?,
        "e2e" => return e2e::run_as_step(paths),
        other => bail!("there is no step {other}"),
    }
    Ok(TestRun::default())
}

/// Builds and lints what runs in WASM: the console, and the guard rails for Node.
fn build_wasm(paths: &Paths) -> Result<TestRun> {
    site::build(paths)?;
    rails::build_wasm(paths)?;
    Ok(TestRun::default())
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

/// A step with what the second pass decided about its failures.
struct VerifiedStep {
    name: &'static str,
    time: Duration,
    /// Why the step failed as a whole.
    error: Option<String>,
    verification: Verification,
    run: TestRun,
}

impl VerifiedStep {
    fn has_passed(&self) -> bool {
        self.error.is_none() && self.verification.failed.is_empty()
    }
}

/// Repeats the failed tests of a step, each alone.
fn verify(paths: &Paths, outcome: StepOutcome) -> VerifiedStep {
    let StepOutcome { name, result, time } = outcome;
    let (mut run, mut error) = match result {
        Ok(run) => (run, None),
        Err(error) => (TestRun::default(), Some(format!("{error:#}"))),
    };
    let began = Instant::now();
    let verification = Verification::of(std::mem::take(&mut run.failures), |failures| {
        repeat(paths, name, failures).unwrap_or_else(|failed| {
            error = Some(format!("the second run failed: {failed:#}"));
            Vec::new()
        })
    });
    VerifiedStep { name, time: time + began.elapsed(), error, verification, run }
}

fn repeat(paths: &Paths, step: &str, failures: &[TestFailure]) -> Result<Vec<bool>> {
    match step {
        "unit" => unit::repeat(paths, failures),
        "e2e" => e2e::repeat(paths, failures),
        other => bail!("the step {other} has no tests"),
    }
}

fn print_summary(paths: &Paths, steps: Vec<VerifiedStep>, used: Vec<String>) -> Result<()> {
    step::print_line("");
    for step in &steps {
        let (mark, word) = if step.has_passed() {
            (step::success_mark(), "passed")
        } else {
            (step::failure_mark(), "failed")
        };
        step::print_line(&format!(
            "{mark} {:<8} {word}  {:>12}",
            step.name,
            step::format_duration(step.time)
        ));
    }
    let rustc = program_version("rustc".as_ref(), "--version");
    let node = program_version("node".as_ref(), "--version").map(|version| format!("node {version}"));
    let ran_browser = steps.iter().any(|step| step.name == "e2e");
    let chromium =
        ran_browser.then(|| program_version(&setup::chromium::ensure(paths).ok()?, "--version")).flatten();
    for line in [rustc, node, chromium].into_iter().flatten().chain(used) {
        step::print_line(&format!("  {line}"));
    }
    print_slowest(steps.iter().flat_map(|step| step.run.times.clone()).collect());
    let failed: usize = steps.iter().map(|step| step.verification.failed.len()).sum();
    let all: usize = steps.iter().map(|step| step.run.times.len()).sum();
    step::print_line(&format!("{} passed, {failed} failed", all.saturating_sub(failed)));
    print_failures(&steps)
}

/// Prints the flaky tests and the failed ones, which come last.
///
/// # Errors
/// When a step failed, or more than [`MAX_FLAKY`] tests are flaky. The message names them all.
fn print_failures(steps: &[VerifiedStep]) -> Result<()> {
    let flaky: Vec<&TestFailure> = steps.iter().flat_map(|step| &step.verification.flaky).collect();
    if !flaky.is_empty() {
        step::print_line("flaky (failed, then passed alone):");
    }
    for failure in &flaky {
        print_failure("~", failure);
    }
    let mut reasons = Vec::new();
    if flaky.len() > MAX_FLAKY {
        reasons.push(format!("{} tests are flaky, at most {MAX_FLAKY} may be", flaky.len()));
    }
    for VerifiedStep { name, error, verification, run, .. } in steps {
        for failure in &verification.failed {
            print_failure(&step::failure_mark(), failure);
        }
        if !verification.failed.is_empty() {
            let names: Vec<String> =
                verification.failed.iter().map(|one| format!("{} · {}", one.program, one.name)).collect();
            reasons.push(format!("{name}: {} (log: {})", names.join(", "), run.log.display()));
        }
        reasons.extend(error.as_ref().map(|error| format!("{name}: {error}")));
    }
    if reasons.is_empty() {
        return Ok(());
    }
    bail!("failed:\n  {}", reasons.join("\n  "))
}
