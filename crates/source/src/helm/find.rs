//! Finds the `helm` program and checks its version.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use semver::Version;
use tokio::process::Command;

use super::{Helm, HelmProgram};
use crate::sandbox::Sandbox;

/// The oldest version that is accepted: security support of Helm 3 ended in November 2026.
pub const MIN_VERSION: Version = Version::new(4, 2, 4);
/// How long the program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Why charts can't be rendered on this server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HelmUnavailable {
    /// What is missing and what to do.
    pub message: String,
}

fn unavailable(message: impl Into<String>) -> HelmUnavailable {
    HelmUnavailable { message: message.into() }
}

impl Helm {
    /// The program at `setting`, or the first `helm` in the folders of PATH, run in this sandbox.
    ///
    /// # Errors
    /// There is no such program, or it is too old.
    pub async fn find(setting: Option<&Path>, sandbox: Sandbox) -> Result<Self, HelmUnavailable> {
        let program = match setting {
            Some(path) => path.to_owned(),
            None => find_in_path().ok_or_else(|| {
                unavailable(format!(
                    "There is no helm on PATH. Install helm {MIN_VERSION} or newer, or set --helm."
                ))
            })?,
        };
        // Landlock rules are for the file itself, and a link may point elsewhere.
        let program = std::fs::canonicalize(&program)
            .map_err(|error| unavailable(format!("{} can't be used as helm: {error}.", program.display())))?;
        let version = read_version(&program).await?;
        Ok(Self(Arc::new(HelmProgram { program, version, sandbox })))
    }
}

fn find_in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("helm")).find(|file| file.is_file())
}

/// The version that the program prints, if it is new enough.
async fn read_version(program: &Path) -> Result<String, HelmUnavailable> {
    let failed = |why: String| unavailable(format!("{} is no usable helm: {why}.", program.display()));
    let run = Command::new(program)
        .args(["version", "--short"])
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(VERSION_TIMEOUT, run)
        .await
        .map_err(|_| failed(format!("it did not print its version within {} s", VERSION_TIMEOUT.as_secs())))?
        .map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let printed = text.trim().split('+').next().unwrap_or_default();
    let version = Version::parse(printed.trim_start_matches('v'))
        .map_err(|_| failed(format!("{:?} is no version", text.trim())))?;
    if version < MIN_VERSION {
        return Err(failed(format!("it has version {version}; {MIN_VERSION} or newer is needed")));
    }
    Ok(format!("v{version}"))
}
