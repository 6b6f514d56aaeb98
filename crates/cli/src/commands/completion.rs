//! `flotilla completion`: completion scripts for shells.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::ExitStatus;
use crate::failure::Failure;

/// Print the completion script of a shell, for example: source <(flotilla completion bash)
#[derive(Args)]
pub struct CompletionArgs {
    /// Which shell
    shell: Shell,
}

impl CompletionArgs {
    /// Prints the script for this command line.
    pub fn run(self, mut command: Command) -> Result<ExitStatus, Failure> {
        // Into memory first: the generator panics if stdout is closed.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "flotilla", &mut script);
        std::io::stdout().lock().write_all(&script)?;
        Ok(ExitStatus::Success)
    }
}
