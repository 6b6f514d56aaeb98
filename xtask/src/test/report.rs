//! Failures of tests and scenarios, and the decision which of them fail the run.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::step;

/// More flaky tests than this fail the run: then it is the machine, or a defect that several tests meet.
pub const MAX_FLAKY: usize = 2;
/// With more failures than this there is no second pass: they have one cause.
pub const MAX_REPEATED: usize = 10;
/// Lines of a failure's message in the report.
pub const MAX_MESSAGE_LINES: usize = 10;
/// Tests and scenarios in the list of the slowest.
const MAX_SLOWEST: usize = 20;

/// A test or scenario that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct TestFailure {
    /// The test program or the file of scenarios.
    pub program: String,
    /// Its name, or [`WHOLE_PROGRAM`].
    pub name: String,
    /// The first lines of the reason, at most [`MAX_MESSAGE_LINES`].
    pub message: Vec<String>,
    /// Whether a pass in the second run excuses it. Not for random inputs and faults: what failed once is a counterexample.
    pub may_be_flaky: bool,
    /// The load of the machine (runnable processes, mean of a minute) when it failed; `None` where the system does not tell.
    pub load: Option<f64>,
}

/// The name of a failure where a program ended without the result of a test.
pub const WHOLE_PROGRAM: &str = "(the program ended without a result)";

/// How long a test or scenario took.
#[derive(Debug, Clone, PartialEq)]
pub struct TestTime {
    /// The test program or the file of scenarios.
    pub program: String,
    /// Its name.
    pub name: String,
    /// From start to end.
    pub time: Duration,
}

/// The result of all tests of a step.
#[derive(Debug, Default)]
pub struct TestRun {
    /// What failed in the first pass.
    pub failures: Vec<TestFailure>,
    /// All times.
    pub times: Vec<TestTime>,
    /// The log with the complete output.
    pub log: PathBuf,
}

/// What the second pass decided.
#[derive(Debug, Default, PartialEq)]
pub struct Verification {
    /// Failed twice, or not excusable.
    pub failed: Vec<TestFailure>,
    /// Failed, then passed alone.
    pub flaky: Vec<TestFailure>,
}

impl Verification {
    /// Sorts the failures by the result of the second pass; `repeat` runs one test alone and is true if it passed.
    pub fn of(failures: Vec<TestFailure>, mut repeat: impl FnMut(&[TestFailure]) -> Vec<bool>) -> Self {
        if failures.len() > MAX_REPEATED {
            return Self { failed: failures, flaky: Vec::new() };
        }
        let (repeated, mut failed): (Vec<_>, Vec<_>) = failures.into_iter().partition(|one| one.may_be_flaky);
        let passed = if repeated.is_empty() { Vec::new() } else { repeat(&repeated) };
        let mut flaky = Vec::new();
        for (at, failure) in repeated.into_iter().enumerate() {
            // A missing result is no pass.
            if passed.get(at).copied().unwrap_or(false) { flaky.push(failure) } else { failed.push(failure) }
        }
        Self { failed, flaky }
    }
}

/// The load of the machine; `None` where the system does not tell.
pub fn machine_load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Prints one failure: program, name, message, load.
pub fn print_failure(mark: &str, failure: &TestFailure) {
    let load = failure.load.map(|load| format!(", load {load:.1}")).unwrap_or_default();
    step::print_line(&format!("{mark} {} · {}{load}", failure.program, failure.name));
    for line in &failure.message {
        step::print_line(&format!("    {line}"));
    }
}

/// Prints the slowest tests and scenarios.
pub fn print_slowest(mut times: Vec<TestTime>) {
    times.sort_by_key(|one| std::cmp::Reverse(one.time));
    times.truncate(MAX_SLOWEST);
    if !times.is_empty() {
        step::print_line("  slowest:");
    }
    for TestTime { program, name, time } in times {
        step::print_line(&format!("  {:>12}  {program} · {name}", step::format_duration(time)));
    }
}

/// The first lines of a message, without control sequences and blank lines.
pub fn shorten_message<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    lines
        .map(step::strip_control_sequences)
        .filter(|line| !line.trim().is_empty())
        .take(MAX_MESSAGE_LINES)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(name: &str, may_be_flaky: bool) -> TestFailure {
        TestFailure {
            program: "tests/a.rs".to_owned(),
            name: name.to_owned(),
            message: Vec::new(),
            may_be_flaky,
            load: None,
        }
    }

    #[test]
    fn only_an_excusable_failure_that_passes_alone_is_flaky() {
        let failures = vec![failure("passes", true), failure("fails", true), failure("random", false)];
        let verified = Verification::of(failures, |repeated| {
            repeated.iter().map(|failure| failure.name == "passes").collect()
        });
        assert_eq!(verified.flaky, [failure("passes", true)]);
        assert_eq!(verified.failed, [failure("random", false), failure("fails", true)]);
    }

    #[test]
    fn a_result_that_is_missing_is_no_pass() {
        let verified = Verification::of(vec![failure("a", true)], |_| Vec::new());
        assert_eq!(verified.failed.len(), 1);
    }

    #[test]
    fn many_failures_are_not_repeated() {
        let failures = vec![failure("a", true); MAX_REPEATED + 1];
        let verified = Verification::of(failures, |_| unreachable!("nothing is repeated"));
        assert_eq!(verified.failed.len(), MAX_REPEATED + 1);
    }
}
