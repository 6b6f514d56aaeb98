//! `flotilla label`: sets and removes labels of a workload.

use clap::Args;
use wire::WorkloadPatch;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::label_change::parse_label_changes;
use crate::output::Printer;

/// Set and remove labels of a workload, by which lists are filtered; its objects are not changed
#[derive(Args)]
pub struct LabelArgs {
    /// Name of the workload
    pub workload: String,
    /// key=value sets a label, key- removes it
    #[arg(required = true, value_name = "KEY=VALUE|KEY-")]
    labels: Vec<String>,
}

impl LabelArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let patch = WorkloadPatch { labels: parse_label_changes(&self.labels)?, ..WorkloadPatch::default() };
        remote.client.patch_workload(&self.workload, &patch, None).await?;
        out.print_line(&format!("workload/{} labeled", self.workload))?;
        Ok(ExitStatus::Success)
    }
}
