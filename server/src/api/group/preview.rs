//! REST operation: preview group.

use axum::Json;
use axum::extract::State;
use domain::placement::{ClusterGroup, GroupPreview};
use hub::Hub;
use wire::ClusterGroupPut;

use super::GroupPath;
use crate::input::{Body, Path};
use crate::problem::ApiError;

/// What it would do to save this group: which clusters join and leave it, and which published workloads would come to clusters
/// or leave them. `findings` say why it would be rejected. Stores nothing.
#[utoipa::path(
    post,
    path = "/api/v1/cluster-groups/{group}/-/preview",
    tag = "groups",
    request_body = ClusterGroupPut,
    responses((status = 200, body = GroupPreview))
)]
pub async fn preview_group(
    State(hub): State<Hub>,
    Path(path): Path<GroupPath>,
    Body(put): Body<ClusterGroupPut>,
) -> Result<Json<GroupPreview>, ApiError> {
    let ClusterGroupPut { members, selector, exclusive, locked_values } = put;
    let name = path.group;
    let exclusive = match exclusive {
        Some(exclusive) => exclusive,
        None => hub.is_exclusive_group(&name).await?,
    };
    let group = ClusterGroup { name, members, selector, exclusive, locked_values, ..ClusterGroup::default() };
    Ok(Json(hub.preview_group(group).await?))
}
