//! `flotilla completion`: completion scripts for shells.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::ExitStatus;
use crate::failure::Failure;

/// Print the completion script of a shell, for example: source <(flotilla completion bash)
#[derive(Args)]
pub struct CompletionArgs {
    /// Which shell
    shell: Shell,
}

impl CompletionArgs {
    /// Runs it.
    pub fn run(self) -> Result<ExitStatus, Failure> {
        // Into memory first: the generator panics if stdout is closed.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "flotilla", &mut script);
        std::io::stdout().lock().write_all(&script)?;
        Ok(ExitStatus::Success)
    }
}
