//! `flotilla delete`: takes a workload back and forgets it (S1-22, S1-23). On a terminal it asks for the name.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use clap::Args;

use super::unpublish::Leaving;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::Goal;
use crate::output::{Out, clean};
use crate::remote::Remote;

/// Take a workload back from its clusters and forget it, with its draft and history
#[derive(Args)]
pub struct Delete {
    /// Name of the workload
    pub workload: String,
    #[command(flatten)]
    leaving: Leaving,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

impl Delete {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        if !self.yes && io::stdin().is_terminal() {
            self.ask(remote, out).await?;
        }
        remote.client.workload_delete(&self.workload, &self.leaving.request()).await?;
        out.line(&format!("workload/{} deleting", self.workload))?;
        self.leaving.follow(remote, &self.workload, out, Goal::Forgotten).await
    }

    /// Says what will happen where, and asks for the name.
    async fn ask(&self, remote: &Remote, out: &Out) -> Result<(), Failure> {
        let status = remote.client.workload_status(&self.workload, None).await?;
        let clusters: Vec<&str> = status
            .target_clusters
            .iter()
            .filter(|target| !target.state.is_gone())
            .map(|target| &*target.cluster_name)
            .collect();
        let objects =
            if self.leaving.orphan { "Its objects stay there." } else { "Its objects there are deleted." };
        match clusters.len() {
            0 => out.note(&format!("{} runs on no cluster.", self.workload)),
            count => {
                out.note(&format!("{} runs on {count}: {}. {objects}", self.workload, clusters.join(", ")))
            }
        }
        let _ = write!(io::stderr(), "Type {} to delete it: ", clean(&self.workload));
        let _ = io::stderr().flush();
        let mut typed = String::new();
        io::stdin().lock().take(1024).read_line(&mut typed)?;
        if typed.trim() == self.workload {
            return Ok(());
        }
        Err(Failure::new("That is another name; nothing was deleted.", ""))
    }
}
