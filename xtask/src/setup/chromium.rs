//! The browser of the scenarios: the Chromium of the system, never one installed by npm.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::paths::{Paths, find_program};
use crate::setup::debian;

/// `FLOTILLA_CHROMIUM`, or the first Chromium or Chrome in `PATH`; installed if possible.
pub fn ensure(paths: &Paths) -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    debian::install(paths, "Chromium", "chromium")?;
    find().context("Chromium was installed but is not in PATH: set FLOTILLA_CHROMIUM to its file")
}

fn find() -> Option<PathBuf> {
    if let Some(file) = env::var_os("FLOTILLA_CHROMIUM") {
        return Some(PathBuf::from(file));
    }
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
        .iter()
        .find_map(|name| find_program(name))
}
