//! `flotilla man`: writes the manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};

use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Printer;

/// Write a manual page for every command, for example: flotilla man --dir ~/.local/share/man/man1
#[derive(Args)]
pub struct ManArgs {
    /// The folder, which is created
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

impl ManArgs {
    /// Writes `flotilla.1` and a page for each command below it, such as `flotilla-cluster-list.1`.
    pub fn run(self, command: Command, out: &Printer) -> Result<ExitStatus, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(
                format!("The manual pages can't be written to {}: {error}.", self.dir.display()),
                "Choose a folder that you can write to.",
            )
        };
        fs::create_dir_all(&self.dir).map_err(failed)?;
        clap_mangen::generate_to(command, &self.dir).map_err(failed)?;
        out.print_line(&format!("manual pages written to {}", self.dir.display()))?;
        Ok(ExitStatus::Success)
    }
}
