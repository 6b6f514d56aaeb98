//! Reads the output of a test program: failures with their messages, and the time of each test.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use super::report::{TestFailure, TestTime, WHOLE_PROGRAM, machine_load, shorten_message};
use crate::step::SILENCE_ENDED;

/// Test programs with random inputs or random faults; their failures are counterexamples and never flaky.
const RANDOM_PROGRAMS: [&str; 3] = ["tests/chaos", "tests/races", "tests/fuzz"];
/// What proptest prints for a counterexample.
const COUNTEREXAMPLE: &str = "minimal failing input";
/// Lines shown of a program that ended without the result of a test.
const MAX_LAST_LINES: usize = 8;

/// The results of a test program.
#[derive(Debug, Default)]
pub struct TestResults {
    /// What failed.
    pub failures: Vec<TestFailure>,
    /// The times of all tests that ran.
    pub times: Vec<TestTime>,
    /// The names of all passed tests.
    pub passed: BTreeSet<String>,
}

/// Collects the results while a program runs.
#[derive(Default)]
pub struct ProgramOutput {
    /// The path of its source.
    program: String,
    threads: usize,
    began: Option<Instant>,
    /// Names in the order of their results, with the time since the start.
    results: Vec<(String, Duration)>,
    passed: BTreeSet<String>,
    /// Tests that are not run.
    ignored: BTreeSet<String>,
    /// Tests that run for more than a minute without a result.
    slow: BTreeSet<String>,
    /// The load when a test failed.
    loads: HashMap<String, Option<f64>>,
    /// The output of each failed test.
    blocks: Vec<(String, Vec<String>)>,
    in_block: bool,
    last_lines: Vec<String>,
}

impl ProgramOutput {
    /// For a program that runs this many tests at a time.
    pub fn new(program: &str, threads: usize) -> Self {
        Self { program: program.to_owned(), threads: threads.max(1), ..Self::default() }
    }

    /// Reads the next line.
    pub fn read_line(&mut self, line: &str, now: Instant) {
        if line.starts_with("running ") && self.began.is_none() {
            self.began = Some(now);
        } else if let Some((name, result)) = parse_result(line) {
            self.slow.remove(name);
            match result {
                "FAILED" => drop(self.loads.insert(name.to_owned(), machine_load())),
                "ignored" => drop(self.ignored.insert(name.to_owned())),
                _ => drop(self.passed.insert(name.to_owned())),
            }
            let time = self.began.map(|began| now.saturating_duration_since(began)).unwrap_or_default();
            self.results.push((name.to_owned(), time));
        } else if let Some(name) = parse_slow(line) {
            self.slow.insert(name.to_owned());
        } else if let Some(name) = parse_block(line) {
            self.blocks.push((name.to_owned(), Vec::new()));
            self.in_block = true;
        } else if line == "failures:" || line.starts_with("test result:") {
            self.in_block = false;
        } else if let Some((_, lines)) = self.blocks.last_mut().filter(|_| self.in_block) {
            lines.push(line.to_owned());
        }
        if !line.trim().is_empty() {
            self.last_lines.push(line.to_owned());
            if self.last_lines.len() > MAX_LAST_LINES && !line.starts_with(SILENCE_ENDED) {
                self.last_lines.remove(0);
            }
        }
    }

    /// The results of the program, which has ended with this success.
    pub fn finish(self, is_success: bool) -> TestResults {
        let failures = if is_success { Vec::new() } else { self.list_failures() };
        let times = derive_times(&self.results, self.threads);
        let ran = times.into_iter().filter(|(name, _)| !self.ignored.contains(name));
        let times = ran.map(|(name, time)| TestTime { program: self.program.clone(), name, time }).collect();
        TestResults { failures, times, passed: self.passed }
    }

    fn list_failures(&self) -> Vec<TestFailure> {
        let is_random = RANDOM_PROGRAMS.iter().any(|path| self.program.contains(path));
        let failed = |name: &str, lines: &[String], load: Option<f64>| TestFailure {
            program: self.program.clone(),
            name: name.to_owned(),
            message: select_message(name, lines),
            may_be_flaky: !is_random && !lines.iter().any(|line| line.contains(COUNTEREXAMPLE)),
            load,
        };
        let mut failures: Vec<TestFailure> = Vec::new();
        for (name, lines) in &self.blocks {
            failures.push(failed(name, lines, self.loads.get(name).copied().flatten()));
        }
        // A test without captured output has a result and no block.
        for (name, load) in &self.loads {
            if !self.blocks.iter().any(|(with_block, _)| with_block == name) {
                failures.push(failed(name, &[], *load));
            }
        }
        if failures.is_empty() {
            let running = self.slow.iter().map(|name| format!("still running: {name}"));
            let lines: Vec<String> = running.chain(self.last_lines.iter().cloned()).collect();
            failures.push(TestFailure {
                message: shorten_message(lines.iter().map(String::as_str)),
                ..failed(WHOLE_PROGRAM, &[], machine_load())
            });
        }
        failures
    }
}

/// `test stages::a_test ... ok`, with the result.
fn parse_result(line: &str) -> Option<(&str, &str)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let result = result.split([',', ' ']).next()?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    matches!(result, "ok" | "FAILED" | "ignored").then_some((name, result))
}

fn parse_slow(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.split_once(" has been running for over ").map(|(name, _)| name)
}

/// `---- stages::a_test stdout ----`
fn parse_block(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// The panic of the test's own thread, or of another thread, or the last lines.
fn select_message(name: &str, lines: &[String]) -> Vec<String> {
    let own = format!("thread '{name}'");
    let panic = |line: &String| line.contains("panicked at ");
    let start = lines
        .iter()
        .position(|line| panic(line) && line.contains(&own))
        .or_else(|| lines.iter().position(panic))
        .unwrap_or(lines.len().saturating_sub(MAX_LAST_LINES));
    let message = lines[start..].iter().map(String::as_str);
    shorten_message(message.take_while(|line| *line != "stack backtrace:" && !line.starts_with("note: ")))
}

/// The time of each test. libtest does not print it, but starts the tests in the order of their names, and the next one
/// whenever one ends: so the results and their times tell when each one began.
fn derive_times(results: &[(String, Duration)], threads: usize) -> Vec<(String, Duration)> {
    let mut names: Vec<&str> = results.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let mut waiting = names.into_iter();
    let mut starts: HashMap<&str, Duration> =
        waiting.by_ref().take(threads).map(|name| (name, Duration::ZERO)).collect();
    let mut times = Vec::new();
    for (name, end) in results {
        let start = starts.get(name.as_str()).copied().unwrap_or(*end);
        times.push((name.clone(), end.saturating_sub(start)));
        if let Some(next) = waiting.next() {
            starts.insert(next, *end);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLEET: &str = "server/tests/fleet/main.rs";

    fn read(program: &str, output: &str) -> TestResults {
        let mut read = ProgramOutput::new(program, 2);
        let now = Instant::now();
        for line in output.lines() {
            read.read_line(line, now);
        }
        read.finish(false)
    }

    const OUTPUT: &str = "\
running 2 tests
test stages::a_release_has_stages ... FAILED
test charts::a_chart ... ok

failures:

---- stages::a_release_has_stages stdout ----
thread 'tokio-rt-worker' (7) panicked at src/failpoint.rs:1:1:
armed

thread 'stages::a_release_has_stages' (8) panicked at tests/fleet/stages.rs:19:9:
assertion failed: 404
stack backtrace:
   0: a_frame

failures:
    stages::a_release_has_stages

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 6.21s
";

    #[test]
    fn a_failure_has_its_program_and_the_panic_of_its_own_thread() {
        let results = read(FLEET, OUTPUT);
        let [failure] = results.failures.as_slice() else { panic!("{:?}", results.failures) };
        assert_eq!(
            (failure.program.as_str(), failure.name.as_str()),
            (FLEET, "stages::a_release_has_stages")
        );
        let panic = "thread 'stages::a_release_has_stages' (8) panicked at tests/fleet/stages.rs:19:9:";
        assert_eq!(failure.message, [panic, "assertion failed: 404"]);
        assert!(failure.may_be_flaky);
        assert_eq!(results.passed, BTreeSet::from(["charts::a_chart".to_owned()]));
        assert_eq!(results.times.len(), 2);
    }

    #[test]
    fn counterexamples_of_random_tests_are_not_excused() {
        let property = OUTPUT.replace("assertion failed: 404", "Test failed; minimal failing input: 3");
        assert!(!read(FLEET, &property).failures[0].may_be_flaky);
        for program in ["server/tests/chaos.rs", "server/tests/races.rs", "crates/domain/tests/fuzz/main.rs"]
        {
            assert!(!read(program, OUTPUT).failures[0].may_be_flaky);
        }
    }

    #[test]
    fn a_program_that_ends_without_results_is_a_failure_with_the_tests_that_ran() {
        let results = read(
            "server/tests/slow.rs",
            "\nrunning 2 tests\ntest a ... ok\ntest hangs has been running for over 60 seconds\n\
             xtask ended the running program after silence of 10 min 00 s\n",
        );
        let [failure] = results.failures.as_slice() else { panic!("{:?}", results.failures) };
        assert_eq!(failure.name, WHOLE_PROGRAM);
        assert_eq!(failure.message[0], "still running: hangs");
        assert!(failure.message.iter().any(|line| line.starts_with(SILENCE_ENDED)), "{:?}", failure.message);
    }

    #[test]
    fn the_time_of_a_test_begins_when_the_one_before_it_ends() {
        let seconds = Duration::from_secs;
        // "a" and "b" start together; "c" starts when "b" ends after 2 s, "d" when "a" ends after 5 s.
        let results =
            [("b", 2), ("a", 5), ("c", 6), ("d", 9)].map(|(name, end)| (name.to_owned(), seconds(end)));
        let times = derive_times(&results, 2);
        let expected =
            [("b", 2), ("a", 5), ("c", 4), ("d", 4)].map(|(name, time)| (name.to_owned(), seconds(time)));
        assert_eq!(times, expected);
    }
}
