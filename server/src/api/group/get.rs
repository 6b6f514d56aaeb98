//! REST operation: get group.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::placement::ClusterGroup;
use hub::Hub;

use super::GroupPath;
use crate::etag::etag_header;
use crate::input::Path;
use crate::problem::ApiError;

/// One cluster group.
#[utoipa::path(
    get,
    path = "/api/v1/cluster-groups/{group}",
    tag = "groups",
    responses((status = 200, body = ClusterGroup, headers(("ETag"))))
)]
pub async fn get_group(
    State(hub): State<Hub>,
    Path(path): Path<GroupPath>,
) -> Result<(HeaderMap, Json<ClusterGroup>), ApiError> {
    let group = hub.get_group(&path.group).await?;
    Ok((etag_header(group.revision), Json(group)))
}
