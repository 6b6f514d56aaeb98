//! `cargo xtask bench NAME`: hands over to the benchmark program, built for release.

use anyhow::{Result, ensure};

use crate::paths::Paths;
use crate::{demo, postgres, setup, site};

/// Its output is the result, so it goes straight to the terminal.
pub fn run(paths: &Paths, name: &str, args: &[String]) -> Result<()> {
    if name == "page" {
        return page(paths);
    }
    site::build(paths)?;
    let mut cargo = paths.cargo();
    cargo.args([
        "run",
        "--release",
        "-p",
        "server",
        "--features",
        "bench",
        "--bin",
        "flotilla-bench",
        "--",
        name,
    ]);
    cargo.args(args);
    cargo.env("FLOTILLA_SITE", paths.site());
    let status = cargo.status()?;
    ensure!(status.success(), "the benchmark {name} failed ({status})");
    Ok(())
}

/// The console's first load in a real browser: bytes and times.
fn page(paths: &Paths) -> Result<()> {
    setup::npm::ensure(paths, "end2end")?;
    let chromium = setup::chromium::ensure(paths)?;
    site::build(paths)?;
    demo::server(paths, true)?;
    let mut node = paths.tool("node");
    node.arg("bench/page.mjs").current_dir(paths.root.join("end2end"));
    node.env("FLOTILLA_CHROMIUM", chromium);
    node.env("FLOTILLA_SERVER", paths.bin("flotilla-server", true));
    node.env("FLOTILLA_SITE", paths.site());
    node.env("FLOTILLA_PORT", postgres::free_port()?.to_string());
    let status = node.status()?;
    ensure!(status.success(), "the benchmark page failed ({status})");
    Ok(())
}
