//! `flotilla suspend`: applies, reverts and deletes nothing of a workload until it is resumed (S2-11).

use clap::Args;
use domain::suspension::SuspendRequest;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Printer, sanitize};
use crate::resources::parse_cluster_names;

/// Pause a workload: nothing of it is applied, reverted or deleted until it is resumed
///
/// Drift is still reported, and what is published meanwhile waits. It is no removal: everything stays as it is on the clusters.
#[derive(Args)]
pub struct SuspendArgs {
    /// Name of the workload
    pub workload: String,
    /// Why, for those who find it suspended
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Only on these clusters [default: all, also those that it is placed on later]
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    clusters: Vec<String>,
}

impl SuspendArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let clusters = parse_cluster_names(&self.clusters, "Omit the flag to suspend it on every cluster.")?;
        let request = SuspendRequest { reason: self.reason, clusters };
        remote.client.suspend_workload(&self.workload, &request).await?;
        let place = match request.clusters.as_slice() {
            [] => String::new(),
            names => format!(" on {}", sanitize(&names.join(", "))),
        };
        out.print_line(&format!("workload/{} suspended{place}", self.workload))?;
        out.print_note(&format!(
            "See what a resume changes with: flotilla resume {} --dry-run",
            self.workload
        ));
        Ok(ExitStatus::Success)
    }
}
