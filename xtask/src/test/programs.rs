//! The test programs of the workspace: built by cargo, run several at a time.
//!
//! Cargo runs one test program after the other. Those that start real control planes wait for most of their time, so two
//! programs side by side take little longer than one.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use super::program_output::{ProgramOutput, TestResults};
use crate::paths::Paths;
use crate::step::{self, StepOptions, StepOutput};

/// A test program without a line of output for this long hangs and is ended. Single tests take up to two minutes on an idle
/// machine.
const SILENCE_LIMIT: Duration = Duration::from_mins(10);
/// Programs that run at the same time.
const LANES: usize = 2;
/// The programs that take longest, which begin first: otherwise one of them runs alone at the end.
const FIRST: [&str; 7] = [
    "server/tests/fleet/main.rs",
    "crates/engine/tests/agreement/main.rs",
    "server/tests/api/main.rs",
    "crates/store/src/lib.rs",
    "crates/cli/tests/demo/main.rs",
    "crates/agent/tests/real/main.rs",
    "server/tests/agents/main.rs",
];
/// Programs without another one beside them: they measure the memory of a process, or count what happens under random faults.
const ALONE: [&str; 2] = ["server/tests/memory/main.rs", "server/tests/chaos.rs"];

/// A test program.
#[derive(Debug, Clone, PartialEq)]
pub struct TestProgram {
    /// The path of its source in the repository: `server/tests/fleet/main.rs`; unit tests are in `crates/store/src/lib.rs`.
    pub name: String,
    executable: PathBuf,
    /// The folder of its package, in which cargo runs it.
    folder: PathBuf,
}

/// What a program reported and printed.
pub struct FinishedProgram {
    /// The path of its source.
    pub name: String,
    /// The results of its tests.
    pub results: TestResults,
    /// All lines.
    pub text: String,
    /// Whether all of its tests passed.
    pub is_success: bool,
}

/// A line of `cargo test --no-run --message-format=json`, as far as it is read.
/// <https://doc.rust-lang.org/cargo/reference/external-tools.html#artifact-messages>
#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<CargoTarget>,
    profile: Option<CargoProfile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct CargoTarget {
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct CargoProfile {
    test: bool,
}

impl TestProgram {
    /// Builds the tests with this `cargo test` command and lists their programs.
    ///
    /// # Errors
    /// When they cannot be compiled.
    pub fn build_all(paths: &Paths, cargo: &mut Command) -> Result<Vec<Self>> {
        cargo.args(["--no-run", "--message-format=json-render-diagnostics"]);
        let output = step::run(paths, "test programs", cargo)?;
        let programs: Vec<Self> =
            output.lines().filter_map(|line| parse_message(&paths.root, line)).collect();
        ensure!(!programs.is_empty(), "cargo has built no test program");
        Ok(programs)
    }

    /// The name without what all names have: `server fleet`, `store`.
    pub fn short_name(&self) -> String {
        let words = self
            .name
            .split('/')
            .filter(|word| !matches!(*word, "crates" | "src" | "tests" | "lib.rs" | "main.rs"));
        words.map(|word| word.trim_end_matches(".rs")).collect::<Vec<_>>().join(" ")
    }
}

/// Starts test programs.
pub struct TestRunner<'a> {
    pub paths: &'a Paths,
    /// Environment variables that the tests read.
    pub variables: &'a [(&'static str, OsString)],
}

impl TestRunner<'_> {
    /// Runs a program as one step, `threads` tests at a time: these tests, or all if none is named.
    ///
    /// # Errors
    /// When it cannot be started. Failed tests are in the result.
    pub fn run(
        &self,
        step: &str,
        program: &TestProgram,
        threads: usize,
        tests: &[&str],
    ) -> Result<FinishedProgram> {
        let mut command = self.paths.command(&program.executable);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        // As cargo starts it.
        command.env("CARGO_MANIFEST_DIR", &program.folder).current_dir(&program.folder);
        command.args(tests).arg(format!("--test-threads={threads}"));
        if !tests.is_empty() {
            command.arg("--exact");
        }
        let mut output = ProgramOutput::new(&program.name, threads);
        let mut on_line = |line: &str| output.read_line(line, Instant::now());
        let options = StepOptions { silence_limit: Some(SILENCE_LIMIT), on_line: Some(&mut on_line) };
        let StepOutput { text, status, .. } = step::run_observed(self.paths, step, &mut command, options)?;
        let is_success = status.success();
        let results = output.finish(is_success);
        Ok(FinishedProgram { name: program.name.clone(), results, text, is_success })
    }

    /// Runs all programs, `threads` tests of each at a time.
    ///
    /// # Errors
    /// When one cannot be started. Failed tests are in the result.
    pub fn run_all(&self, programs: Vec<TestProgram>, threads: usize) -> Result<Vec<FinishedProgram>> {
        let (beside, alone) = arrange(programs)?;
        let run = |program: &TestProgram| {
            self.run(&format!("tests of {}", program.short_name()), program, threads, &[])
        };
        let waiting = Mutex::new(beside);
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let run_lane = || {
            let mut finished = Vec::new();
            while let Some(program) = next() {
                finished.push(run(&program)?);
            }
            Ok(finished)
        };
        let lanes: Result<Vec<Vec<FinishedProgram>>> = thread::scope(|scope| {
            let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(run_lane)).collect();
            let joined = lanes.into_iter().map(|lane| lane.join());
            joined.map(|lane| lane.unwrap_or_else(|_| bail!("a run of test programs panicked"))).collect()
        });
        let mut finished: Vec<FinishedProgram> = lanes?.into_iter().flatten().collect();
        for program in &alone {
            finished.push(run(program)?);
        }
        Ok(finished)
    }
}

/// The test program that a message of cargo names.
fn parse_message(root: &Path, line: &str) -> Option<TestProgram> {
    let message: CargoMessage = serde_json::from_str(line).ok()?;
    let target = message.target.filter(|_| message.reason == "compiler-artifact")?;
    message.profile.filter(|profile| profile.test)?;
    let source = target.src_path.strip_prefix(root).unwrap_or(&target.src_path);
    Some(TestProgram {
        name: source.display().to_string(),
        executable: message.executable?,
        folder: message.manifest_path?.parent()?.to_owned(),
    })
}

/// The programs that run beside others, in the order of their starts, and those that run alone.
///
/// # Errors
/// When there is no program of a name that the order uses.
fn arrange(programs: Vec<TestProgram>) -> Result<(VecDeque<TestProgram>, Vec<TestProgram>)> {
    for name in FIRST.iter().chain(&ALONE) {
        ensure!(
            programs.iter().any(|program| program.name == *name),
            "there is no test program {name}: correct the order in xtask/src/test/programs.rs"
        );
    }
    let (alone, mut beside): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| ALONE.contains(&program.name.as_str()));
    beside.sort_by_key(|program| FIRST.iter().position(|name| *name == program.name).unwrap_or(FIRST.len()));
    Ok((beside.into(), alone))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARTIFACT: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/server#0.1.0","manifest_path":"/w/server/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"fleet","src_path":"/w/server/tests/fleet/main.rs","edition":"2024","doc":false,"doctest":false,"test":true},"profile":{"opt_level":"0","debuginfo":2,"test":true},"features":[],"executable":"/w/target/debug/deps/fleet-0123","fresh":true}"#;

    #[test]
    fn a_test_program_is_read_from_a_message_of_cargo() {
        let parse = |line: &str| parse_message(Path::new("/w"), line);
        let program = parse(ARTIFACT).unwrap();
        assert_eq!(program.name, "server/tests/fleet/main.rs");
        assert_eq!(program.folder, Path::new("/w/server"));
        for other in [
            ARTIFACT.replace(r#""test":true},"features""#, r#""test":false},"features""#),
            ARTIFACT.replace("compiler-artifact", "build-script-executed"),
            "   Compiling domain v0.1.0".to_owned(),
        ] {
            assert_eq!(parse(&other), None);
        }
    }

    fn program(name: &str) -> TestProgram {
        TestProgram { name: name.to_owned(), executable: PathBuf::new(), folder: PathBuf::new() }
    }

    #[test]
    fn steps_are_named_by_package_and_target() {
        let names = ["server/tests/fleet/main.rs", "crates/store/src/lib.rs", "crates/cli/tests/offline.rs"];
        assert_eq!(names.map(|name| program(name).short_name()), ["server fleet", "store", "cli offline"]);
    }

    #[test]
    fn the_longest_programs_begin_first_and_measuring_ones_run_alone() {
        const OTHER: &str = "crates/cli/tests/offline.rs";
        let all: Vec<TestProgram> =
            [OTHER].iter().chain(&ALONE).chain(&FIRST).map(|name| program(name)).collect();
        let (beside, alone) = arrange(all.clone()).unwrap();
        assert!(beside.iter().map(|one| one.name.as_str()).eq(FIRST.into_iter().chain([OTHER])));
        assert!(alone.iter().map(|one| one.name.as_str()).eq(ALONE));
        let without = all.into_iter().filter(|one| one.name != ALONE[0]).collect();
        let error = arrange(without).unwrap_err().to_string();
        assert!(error.contains("there is no test program server/tests/memory/main.rs"), "{error}");
    }
}
