//! `cargo xtask demo`: builds everything, then replaces itself by the server, which prints the ready line.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::DemoOptions;
use crate::paths::Paths;
use crate::{program, setup, site, step};

/// The environment variables with the programs that render.
pub type Renderers = Vec<(&'static str, PathBuf)>;

/// Builds the console and the programs, then starts the server.
pub fn run(paths: &Paths, args: &DemoOptions) -> Result<()> {
    site::build(paths)?;
    build_server(paths, args.release)?;
    let renderers = setup::renderer::find_or_build_all(paths);
    exec(&mut server_command(paths, args, &renderers))
}

/// Builds the server and the command line.
pub fn build_server(paths: &Paths, release: bool) -> Result<()> {
    if !release {
        return program::build(paths, "server", &["server", "cli"]);
    }
    let mut cargo = paths.cargo();
    cargo.args(["build", "--release", "-p", "server", "-p", "cli", "--bins"]);
    step::run(paths, "server", &mut cargo).map(drop)
}

/// The command that starts the demo server, with the programs that render charts and kustomizations.
pub fn server_command(paths: &Paths, args: &DemoOptions, renderers: &Renderers) -> Command {
    let mut server = paths.command(paths.binary("flotilla-server", args.release));
    let data = args.data.clone().map_or_else(|| paths.root.join(".flotilla"), resolve_from_cwd);
    server
        .args(["demo", "--port", &args.port.to_string(), "--data"])
        .arg(data)
        .arg("--assets")
        .arg(paths.site());
    server.envs(renderers.iter().map(|(variable, program)| (variable, program)));
    server
}

/// Resolves a path of the command line against the caller's working directory, because the server runs in the repository.
fn resolve_from_cwd(folder: PathBuf) -> PathBuf {
    std::env::current_dir().map_or(folder.clone(), |here| here.join(folder))
}

#[cfg(unix)]
fn exec(command: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt;
    Err(command.exec()).with_context(|| format!("cannot start {:?}", command.get_program()))
}

#[cfg(not(unix))]
fn exec(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    anyhow::ensure!(status.success(), "the server ended with {status}");
    Ok(())
}
