//! npm packages of `style/` and `end2end/`, in the versions of their lock files.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, find_program, program_version};
use crate::step;

/// Minimum major version of Node.js.
const MIN_NODE_VERSION: u32 = 20;

/// Runs `npm ci` if the lock file changed since the last installation.
pub fn ensure(paths: &Paths, folder: &str) -> Result<()> {
    let home = paths.root.join(folder);
    let lock = home.join("package-lock.json");
    let lock = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let stamp = home.join("node_modules/.flotilla-installed");
    check_node()?;
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let mut npm = paths.command("npm");
    // The browser comes from the system; npm must not download one.
    npm.args(["ci", "--no-audit", "--no-fund"])
        .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
        .current_dir(&home);
    step::run(paths, &format!("npm packages of {folder}"), &mut npm)?;
    fs::write(stamp, lock)?;
    Ok(())
}

fn check_node() -> Result<()> {
    let how = format!(
        "install Node.js {MIN_NODE_VERSION} or newer with npm (nodejs.org, or Debian: `sudo apt-get install nodejs npm`)"
    );
    let (Some(node), Some(_)) = (find_program("node"), find_program("npm")) else {
        bail!("node or npm is missing: {how}")
    };
    let version = program_version(&node, "--version").unwrap_or_default();
    let major: u32 = version.trim_start_matches('v').split('.').next().unwrap_or("").parse().unwrap_or(0);
    if major < MIN_NODE_VERSION {
        bail!("Node.js is {version}: {how}");
    }
    Ok(())
}
