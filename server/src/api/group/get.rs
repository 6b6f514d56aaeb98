//! REST operation: get group.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::placement::GroupView;
use hub::Hub;

use super::GroupPath;
use crate::etag::etag_header;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// One cluster group. `missing` are static members that are no registered clusters, `matching` is how many clusters its selector matches,
/// `usedBy` are the workloads that refer to it, and `findings` name its clusters that are in another group although one of both is
/// exclusive.
#[utoipa::path(
    get,
    path = "/api/v1/cluster-groups/{group}",
    tag = "groups",
    responses((status = 200, body = GroupView, headers(("ETag"))))
)]
pub async fn get_group(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<GroupPath>,
) -> Result<(HeaderMap, Json<GroupView>), ApiError> {
    let view = hub.get_group_details(&path.group).await?;
    let view = hub.hide_secrets(&actor, view).await?;
    Ok((etag_header(view.group.revision), Json(view)))
}
