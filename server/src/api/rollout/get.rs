//! REST operation: get rollout.

use axum::Json;
use axum::extract::State;
use domain::rollout::Rollout;
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{Path, Query, WorkloadPath};
use crate::problem::ApiError;

/// Query parameters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RolloutQuery {
    /// Number of the revision; by default the published one.
    revision: Option<u32>,
}

/// Progress of a revision through its waves; 404 if it was published without waves.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/rollout",
    tag = "rollouts",
    params(RolloutQuery),
    responses((status = 200, body = Rollout))
)]
pub async fn get_rollout(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
    Query(query): Query<RolloutQuery>,
) -> Result<Json<Rollout>, ApiError> {
    let found = hub.get_rollout(&path.workload, query.revision).await?;
    let rollout = found.ok_or_else(|| hub::Error::not_found("rollout of workload", &path.workload))?;
    Ok(Json(rollout))
}
