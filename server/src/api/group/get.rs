//! REST operation: get group.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use hub::Hub;
use wire::ClusterGroupDetails;

use super::GroupPath;
use crate::etag::etag_header;
use crate::input::Path;
use crate::problem::ApiError;

/// One cluster group. `findings` name its clusters that are in another group although one of both is exclusive.
#[utoipa::path(
    get,
    path = "/api/v1/cluster-groups/{group}",
    tag = "groups",
    responses((status = 200, body = ClusterGroupDetails, headers(("ETag"))))
)]
pub async fn get_group(
    State(hub): State<Hub>,
    Path(path): Path<GroupPath>,
) -> Result<(HeaderMap, Json<ClusterGroupDetails>), ApiError> {
    let (group, findings) = hub.get_group_with_findings(&path.group).await?;
    Ok((etag_header(group.revision), Json(ClusterGroupDetails { group, findings })))
}
