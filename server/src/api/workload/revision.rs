//! REST operation: get revision.

use axum::Json;
use axum::extract::State;
use domain::plan::RevisionView;
use hub::Hub;

use crate::input::{Path, RevisionPath};
use crate::problem::ApiError;

/// One revision, and its changes against the one before.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/revisions/{revision}",
    tag = "workloads",
    params(("revision" = u32, Path, description = "Its number")),
    responses((status = 200, body = RevisionView))
)]
pub async fn get_revision(
    State(hub): State<Hub>,
    Path(path): Path<RevisionPath>,
) -> Result<Json<RevisionView>, ApiError> {
    Ok(Json(hub.get_revision(&path.workload, path.revision).await?))
}
