//! `flotilla sync`: triggers an immediate reconciliation on the clusters of a workload (S1-21). It never adds a cluster.

use clap::Args;
use wire::SyncRequest;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Printer;
use crate::resources::parse_cluster_names;

/// Reconcile a workload on its clusters now
#[derive(Args)]
pub struct SyncArgs {
    /// Name of the workload
    pub workload: String,
    /// Only these clusters
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    clusters: Vec<String>,
}

impl SyncArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let clusters = parse_cluster_names(&self.clusters, "Omit the flag to sync every cluster.")?;
        let answer = remote.client.sync_workload(&self.workload, &SyncRequest { clusters }).await?;
        let plural = if answer.requested == 1 { "" } else { "s" };
        out.print_line(&format!(
            "workload/{} sync requested on {} cluster{plural}",
            self.workload, answer.requested
        ))?;
        Ok(ExitStatus::Success)
    }
}
