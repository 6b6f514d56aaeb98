//! REST operation: inject fault (demo only).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::authorization::UserAction;
use wire::FaultRequest;

use crate::input::{Body, Caller, ClusterPath, Path};
use crate::problem::ApiError;
use crate::site::Site;

/// Injects a fault into a simulated cluster; returns a sentence that describes it.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/demo:injectFault",
    tag = "demo",
    request_body = FaultRequest,
    responses((status = 200, body = String, content_type = "application/json"))
)]
pub async fn inject_fault(
    State(site): State<Site>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
    Body(request): Body<FaultRequest>,
) -> Result<Json<String>, ApiError> {
    actor.authorize(UserAction::InjectFault)?;
    let controls = site.fault_controls().ok_or_else(|| ApiError::from_status(StatusCode::NOT_FOUND))?;
    if !controls.contains(&path.cluster) {
        return Err(hub::Error::not_found("cluster", path.cluster).into());
    }
    let done = controls.inject_fault(&path.cluster, &request);
    done.map(Json).map_err(|why| ApiError::new(StatusCode::CONFLICT, "FailedPrecondition", why))
}
