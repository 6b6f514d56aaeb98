//! Installs Debian packages if that is possible without interaction: as root, with apt-get.

use anyhow::{Result, bail};

use crate::paths::{Paths, find_program};
use crate::step;

/// Installs a package, or fails with the command that does.
///
/// # Errors
/// When this process is not root, apt-get is missing, or apt-get fails.
pub fn install(paths: &Paths, what: &str, package: &str) -> Result<()> {
    let how = format!(
        "{what} is missing: install it (Debian and Ubuntu: `sudo apt-get install {package}`) and run this again"
    );
    if find_program("apt-get").is_none() || !is_root(paths) {
        bail!("{how}");
    }
    let apt = |args: &[&str]| {
        let mut command = paths.command("apt-get");
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let get = ["install", "--yes", "--no-install-recommends", package];
    // Package lists are updated only after a failure: they are empty in a new image, but mostly usable elsewhere.
    let first = step::run(paths, &format!("install {package}"), &mut apt(&get));
    if first.is_err() {
        step::run(paths, "package lists", &mut apt(&["update"]))?;
        step::run(paths, &format!("install {package}"), &mut apt(&get))?;
    }
    Ok(())
}

/// Whether this process may install packages and change users.
pub fn is_root(paths: &Paths) -> bool {
    paths.command("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
