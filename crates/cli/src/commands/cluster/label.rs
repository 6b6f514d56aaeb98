//! `flotilla cluster label`: sets and removes labels. A change by which workloads leave is confirmed first.

use clap::Args;
use wire::ClusterPatch;

use super::affected::confirm_change;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::label_change::parse_label_changes;
use crate::output::Printer;

/// Set and remove labels of a cluster, after a confirmation if workloads would leave it
///
/// Placements that select by label are evaluated again. A workload that is no longer selected leaves the cluster after a
/// notice, within which the change can be reverted.
#[derive(Args)]
pub struct ClusterLabelArgs {
    /// Name of the cluster
    pub cluster: String,
    /// key=value sets a label, key- removes it
    #[arg(required = true, value_name = "KEY=VALUE|KEY-")]
    labels: Vec<String>,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl ClusterLabelArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let patch = ClusterPatch { labels: parse_label_changes(&self.labels)?, ..ClusterPatch::default() };
        confirm_change(remote, &self.cluster, &patch, self.confirm).await?;
        remote.client.patch_cluster(&self.cluster, &patch, None).await?;
        out.print_line(&format!("cluster/{} labeled", self.cluster))
    }
}
