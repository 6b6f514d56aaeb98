//! Revocation of the certificates of a cluster, and its deletion.

use leptos::prelude::*;

use crate::errors::AppResult;

/// Revokes the certificates of a cluster: its agent is disconnected, its workloads keep running.
#[server(prefix = "/api/fn", endpoint = "cluster_revoke")]
pub async fn cluster_revoke(name: String) -> AppResult<()> {
    use crate::{host, paths};
    host::into_app_result(host::hub()?.revoke_cluster(&host::actor()?, &name).await)?;
    leptos_axum::redirect(&paths::below_cluster_dialog(&name, "revoke"));
    Ok(())
}

/// Deletes a cluster; with `force` also one with workloads, which are left running there.
#[server(prefix = "/api/fn", endpoint = "cluster_delete")]
pub async fn cluster_delete(
    name: String,
    confirmed_name: String,
    #[server(default)] force: bool,
) -> AppResult<()> {
    use crate::{errors::AppError, host, paths};
    let (hub, actor) = (host::hub()?, host::actor()?);
    if confirmed_name != name {
        let why = domain::Finding::error(
            "G505",
            "The typed name is not the name of the cluster.",
            format!("Type {name} to delete it."),
        );
        return Err(host::with_status(AppError::from_finding(why)));
    }
    host::into_app_result(hub.delete_cluster(&actor, &name, force).await)?;
    leptos_axum::redirect(paths::CLUSTERS);
    Ok(())
}
