//! `flotilla unpublish`: removes a workload from its clusters; the draft stays (S0-1, R-7).

use clap::Args;
use domain::workload::DeletionPolicy;
use wire::RemovalOptions;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Printer;
use crate::wait::{WaitCondition, WaitTimeout, WorkloadWait};

/// Remove a workload from its clusters; the draft stays
#[derive(Args)]
pub struct UnpublishArgs {
    /// Name of the workload
    pub workload: String,
    #[command(flatten)]
    removal: RemovalArgs,
}

/// The flags of a removal.
#[derive(Args)]
pub struct RemovalArgs {
    /// Wait until it runs on no cluster
    #[arg(short, long)]
    pub wait: bool,
    /// With --wait: timeout, such as 30s, 5m or none
    #[arg(long, default_value = "none", value_name = "TIME")]
    pub timeout: WaitTimeout,
    /// Orphan the objects: leave them on the clusters, delete only the record
    #[arg(long)]
    pub orphan: bool,
    /// Abandon unreachable clusters; they remove their objects when they return
    #[arg(long)]
    pub force: bool,
}

impl RemovalArgs {
    /// The request with these flags.
    pub fn to_request(&self) -> RemovalOptions {
        RemovalOptions { deletion: self.orphan.then_some(DeletionPolicy::Orphan), force: self.force }
    }

    /// Waits for the condition, if `--wait` is set.
    pub async fn wait_for_removal(
        &self,
        remote: &ServerConnection,
        workload: &str,
        out: &Printer,
        condition: WaitCondition,
    ) -> Result<ExitStatus, Failure> {
        if !self.wait {
            return Ok(ExitStatus::Success);
        }
        let follow = WorkloadWait { client: &remote.client, workload, timeout: self.timeout, condition };
        let ended = follow.run(out).await?;
        if ended.exit == ExitStatus::Success {
            let remaining = if self.orphan {
                "Its objects stay there, no longer managed."
            } else {
                "Namespaces that Flotilla created and volume claims of StatefulSets remain."
            };
            out.print_note(&format!(
                "{workload} is removed from all clusters ({}). {remaining}",
                ended.elapsed_text()
            ));
        }
        ended.to_result(workload, "removal", out)
    }
}

impl UnpublishArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        remote.client.unpublish_workload(&self.workload, &self.removal.to_request()).await?;
        out.print_line(&format!("workload/{} unpublished", self.workload))?;
        self.removal.wait_for_removal(remote, &self.workload, out, WaitCondition::Undeployed).await
    }
}
