//! Operations on deployments of a chart to a cluster group, with the paths and bodies of the multi-cluster deployment API
//! (S1-10 … S1-23). A deployment is a workload: every other operation works on it too.

use axum::Json;
use axum::http::StatusCode;
use domain::deployment::DeploymentResult;
use serde::Deserialize;

use crate::problem::ApiError;

pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod sync;
pub mod update;

/// Path parameters of a deployment.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentPath {
    /// Id of the cluster group.
    clustergroup: String,
    /// Name of the Helm release.
    release_name: String,
}

/// The response to a change: `success`, 202 while it is in progress, or 207 if it failed on a cluster.
fn respond(result: DeploymentResult, success: StatusCode) -> (StatusCode, Json<DeploymentResult>) {
    let status = if result.is_partial_failure() {
        StatusCode::MULTI_STATUS
    } else if result.is_in_progress() {
        StatusCode::ACCEPTED
    } else {
        success
    };
    (status, Json(result))
}

/// The problem of an error: this API answers 400 to every invalid request.
pub fn reject(error: hub::Error) -> ApiError {
    let error = ApiError::from(error);
    match error.status() {
        StatusCode::UNPROCESSABLE_ENTITY => error.with_status(StatusCode::BAD_REQUEST),
        _ => error,
    }
}
