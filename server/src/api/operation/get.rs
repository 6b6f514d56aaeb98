//! REST operation: get operation.

use axum::Json;
use axum::extract::State;
use domain::OperationId;
use domain::operation::OperationView;
use hub::Hub;
use serde::Deserialize;

use crate::input::Path;
use crate::problem::ApiError;

/// Path parameters.
#[derive(Debug, Deserialize)]
pub struct OperationPath {
    /// The operation.
    operation: String,
}

/// One operation with its outcome on each cluster (S1-13).
#[utoipa::path(
    get,
    path = "/api/v1/operations/{operation}",
    tag = "operations",
    responses(
        (status = 200, body = OperationView)
    )
)]
pub async fn get_operation(
    State(hub): State<Hub>,
    Path(path): Path<OperationPath>,
) -> Result<Json<OperationView>, ApiError> {
    let id: OperationId =
        path.operation.parse().map_err(|_| hub::Error::not_found("operation", path.operation.as_str()))?;
    Ok(Json(hub.get_operation(id).await?))
}
