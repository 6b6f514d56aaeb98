//! `flotilla cluster cordon` and `uncordon`: whether a cluster takes new workloads.

use wire::ClusterPatch;

use crate::failure::Failure;
use crate::output::Out;
use crate::remote::Remote;

/// Says whether the cluster takes new workloads.
pub async fn set(remote: &Remote, cluster: &str, schedulable: bool, out: &Out) -> Result<(), Failure> {
    let patch = ClusterPatch { schedulable: Some(schedulable), ..ClusterPatch::default() };
    remote.client.cluster_patch(cluster, &patch, None).await?;
    let word = if schedulable { "uncordoned" } else { "cordoned" };
    out.line(&format!("cluster/{cluster} {word}"))
}
