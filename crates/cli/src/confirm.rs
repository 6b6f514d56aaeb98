//! The confirmation of an action that can't be undone.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use clap::Args;

use crate::failure::Failure;
use crate::output::sanitize;

/// The flag that skips the confirmation.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct ConfirmArgs {
    /// Skip the confirmation; needed without a terminal
    #[arg(short, long)]
    yes: bool,
}

impl ConfirmArgs {
    /// Whether `--yes` is given: what the action concerns does not have to be read.
    pub fn is_given(self) -> bool {
        self.yes
    }

    /// Asks on a terminal, where `effect` says what happens; without a terminal, `--yes` is required.
    pub fn confirm(self, effect: &str) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        let effect = sanitize(effect);
        if !io::stdin().is_terminal() {
            return Err(Failure::usage(
                format!("{effect} This needs a confirmation, and there is no terminal to ask on."),
                "Add --yes to confirm it.",
            ));
        }
        let _ = write!(io::stderr(), "{effect} Continue? [y/N] ");
        let _ = io::stderr().flush();
        let mut answer = String::new();
        io::stdin().lock().take(64).read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Failure::new("Not confirmed; nothing was changed.", "")),
        }
    }
}
