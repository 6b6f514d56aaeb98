//! `flotilla retain`: retains a workload on clusters that no longer match its placement (E-6).

use clap::Args;
use wire::RetainRequest;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Printer, sanitize};
use crate::resources::parse_cluster_names;

/// Cancel the pending removal of a workload from clusters
///
/// When labels or taints of a cluster change and the placement no longer matches, the workload is removed after 15 minutes.
/// This command retains it until the next publish; "flotilla explain placement" lists the pending removals.
#[derive(Args)]
pub struct RetainArgs {
    /// Name of the workload
    pub workload: String,
    /// The clusters [default: all with a pending removal]
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    clusters: Vec<String>,
}

impl RetainArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let clusters = parse_cluster_names(&self.clusters, "Omit the flag to cancel all pending removals.")?;
        let answer = remote.client.retain_workload(&self.workload, &RetainRequest { clusters }).await?;
        let Self { workload, .. } = self;
        out.print_line(&match answer.retained.as_slice() {
            [] => format!("workload/{workload} unchanged: already retained there"),
            names => {
                format!(
                    "workload/{workload} retained on {} until the next publish",
                    sanitize(&names.join(", "))
                )
            }
        })?;
        Ok(ExitStatus::Success)
    }
}
