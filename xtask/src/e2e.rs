//! Browser scenarios: the demo server, a real Chromium, Playwright.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::paths::Paths;
use crate::postgres::PostgresServer;
use crate::{postgres, program, setup, site, step};

/// `cargo xtask e2e`: the output of Playwright is not redirected to a log.
pub fn run(paths: &Paths, args: &[String]) -> Result<()> {
    build_programs(paths)?;
    let database = start_database(paths)?;
    let mut playwright = playwright_command(paths, &database)?;
    let status = playwright.args(args).status()?;
    ensure!(status.success(), "scenarios failed; see `cargo xtask e2e --ui` or end2end/playwright-report");
    Ok(())
}

/// Runs the scenarios as a step of `cargo xtask test`.
pub fn run_as_step(paths: &Paths) -> Result<()> {
    build_programs(paths)?;
    let database = start_database(paths)?;
    let mut playwright = playwright_command(paths, &database)?;
    step::run(paths, "scenarios", playwright.arg("--reporter=line")).map(drop)
}

/// The server, an agent, and the program that starts real control planes.
fn build_programs(paths: &Paths) -> Result<()> {
    program::build(paths, "server", &["server", "cli", "agent", "testkit"])
}

/// The database of the scenarios in which it fails; the demo's is SQLite.
fn start_database(paths: &Paths) -> Result<PostgresServer> {
    postgres::start(paths, &setup::postgres::ensure(paths)?)
}

fn playwright_command(paths: &Paths, database: &PostgresServer) -> Result<Command> {
    setup::npm::ensure(paths, "end2end")?;
    let chromium = setup::chromium::ensure(paths)?;
    site::build(paths)?;
    // Deleted before a run, not after it, so that the data of a failed scenario can be inspected.
    let data = paths.target.join("e2e-data");
    let _ = fs::remove_dir_all(&data);
    let home = paths.root.join("end2end");
    let mut playwright = paths.command(home.join("node_modules/.bin/playwright"));
    playwright.arg("test").current_dir(&home);
    playwright.env("FLOTILLA_CHROMIUM", chromium);
    playwright.env("FLOTILLA_SERVER", paths.binary("flotilla-server", false));
    playwright.env("FLOTILLA_ASSETS", paths.site());
    playwright.env("FLOTILLA_DATA", data);
    playwright.env("FLOTILLA_TEST_POSTGRES", &database.url);
    setup::renderer::set_all(paths, &mut playwright)?;
    playwright.env("FLOTILLA_KUBE_BIN", setup::kube::ensure(paths)?);
    playwright.env("FLOTILLA_AGENT", paths.binary("flotilla-agent", false));
    playwright.env("FLOTILLA_CONTROL_PLANES", paths.binary("control-planes", false));
    Ok(playwright)
}
