//! Finds or installs what a command needs. What cannot be installed is named in one sentence, with the way to get it.

pub mod chromium;
pub mod debian;
pub mod kube;
pub mod npm;
pub mod postgres;
pub mod wasm;

use anyhow::{Result, bail};

use crate::paths::{Paths, which};
use crate::step;

/// `cargo xtask setup`.
pub fn run(paths: &Paths, tests: bool, kube: bool) -> Result<()> {
    wasm::ensure(paths)?;
    npm::ensure(paths, "style")?;
    if tests {
        self::tests(paths)?;
    }
    if kube {
        kube::ensure(paths)?;
    }
    step::done("setup", "all there");
    Ok(())
}

/// What `cargo xtask test` needs on top.
pub fn tests(paths: &Paths) -> Result<()> {
    components(paths)?;
    npm::ensure(paths, "end2end")?;
    chromium::ensure(paths)?;
    postgres::ensure(paths)?;
    Ok(())
}

/// rustup's minimal profile comes without these two.
fn components(paths: &Paths) -> Result<()> {
    for (name, command) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let there = || {
            paths.cargo().args([command, "--version"]).output().is_ok_and(|output| output.status.success())
        };
        if there() {
            continue;
        }
        if which("rustup").is_none() {
            bail!(
                "{name} is missing: install the package of your system that holds `cargo {command}` and run this again"
            );
        }
        step::run(paths, name, paths.tool("rustup").args(["component", "add", name]))?;
    }
    Ok(())
}
