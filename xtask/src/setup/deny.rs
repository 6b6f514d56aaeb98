//! cargo-deny, which checks the dependencies, their licences and their sources.
//!
//! Built once from source into the user's cache folder, which is independent of `target/` and shared by all checkouts.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::Result;

use crate::paths::Paths;
use crate::step;

const VERSION: &str = "0.20.2";

/// The program; builds it if it is not in the cache.
///
/// # Errors
/// When it cannot be fetched or built.
pub fn ensure(paths: &Paths) -> Result<PathBuf> {
    let cache = super::cache_folder()?.join(format!("cargo-deny-{VERSION}"));
    let program = cache.join("bin/cargo-deny");
    fs::create_dir_all(&cache)?;
    // Two checkouts may build it concurrently.
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    if !program.is_file() {
        let mut cargo = paths.cargo();
        // The debug profile compiles in a quarter of the time, and a check takes four seconds with it.
        cargo.args([
            "install",
            "cargo-deny",
            "--version",
            VERSION,
            "--locked",
            "--debug",
            "--no-default-features",
        ]);
        cargo.arg("--root").arg(&cache).arg("--target-dir").arg(cache.join("target"));
        step::run(paths, "cargo-deny", &mut cargo)?;
        fs::remove_dir_all(cache.join("target"))?;
    }
    lock.unlock()?;
    Ok(program)
}
