//! The compiler's WASM target, proven by linking a tiny module: a target that is listed is not always complete.

use std::fs;

use anyhow::{Result, bail};

use crate::paths::{Paths, version_of, which};
use crate::step;

const TARGET: &str = "wasm32-unknown-unknown";

/// Adds the target through rustup if it is missing.
///
/// # Errors
/// When it cannot be added; the sentence says what to install.
pub fn ensure(paths: &Paths) -> Result<()> {
    let proof = paths.own().join("wasm-target.ok");
    let compiler = version_of("rustc".as_ref(), "--version").unwrap_or_default();
    if fs::read_to_string(&proof).is_ok_and(|old| old == compiler) && links(paths) {
        return Ok(());
    }
    if !links(paths) {
        if which("rustup").is_none() {
            bail!(
                "the Rust target {TARGET} is missing and there is no rustup to add it: install Rust from rustup.rs, or a \
                 package of your system that holds the target's standard library"
            );
        }
        step::run(paths, "WASM target", paths.tool("rustup").args(["target", "add", TARGET]))?;
        if !links(paths) {
            bail!(
                "rustc cannot link for {TARGET} though rustup has added it: try `rustup toolchain install stable`"
            );
        }
    }
    fs::create_dir_all(paths.own())?;
    fs::write(proof, compiler)?;
    Ok(())
}

/// A module without the standard library's start-up code, but with a function that needs `core` and `alloc`.
fn links(paths: &Paths) -> bool {
    let folder = paths.own().join("wasm-probe");
    if fs::create_dir_all(&folder).is_err() {
        return false;
    }
    let source = folder.join("probe.rs");
    let text = "#[unsafe(no_mangle)]\npub extern \"C\" fn probe(n: usize) -> usize { vec![1u8; n].len() }\n";
    if fs::write(&source, text).is_err() {
        return false;
    }
    let mut rustc = paths.tool("rustc");
    rustc
        .args(["--edition", "2024", "--crate-type", "cdylib", "--target", TARGET, "--out-dir"])
        .arg(&folder)
        .arg(&source);
    rustc.output().is_ok_and(|output| output.status.success())
}
