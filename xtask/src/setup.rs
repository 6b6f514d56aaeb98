//! Finds or installs the tools of a command. If a tool cannot be installed, the error says how to get it.

pub mod chromium;
pub mod debian;
pub mod deny;
pub mod kube;
pub mod npm;
pub mod postgres;
pub mod renderer;
pub mod wasm;

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, find_program};
use crate::step;

/// `cargo xtask setup`.
pub fn run(paths: &Paths, tests: bool, kube: bool) -> Result<()> {
    wasm::ensure(paths)?;
    npm::ensure(paths, "style")?;
    if tests {
        self::ensure_test_tools(paths)?;
    } else {
        renderer::find_or_build_all(paths);
    }
    if kube {
        kube::ensure(paths)?;
    }
    step::print_done("setup", "complete");
    Ok(())
}

/// Finds or installs the additional tools of `cargo xtask test`.
pub fn ensure_test_tools(paths: &Paths) -> Result<()> {
    ensure_components(paths)?;
    npm::ensure(paths, "end2end")?;
    chromium::ensure(paths)?;
    postgres::ensure(paths)?;
    deny::ensure(paths)?;
    renderer::ensure_all(paths).map(drop)
}

/// Installs rustfmt and clippy, which the minimal profile of rustup lacks.
fn ensure_components(paths: &Paths) -> Result<()> {
    for (name, command) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let is_installed = || {
            paths.cargo().args([command, "--version"]).output().is_ok_and(|output| output.status.success())
        };
        if is_installed() {
            continue;
        }
        if find_program("rustup").is_none() {
            bail!(
                "{name} is missing: install the package of your system that holds `cargo {command}` and run this again"
            );
        }
        step::run(paths, name, paths.command("rustup").args(["component", "add", name]))?;
    }
    Ok(())
}

/// `$XDG_CACHE_HOME/flotilla`: tools that are built from source, shared by all checkouts.
fn cache_folder() -> Result<PathBuf> {
    let home = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home.or_else(|| Some(env::home_dir()?.join(".cache"))).context("there is no home folder")?;
    Ok(home.join("flotilla"))
}
