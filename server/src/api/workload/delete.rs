//! REST operation: delete workload.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::workload::{DeletionPolicy, Workload};
use hub::{Hub, RemovalOptions};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::etag::etag_header;
use crate::input::{Caller, Path, Query, WorkloadPath};
use crate::problem::ApiError;

/// Query parameters.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteWorkloadQuery {
    /// `foreground` deletes the objects, `orphan` leaves them; by default the workload's own policy applies.
    pub deletion: Option<DeletionPolicy>,
    /// Don't wait for clusters that can't be reached; their objects stay there (S1-23).
    #[param(required = false)]
    pub force: bool,
}

/// Removes the workload from every cluster and deletes it once no release is left.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/workloads/{workload}",
    tag = "workloads",
    params(DeleteWorkloadQuery),
    responses((status = 202, body = Workload, description = "In progress; see the status"))
)]
pub async fn delete_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Query(params): Query<DeleteWorkloadQuery>,
) -> Result<(StatusCode, HeaderMap, Json<Workload>), ApiError> {
    let removal = RemovalOptions { deletion: params.deletion, force: params.force };
    let workload = hub.delete_workload(&actor, &path.workload, removal).await?;
    Ok((StatusCode::ACCEPTED, etag_header(workload.revision), Json(workload)))
}
