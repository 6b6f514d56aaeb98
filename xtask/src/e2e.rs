//! Browser scenarios: the demo server, a real Chromium, Playwright.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::paths::Paths;
use crate::postgres::PostgresServer;
use crate::step::StepOptions;
use crate::test::{TestFailure, TestRun, parse_report, passed_again};
use crate::{postgres, program, setup, site, step};

/// A run of Playwright without a line of output for this long hangs and is ended; a scenario has its own timeout.
const SILENCE_LIMIT: Duration = Duration::from_mins(10);

/// `cargo xtask e2e`: the output of Playwright is not redirected to a log.
pub fn run(paths: &Paths, args: &[String]) -> Result<()> {
    build_programs(paths)?;
    let database = start_database(paths)?;
    let mut playwright = playwright_command(paths, &database, "e2e-data")?;
    let status = playwright.args(args).status()?;
    ensure!(status.success(), "scenarios failed; see `cargo xtask e2e --ui` or end2end/playwright-report");
    Ok(())
}

/// Runs the scenarios as a step of `cargo xtask test`.
///
/// # Errors
/// When Playwright fails without a failed scenario; failed scenarios are in the result.
pub fn run_as_step(paths: &Paths) -> Result<TestRun> {
    build_programs(paths)?;
    let database = start_database(paths)?;
    run_scenarios(paths, "scenarios", playwright_command(paths, &database, "e2e-data")?)
}

/// Repeats the files of failed scenarios, one at a time, each on a new demo: scenarios of a file change the fleet that the next
/// ones read. For each failure, whether it passed.
pub fn repeat(paths: &Paths, failures: &[TestFailure]) -> Result<Vec<bool>> {
    let database = start_database(paths)?;
    let mut playwright = playwright_command(paths, &database, "e2e-data-second-run")?;
    let files: BTreeSet<&str> = failures.iter().map(|failure| failure.program.as_str()).collect();
    playwright.args(["--workers=1", "--output=test-results-second-run"]).args(files);
    Ok(passed_again(failures, &run_scenarios(paths, "second run of scenarios", playwright)?))
}

fn run_scenarios(paths: &Paths, step: &str, mut playwright: Command) -> Result<TestRun> {
    let report = paths.xtask_folder().join(format!("{}.json", step.replace(' ', "-")));
    // A report of an earlier run is no result.
    let _ = fs::remove_file(&report);
    playwright.arg("--reporter=line,json").env("PLAYWRIGHT_JSON_OUTPUT_FILE", &report);
    let options = StepOptions { silence_limit: Some(SILENCE_LIMIT), on_line: None };
    let output = step::run_observed(paths, step, &mut playwright, options)?;
    let run = match fs::read_to_string(&report) {
        Ok(text) => parse_report(&text, output.log.clone())?,
        Err(_) => TestRun::default(),
    };
    if run.times.is_empty() || (!output.status.success() && run.failures.is_empty()) {
        step::print_failed_output(&output.text);
        bail!("{step} failed ({}); the complete output is in {}", output.status, output.log.display());
    }
    Ok(run)
}

/// The server, an agent, and the program that starts real control planes.
fn build_programs(paths: &Paths) -> Result<()> {
    program::build(paths, "server", &["server", "cli", "agent", "testkit"])
}

/// The database of the scenarios in which it fails; the demo's is SQLite.
fn start_database(paths: &Paths) -> Result<PostgresServer> {
    postgres::start(paths, &setup::postgres::ensure(paths)?)
}

/// The command with everything that scenarios need; `data` is the folder of their servers below the target folder.
fn playwright_command(paths: &Paths, database: &PostgresServer, data: &str) -> Result<Command> {
    setup::npm::ensure(paths, "end2end")?;
    let chromium = setup::chromium::ensure(paths)?;
    site::build(paths)?;
    // Deleted before a run, not after it, so that the data of a failed scenario can be inspected.
    let data = paths.target.join(data);
    let _ = fs::remove_dir_all(&data);
    let home = paths.root.join("end2end");
    let mut playwright = paths.command(home.join("node_modules/.bin/playwright"));
    playwright.arg("test").current_dir(&home);
    playwright.env("FLOTILLA_CHROMIUM", chromium);
    playwright.env("FLOTILLA_SERVER", paths.binary("flotilla-server", false));
    playwright.env("FLOTILLA_ASSETS", paths.site());
    playwright.env("FLOTILLA_DATA", data);
    playwright.env("FLOTILLA_TEST_POSTGRES", &database.url);
    playwright.envs(setup::renderer::ensure_all(paths)?);
    playwright.env("FLOTILLA_KUBE_BIN", setup::kube::ensure(paths)?);
    playwright.env("FLOTILLA_AGENT", paths.binary("flotilla-agent", false));
    playwright.env("FLOTILLA_CONTROL_PLANES", paths.binary("control-planes", false));
    Ok(playwright)
}
