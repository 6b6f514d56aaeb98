//! `flotilla sync`: triggers an immediate reconciliation on the clusters of workloads (S1-21). It never adds a cluster.

use clap::Args;
use wire::SyncRequest;

use crate::bulk::{WorkloadNames, run_for_each};
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Printer, pluralize};
use crate::resources::parse_cluster_names;

/// Reconcile workloads on their clusters now
#[derive(Args)]
pub struct SyncArgs {
    #[command(flatten)]
    pub workloads: WorkloadNames,
    /// Only these clusters
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    clusters: Vec<String>,
}

impl SyncArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let clusters = parse_cluster_names(&self.clusters, "Omit the flag to sync every cluster.")?;
        let names = self.workloads.resolve(remote).await?;
        let request = SyncRequest { clusters };
        run_for_each(&names, remote, out, async |name| {
            let answer = remote.client.sync_workload(name, &request).await?;
            let noun = pluralize(answer.requested as usize, "cluster");
            out.print_line(&format!("workload/{name} sync requested on {} {noun}", answer.requested))?;
            Ok(ExitStatus::Success)
        })
        .await
    }
}
