//! Which workloads a change of a cluster concerns: the confirmation names them.

use wire::ClusterPatch;

use crate::bulk::count;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::join_names;
use crate::pages::list_all_pages;

/// Asks before a change by which workloads leave the cluster.
///
/// # Errors
/// It is not confirmed; what would leave is not known.
pub async fn confirm_change(
    remote: &ServerConnection,
    cluster: &str,
    patch: &ClusterPatch,
    confirm: ConfirmArgs,
) -> Result<(), Failure> {
    if confirm.is_given() {
        return Ok(());
    }
    let preview = remote.client.preview_cluster(cluster, patch).await?;
    if preview.leaving.is_empty() {
        return Ok(());
    }
    let minutes = preview.removal_notice_minutes;
    confirm.confirm(&format!(
        "{} would leave {cluster} after {minutes} minutes: {}.",
        count(preview.leaving.len(), "workload"),
        join_names(&preview.leaving)
    ))
}

/// The workloads with a release on the cluster, as the beginning of a sentence about them.
///
/// # Errors
/// They can't be read.
pub async fn describe_workloads(remote: &ServerConnection, cluster: &str) -> Result<String, Failure> {
    let releases =
        list_all_pages(async |query| remote.client.list_cluster_releases(cluster, &query).await).await?;
    let present = releases.into_iter().filter(|view| !view.release.last_known_state().is_gone());
    let mut names: Vec<String> = present.map(|view| view.workload_name).collect();
    names.sort();
    Ok(match names.len() {
        0 => "No workload has a release there.".to_owned(),
        1 => format!("1 workload has a release there: {}.", names[0]),
        several => format!("{several} workloads have a release there: {}.", join_names(&names)),
    })
}
