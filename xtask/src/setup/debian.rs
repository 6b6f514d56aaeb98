//! Installs Debian packages when that is possible without asking: as root, with apt-get.

use anyhow::{Result, bail};

use crate::paths::{Paths, which};
use crate::step;

/// Installs a package, or says in one sentence how a person can.
///
/// # Errors
/// When this is not root on a system with apt-get, or apt-get fails.
pub fn install(paths: &Paths, what: &str, package: &str) -> Result<()> {
    let how = format!(
        "{what} is missing: install it (Debian and Ubuntu: `sudo apt-get install {package}`) and run this again"
    );
    if which("apt-get").is_none() || !is_root(paths) {
        bail!("{how}");
    }
    let apt = |args: &[&str]| {
        let mut command = paths.tool("apt-get");
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let get = ["install", "--yes", "--no-install-recommends", package];
    // The lists of a fresh image are empty or old; of a machine in use they are mostly good enough.
    let first = step::run(paths, &format!("install {package}"), &mut apt(&get));
    if first.is_err() {
        step::run(paths, "package lists", &mut apt(&["update"]))?;
        step::run(paths, &format!("install {package}"), &mut apt(&get))?;
    }
    Ok(())
}

/// Whether this process may install packages and change users.
pub fn is_root(paths: &Paths) -> bool {
    paths.tool("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
