//! Browser scenarios: the demo server as a person starts it, a real Chromium, Playwright.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::paths::Paths;
use crate::{demo, setup, site, step};

/// `cargo xtask e2e`: Playwright's own output goes straight to the terminal.
pub fn run(paths: &Paths, args: &[String]) -> Result<()> {
    demo::server(paths, false)?;
    let mut playwright = prepare(paths)?;
    let status = playwright.args(args).status()?;
    ensure!(
        status.success(),
        "scenarios failed; `cargo xtask e2e --ui` or end2end/playwright-report shows where"
    );
    Ok(())
}

/// The same as one step of `cargo xtask test`.
pub fn as_step(paths: &Paths) -> Result<()> {
    demo::server(paths, false)?;
    let mut playwright = prepare(paths)?;
    step::run(paths, "scenarios", playwright.arg("--reporter=line")).map(drop)
}

fn prepare(paths: &Paths) -> Result<Command> {
    setup::npm::ensure(paths, "end2end")?;
    let chromium = setup::chromium::ensure(paths)?;
    site::build(paths)?;
    // Fresh for every run, and still there to look at when a scenario failed.
    let data = paths.target.join("e2e-data");
    let _ = fs::remove_dir_all(&data);
    let home = paths.root.join("end2end");
    let mut playwright = paths.tool(home.join("node_modules/.bin/playwright"));
    playwright.arg("test").current_dir(&home);
    playwright.env("FLOTILLA_CHROMIUM", chromium);
    playwright.env("FLOTILLA_SERVER", paths.bin("flotilla-server", false));
    playwright.env("FLOTILLA_SITE", paths.site());
    playwright.env("FLOTILLA_DATA", data);
    Ok(playwright)
}
