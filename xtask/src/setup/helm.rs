//! Helm, which renders charts.
//!
//! Built once from source with Go into the user's cache folder, which is independent of `target/` and shared by all checkouts.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::paths::{Paths, find_program, program_version};
use crate::step;

const VERSION: &str = "v4.2.4";

/// The program; builds it if it is not in the cache.
///
/// # Errors
/// When Go is missing, or the module cannot be fetched or built.
pub fn ensure(paths: &Paths) -> Result<PathBuf> {
    let cache = super::cache_folder()?.join(format!("helm-{VERSION}"));
    let program = cache.join("helm");
    fs::create_dir_all(&cache)?;
    // Two checkouts may build it concurrently.
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    if !program.is_file() {
        if find_program("go").is_none() {
            bail!(
                "helm must be built, but Go is missing: install it (go.dev/dl, or Debian: `sudo apt-get install golang`), or put helm {VERSION} or newer on PATH"
            );
        }
        let mut go = paths.command("go");
        go.args(["install", "-p=2", "-trimpath"]);
        go.arg(format!("-ldflags=-s -w -X helm.sh/helm/v4/internal/version.version={VERSION}"));
        go.arg(format!("helm.sh/helm/v4/cmd/helm@{VERSION}"));
        go.env("GOBIN", &cache).env("CGO_ENABLED", "0");
        step::run(paths, "helm", &mut go)?;
    }
    lock.unlock()?;
    Ok(program)
}

/// The program for the demo, where charts are optional: `None`, with a note, if it is not available. Then the server uses
/// the one on PATH, if its version is 4.
pub fn find_for_demo(paths: &Paths) -> Option<PathBuf> {
    let on_path = find_program("helm").and_then(|helm| program_version(&helm, "version"));
    if on_path.is_some_and(|version| version.contains("\"v4.")) {
        return None;
    }
    match ensure(paths) {
        Ok(program) => Some(program),
        Err(error) => {
            step::print_skipped("helm", &format!("charts can't be rendered: {error:#}"));
            None
        }
    }
}
