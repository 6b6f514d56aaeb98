//! `flotilla delete`: removes a workload from its clusters and deletes it (S1-22, S1-23). On a terminal the name must be
//! typed.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use clap::Args;

use super::unpublish::RemovalArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Printer, sanitize};
use crate::wait::WaitCondition;

/// Remove a workload from its clusters and delete it, with its draft and history
#[derive(Args)]
pub struct DeleteArgs {
    /// Name of the workload
    pub workload: String,
    #[command(flatten)]
    removal: RemovalArgs,
    /// Skip the confirmation; needed without a terminal
    #[arg(short, long)]
    yes: bool,
}

impl DeleteArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        if !self.yes {
            if !io::stdin().is_terminal() {
                return Err(Failure::usage(
                    format!(
                        "Deleting {} needs a confirmation, and there is no terminal to ask on.",
                        self.workload
                    ),
                    "Add --yes to confirm it.",
                ));
            }
            self.confirm(remote, out).await?;
        }
        remote.client.delete_workload(&self.workload, &self.removal.to_request()).await?;
        out.print_line(&format!("workload/{} deleting", self.workload))?;
        self.removal.wait_for_removal(remote, &self.workload, out, WaitCondition::Deleted).await
    }

    /// Prints the affected clusters, and reads the name as a confirmation.
    async fn confirm(&self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let status = remote.client.get_workload_status(&self.workload, None).await?;
        let clusters: Vec<&str> = status
            .target_clusters
            .iter()
            .filter(|target| !target.state.is_gone())
            .map(|target| &*target.cluster_name)
            .collect();
        let objects = if self.removal.orphan {
            "Its objects are left there."
        } else {
            "Its objects there are deleted."
        };
        match clusters.len() {
            0 => out.print_note(&format!("{} runs on no cluster.", self.workload)),
            count => out.print_note(&format!(
                "{} runs on {count}: {}. {objects}",
                self.workload,
                clusters.join(", ")
            )),
        }
        let _ = write!(io::stderr(), "Type {} to delete it: ", sanitize(&self.workload));
        let _ = io::stderr().flush();
        let mut typed = String::new();
        io::stdin().lock().take(1024).read_line(&mut typed)?;
        if typed.trim() == self.workload {
            return Ok(());
        }
        Err(Failure::new("The name does not match; nothing was deleted.", ""))
    }
}
