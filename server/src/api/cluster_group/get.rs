//! REST operation: get cluster group.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::deployment::ClusterGroupView;
use hub::Hub;

use super::ClusterGroupPath;
use crate::etag::etag_header;
use crate::input::Path;
use crate::problem::ApiError;

/// One cluster group with its members, and its revision as ETag. A member that is no registered cluster has the status `cluster not found`.
#[utoipa::path(
    get,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}",
    tag = "cluster groups",
    responses(
        (status = 200, body = ClusterGroupView, headers(("ETag")))
    )
)]
pub async fn get_cluster_group(
    State(hub): State<Hub>,
    Path(path): Path<ClusterGroupPath>,
) -> Result<(HeaderMap, Json<ClusterGroupView>), ApiError> {
    let group = hub.get_group_view(&path.clustergroup).await?;
    Ok((etag_header(group.revision), Json(group)))
}
