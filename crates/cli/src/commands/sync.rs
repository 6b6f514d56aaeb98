//! `flotilla sync`: asks clusters to compare now (S1-21). It never adds a cluster.

use clap::Args;
use wire::SyncRequest;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
use crate::remote::Remote;

/// Ask the clusters of a workload to compare and mend it now
#[derive(Args)]
pub struct Sync {
    /// Name of the workload
    pub workload: String,
    /// Only these clusters
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    clusters: Vec<String>,
}

impl Sync {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let clusters = super::named(&self.clusters, "Leave the flag out to ask every cluster.")?;
        let answer = remote.client.workload_sync(&self.workload, &SyncRequest { clusters }).await?;
        let plural = if answer.asked == 1 { "" } else { "s" };
        out.line(&format!(
            "workload/{} synced: {} cluster{plural} asked to compare",
            self.workload, answer.asked
        ))?;
        Ok(Exit::Done)
    }
}
