//! `flotilla keep`: leaves a workload on clusters that no longer match it (E-6).

use clap::Args;
use wire::KeepRequest;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, clean};
use crate::remote::Remote;

/// Keep a workload on clusters that are about to lose it
///
/// A cluster whose labels or taints change keeps what no longer matches for 15 minutes. This leaves it there until the next
/// publish; "flotilla explain placement" says which clusters are about to lose it, and why.
#[derive(Args)]
pub struct Keep {
    /// Name of the workload
    pub workload: String,
    /// The clusters; all that are about to lose it if left out
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    clusters: Vec<String>,
}

impl Keep {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let clusters =
            super::named(&self.clusters, "Leave the flag out to keep it wherever it is about to leave.")?;
        let answer = remote.client.workload_keep(&self.workload, &KeepRequest { clusters }).await?;
        let Self { workload, .. } = self;
        out.line(&match answer.kept.as_slice() {
            [] => format!("workload/{workload} was kept there already"),
            kept => format!("workload/{workload} kept on {} until the next publish", clean(&kept.join(", "))),
        })?;
        Ok(Exit::Done)
    }
}
