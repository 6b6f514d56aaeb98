//! The server programs of PostgreSQL, for the temporary server of the tests.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::paths::{Paths, find_program};
use crate::setup::debian;

/// The folder with `initdb` and `postgres`; installed if possible.
pub fn ensure(paths: &Paths) -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    debian::install(paths, "PostgreSQL's server", "postgresql")?;
    find().context("PostgreSQL was installed but initdb is neither in PATH nor in /usr/lib/postgresql/*/bin")
}

/// The installed programs. Debian has them outside `PATH`, one folder per major version; the newest version is selected.
pub fn find() -> Option<PathBuf> {
    let mut folders: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    folders.sort();
    let in_path = find_program("initdb").and_then(|file| Some(file.parent()?.to_owned()));
    let complete = |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    folders.into_iter().rev().map(|(_, folder)| folder).chain(in_path).find(complete)
}
