//! `flotilla cluster cordon` and `uncordon`: whether a cluster gets new workloads.

use wire::ClusterPatch;

use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::Printer;

/// Sets whether the cluster gets new workloads.
pub async fn set_schedulable(
    remote: &ServerConnection,
    cluster: &str,
    schedulable: bool,
    out: &Printer,
) -> Result<(), Failure> {
    let patch = ClusterPatch { schedulable: Some(schedulable), ..ClusterPatch::default() };
    remote.client.patch_cluster(cluster, &patch, None).await?;
    let word = if schedulable { "uncordoned" } else { "cordoned" };
    out.print_line(&format!("cluster/{cluster} {word}"))
}
