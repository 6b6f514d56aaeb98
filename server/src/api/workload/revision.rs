//! REST operation: get revision.

use axum::extract::State;
use domain::plan::RevisionView;
use hub::{Hub, RevisionComparison};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::content_json::ContentJson;
use crate::input::{Caller, Path, Query, RevisionPath};
use crate::problem::ApiError;

/// What the revision is compared with.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RevisionParams {
    /// Number of another revision; the previous one if omitted.
    #[param(required = false)]
    against: Option<u32>,
    /// The cluster that both are rendered for; their manifests without overrides if omitted.
    #[param(required = false)]
    cluster: Option<String>,
}

/// One revision, and its changes against the previous or another one.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/revisions/{revision}",
    tag = "workloads",
    params(("revision" = u32, Path, description = "Its number"), RevisionParams),
    responses((status = 200, body = RevisionView))
)]
pub async fn get_revision(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<RevisionPath>,
    Query(RevisionParams { against, cluster }): Query<RevisionParams>,
) -> Result<ContentJson<RevisionView>, ApiError> {
    let comparison = RevisionComparison { against, cluster };
    Ok(ContentJson(hub.get_revision(&actor, &path.workload, path.revision, &comparison).await?))
}
