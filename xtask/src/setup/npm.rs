//! npm packages of `style/` and `end2end/`, exactly as their lock files say.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, version_of, which};
use crate::step;

/// The oldest Node.js that the tools run on.
const NODE: u32 = 20;

/// Runs `npm ci` if the lock file is not the one that was last installed.
pub fn ensure(paths: &Paths, folder: &str) -> Result<()> {
    let home = paths.root.join(folder);
    let lock = home.join("package-lock.json");
    let lock = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let stamp = home.join("node_modules/.flotilla-installed");
    node()?;
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let mut npm = paths.tool("npm");
    // Browsers come from the system; npm must not fetch one behind our back.
    npm.args(["ci", "--no-audit", "--no-fund"])
        .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
        .current_dir(&home);
    step::run(paths, &format!("npm packages of {folder}"), &mut npm)?;
    fs::write(stamp, lock)?;
    Ok(())
}

fn node() -> Result<()> {
    let how = format!(
        "install Node.js {NODE} or newer with npm (nodejs.org, or Debian: `sudo apt-get install nodejs npm`)"
    );
    let (Some(node), Some(_)) = (which("node"), which("npm")) else { bail!("node or npm is missing: {how}") };
    let version = version_of(&node, "--version").unwrap_or_default();
    let major: u32 = version.trim_start_matches('v').split('.').next().unwrap_or("").parse().unwrap_or(0);
    if major < NODE {
        bail!("Node.js is {version}: {how}");
    }
    Ok(())
}
