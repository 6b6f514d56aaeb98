//! The browser of the scenarios: the system's Chromium, never one that npm brings.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::paths::{Paths, which};
use crate::setup::debian;

/// `FLOTILLA_CHROMIUM`, or the first Chromium or Chrome of this machine; installed where that is possible.
pub fn ensure(paths: &Paths) -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    debian::install(paths, "Chromium", "chromium")?;
    find().context("Chromium was installed but is not in PATH: set FLOTILLA_CHROMIUM to its file")
}

fn find() -> Option<PathBuf> {
    if let Some(given) = env::var_os("FLOTILLA_CHROMIUM") {
        return Some(PathBuf::from(given));
    }
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
        .iter()
        .find_map(|name| which(name))
}
