//! REST operation: delete group.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use super::GroupPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Deletes a cluster group. Rejected while a workload refers to it.
#[utoipa::path(
    delete,
    path = "/api/v1/cluster-groups/{group}",
    tag = "groups",
    responses((status = 204, description = "The group is deleted"))
)]
pub async fn delete_group(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<GroupPath>,
) -> Result<StatusCode, ApiError> {
    hub.delete_group(&actor, &path.group).await?;
    Ok(StatusCode::NO_CONTENT)
}
