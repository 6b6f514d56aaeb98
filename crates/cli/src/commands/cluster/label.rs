//! `flotilla cluster label`: sets and removes labels.

use clap::Args;
use wire::ClusterPatch;

use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::label_change::parse_label_changes;
use crate::output::Printer;

/// Set and remove labels of a cluster; placements that select by label are evaluated again
#[derive(Args)]
pub struct LabelArgs {
    /// Name of the cluster
    pub cluster: String,
    /// key=value sets a label, key- removes it
    #[arg(required = true, value_name = "KEY=VALUE|KEY-")]
    labels: Vec<String>,
}

impl LabelArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let patch = ClusterPatch { labels: parse_label_changes(&self.labels)?, ..ClusterPatch::default() };
        remote.client.patch_cluster(&self.cluster, &patch, None).await?;
        out.print_line(&format!("cluster/{} labeled", self.cluster))
    }
}
