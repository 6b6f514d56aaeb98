//! Where things are. `CARGO_TARGET_DIR` is honoured; everything that is built goes below it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Folders of the repository and of what is built from it.
#[derive(Clone)]
pub struct Paths {
    /// The repository.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
    /// Whether the workspace's programs are those that the tests start, instead of being built alone.
    pub with_tests: bool,
}

impl Paths {
    /// Starts from this package's own folder, so it works from any working directory.
    pub fn find() -> Result<Paths> {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask/ has no parent folder")?.to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => env::current_dir()?.join(folder),
            None => root.join("target"),
        };
        Ok(Paths { root, target, with_tests: false })
    }

    /// The console's WASM build: its own target folder, because it has another set of features.
    pub fn front(&self) -> PathBuf {
        self.target.join("front")
    }

    /// What Node builds before packing: style sheet, editor, icons, fonts.
    pub fn parts(&self) -> PathBuf {
        self.target.join("front/parts")
    }

    /// The finished site that the server reads.
    pub fn site(&self) -> PathBuf {
        self.target.join("site")
    }

    /// Logs and stamps of this tool.
    pub fn own(&self) -> PathBuf {
        self.target.join("xtask")
    }

    /// A binary of the workspace.
    pub fn bin(&self, name: &str, release: bool) -> PathBuf {
        self.target.join(if release { "release" } else { "debug" }).join(name)
    }

    /// The cargo that runs this tool, in the repository.
    pub fn cargo(&self) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        cargo.current_dir(&self.root);
        cargo
    }

    /// Any other program, in the repository.
    pub fn tool(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut tool = Command::new(program);
        tool.current_dir(&self.root);
        tool
    }
}

/// The first file of this name in `PATH`.
pub fn which(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The first line a program prints about its version.
pub fn version_of(program: &Path, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(|line| line.trim().to_owned())
}
