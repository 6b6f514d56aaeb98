//! `flotilla project`: what holds for all workloads of the project (S2-8).

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::project::{Project, PublishApproval};
use wire::ProjectPut;

use crate::chart_source::read_values;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, sanitize};

/// The subcommands for the project.
#[derive(Subcommand)]
pub enum ProjectCommand {
    /// Show the project, with the chart values that it locks and the approval of publishes
    Get {
        #[command(flatten)]
        output: OutputArgs,
    },
    Set(SetProjectArgs),
}

/// Change the project: what it locks, with which the charts of all workloads are rendered again, and the approval of publishes
#[derive(Args)]
#[group(required = true, multiple = true)]
pub struct SetProjectArgs {
    /// File with values that charts have on every cluster, whatever a workload, an override or a group sets
    #[arg(long, value_name = "FILE")]
    locked_values: Option<PathBuf>,
    /// No locked values
    #[arg(long, conflicts_with = "locked_values")]
    no_locked_values: bool,
    /// Whether every publish has to be approved: none, anyone, anotherUser (than its publisher)
    #[arg(long, value_name = "WHO")]
    approval: Option<PublishApproval>,
}

impl ProjectCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::Get { output } => {
                let project = remote.client.get_project().await?;
                if output.format.is_machine() {
                    out.print_value(&project, output.format)?;
                } else {
                    print_project(&project, out)?;
                }
            }
            Self::Set(set) => set.run(remote, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

impl SetProjectArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let locked_values = self.locked_values.as_deref().map(read_values).transpose()?;
        let current = remote.client.get_project().await?;
        let kept = if self.no_locked_values { String::new() } else { current.locked_values };
        let put =
            ProjectPut { locked_values: locked_values.unwrap_or(kept), publish_approval: self.approval };
        // Rejected if the project was changed since it was read.
        let saved = remote.client.put_project(&put, current.revision).await?;
        out.print_line(&format!("project/{} saved", saved.name))
    }
}

fn print_project(project: &Project, out: &Printer) -> Result<(), Failure> {
    out.print_line(&format!("project/{}", project.name))?;
    let required = project.publish_approval.description();
    out.print_line(&format!("approval: every publish requires {required}"))?;
    if project.locked_values.trim().is_empty() {
        return out.print_line("locked values: none");
    }
    out.print_line("locked values:")?;
    project.locked_values.lines().try_for_each(|line| out.print_line(&format!("  {}", sanitize(line))))
}
