//! The WASM target of the compiler, verified by linking a small module, because an installed target may be incomplete.

use std::fs;

use anyhow::{Result, bail};

use crate::paths::{Paths, find_program, program_version};
use crate::step;

const TARGET: &str = "wasm32-unknown-unknown";

/// Adds the target through rustup if it is missing.
///
/// # Errors
/// When it cannot be added; the message says what to install.
pub fn ensure(paths: &Paths) -> Result<()> {
    let proof = paths.xtask_folder().join("wasm-target.ok");
    let compiler = program_version("rustc".as_ref(), "--version").unwrap_or_default();
    if fs::read_to_string(&proof).is_ok_and(|old| old == compiler) && can_link(paths) {
        return Ok(());
    }
    if !can_link(paths) {
        if find_program("rustup").is_none() {
            bail!(
                "the Rust target {TARGET} is missing and there is no rustup to add it: install Rust from rustup.rs, or a \
                 package of your system that contains the target's standard library"
            );
        }
        step::run(paths, "WASM target", paths.command("rustup").args(["target", "add", TARGET]))?;
        if !can_link(paths) {
            bail!(
                "rustc cannot link for {TARGET} though rustup has added it: try `rustup toolchain install stable`"
            );
        }
    }
    fs::create_dir_all(paths.xtask_folder())?;
    fs::write(proof, compiler)?;
    Ok(())
}

/// Whether a library with a function that allocates can be linked.
fn can_link(paths: &Paths) -> bool {
    let folder = paths.xtask_folder().join("wasm-probe");
    if fs::create_dir_all(&folder).is_err() {
        return false;
    }
    let source = folder.join("probe.rs");
    let text = "#[unsafe(no_mangle)]\npub extern \"C\" fn probe(n: usize) -> usize { vec![1u8; n].len() }\n";
    if fs::write(&source, text).is_err() {
        return false;
    }
    let mut rustc = paths.command("rustc");
    rustc
        .args(["--edition", "2024", "--crate-type", "cdylib", "--target", TARGET, "--out-dir"])
        .arg(&folder)
        .arg(&source);
    rustc.output().is_ok_and(|output| output.status.success())
}
