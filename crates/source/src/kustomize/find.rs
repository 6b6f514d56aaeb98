//! Finds the `kustomize` program and checks its version.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use semver::Version;
use tokio::process::Command;

use super::{Kustomize, KustomizeProgram};
use crate::sandbox::Sandbox;

/// The oldest version that is accepted.
pub const MIN_VERSION: Version = Version::new(5, 4, 0);
/// How long the program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Why kustomizations can't be rendered on this server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KustomizeUnavailable {
    /// What is missing and what to do.
    pub message: String,
}

impl Kustomize {
    /// The program at `setting`, or the first `kustomize` in the folders of PATH, run in this sandbox.
    ///
    /// # Errors
    /// There is no such program, or it is too old.
    pub async fn find(setting: Option<&Path>, sandbox: Sandbox) -> Result<Self, KustomizeUnavailable> {
        let unavailable = |message: String| KustomizeUnavailable { message };
        let program = setting.map(Path::to_owned).or_else(find_in_path).ok_or_else(|| {
            unavailable(format!(
                "There is no kustomize on PATH. Install kustomize {MIN_VERSION} or newer, or set --kustomize."
            ))
        })?;
        // Landlock rules are for the file itself, and a link may point elsewhere.
        let program = std::fs::canonicalize(&program).map_err(|error| {
            unavailable(format!("{} can't be used as kustomize: {error}.", program.display()))
        })?;
        let version = read_version(&program)
            .await
            .map_err(|why| unavailable(format!("{} is no usable kustomize: {why}.", program.display())))?;
        Ok(Self(Arc::new(KustomizeProgram { program, version: format!("v{version}"), sandbox })))
    }
}

fn find_in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("kustomize")).find(|file| file.is_file())
}

/// The version that the program prints, if it is new enough.
async fn read_version(program: &Path) -> Result<Version, String> {
    let run = Command::new(program)
        .arg("version")
        .env_clear()
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(VERSION_TIMEOUT, run)
        .await
        .map_err(|_| format!("it did not print its version within {} s", VERSION_TIMEOUT.as_secs()))?
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let printed = text.trim().trim_start_matches("kustomize/").trim_start_matches('v');
    let version = Version::parse(printed).map_err(|_| format!("{:?} is no version", text.trim()))?;
    if version < MIN_VERSION {
        return Err(format!("it has version {version}; {MIN_VERSION} or newer is needed"));
    }
    Ok(version)
}
