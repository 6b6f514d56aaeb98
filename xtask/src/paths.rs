//! Paths of sources and build outputs. All build outputs are below the target folder (`CARGO_TARGET_DIR`).

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Folders of the repository and of build outputs.
#[derive(Clone)]
pub struct Paths {
    /// The root of the repository.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
    /// Whether the programs of the workspace are built together with the tests instead of separately.
    pub with_tests: bool,
    /// Whether programs run with the lowest priority, beside tests that others wait for.
    pub in_background: bool,
}

impl Paths {
    /// Resolves the paths from the folder of this package, independent of the working directory.
    pub fn find() -> Result<Paths> {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask/ has no parent folder")?.to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => env::current_dir()?.join(folder),
            None => root.join("target"),
        };
        Ok(Paths::below(&root, &target))
    }

    /// Paths of this repository and this target folder.
    pub fn below(root: &Path, target: &Path) -> Paths {
        Paths { root: root.to_owned(), target: target.to_owned(), with_tests: false, in_background: false }
    }

    /// Target folder of the console's WASM build, separate because its features differ.
    pub fn wasm_target(&self) -> PathBuf {
        self.target.join("front")
    }

    /// Outputs of the Node build: style sheet, editor, icons, fonts.
    pub fn parts(&self) -> PathBuf {
        self.target.join("front/parts")
    }

    /// The packed site, which the server reads.
    pub fn site(&self) -> PathBuf {
        self.target.join("site")
    }

    /// Logs and stamps of this tool.
    pub fn xtask_folder(&self) -> PathBuf {
        self.target.join("xtask")
    }

    /// A binary of the workspace.
    pub fn binary(&self, name: &str, release: bool) -> PathBuf {
        self.target.join(if release { "release" } else { "debug" }).join(name)
    }

    /// A command for the cargo that runs this tool, in the repository.
    pub fn cargo(&self) -> Command {
        self.command(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
    }

    /// A command for another program, in the repository.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = match find_program("nice").filter(|_| self.in_background) {
            Some(nice) => {
                let mut command = Command::new(nice);
                command.args(["-n", "19"]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.current_dir(&self.root);
        command
    }
}

/// The first file with this name in `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The first line of the version output of a program.
pub fn program_version(program: &Path, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(|line| line.trim().to_owned())
}
