//! `cargo xtask demo`: builds all of it, then becomes the server. The server prints its own ready line.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::DemoArgs;
use crate::paths::Paths;
use crate::{program, site, step};

/// Builds, then starts.
pub fn run(paths: &Paths, args: &DemoArgs) -> Result<()> {
    site::build(paths)?;
    server(paths, args.release)?;
    become_it(&mut command(paths, args))
}

/// Server and command line tool.
pub fn server(paths: &Paths, release: bool) -> Result<()> {
    if !release {
        return program::build(paths, "server", &["server", "cli"]);
    }
    let mut cargo = paths.cargo();
    cargo.args(["build", "--release", "-p", "server", "-p", "cli", "--bins"]);
    step::run(paths, "server", &mut cargo).map(drop)
}

/// The demo server's command line.
pub fn command(paths: &Paths, args: &DemoArgs) -> Command {
    let mut server = paths.tool(paths.bin("flotilla-server", args.release));
    let data = args.data.clone().map_or_else(|| paths.root.join(".flotilla"), from_here);
    server
        .args(["demo", "--port", &args.port.to_string(), "--data"])
        .arg(data)
        .arg("--site")
        .arg(paths.site());
    server
}

/// The server runs in the repository; a folder on the command line was meant from where the person is.
fn from_here(folder: PathBuf) -> PathBuf {
    std::env::current_dir().map_or(folder.clone(), |here| here.join(folder))
}

#[cfg(unix)]
fn become_it(command: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt;
    Err(command.exec()).with_context(|| format!("cannot start {:?}", command.get_program()))
}

#[cfg(not(unix))]
fn become_it(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    anyhow::ensure!(status.success(), "the server ended with {status}");
    Ok(())
}
