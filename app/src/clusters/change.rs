//! Changes of a cluster by which workloads may leave it. Such a change is confirmed before it is saved.

#[cfg(feature = "ssr")]
use domain::request::ClusterPatch;

#[cfg(feature = "ssr")]
use crate::errors::AppResult;

/// A change of labels or taints as a form sent it.
#[cfg(feature = "ssr")]
pub struct PlacementChange {
    /// Name of the cluster.
    pub cluster: String,
    /// The revision of the cluster that the form was rendered from.
    pub base_revision: i64,
    /// The change.
    pub patch: ClusterPatch,
    /// Whether the user has confirmed that workloads leave.
    pub confirmed: bool,
    /// The address of the question, for a change by which workloads leave.
    pub question: String,
}

#[cfg(feature = "ssr")]
impl PlacementChange {
    /// Saves the change, or redirects to the question if workloads would leave and that is not confirmed.
    pub async fn save_or_confirm(self) -> AppResult<()> {
        use crate::{host, paths};
        let (hub, actor) = (host::hub()?, host::actor()?);
        let Self { cluster, base_revision, patch, confirmed, question } = self;
        if !confirmed {
            let preview = hub.preview_cluster_edit(&cluster, patch.clone()).await;
            let preview = host::into_app_result(preview)?;
            // What would be rejected is rejected now, and not after the question.
            if preview.findings.is_empty() && !preview.leaving.is_empty() {
                leptos_axum::redirect(&question);
                return Ok(());
            }
        }
        host::into_app_result(hub.edit_cluster(&actor, &cluster, patch, Some(base_revision)).await)?;
        leptos_axum::redirect(&paths::cluster(&cluster));
        Ok(())
    }
}
