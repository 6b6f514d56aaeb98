//! REST operation: put group.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::placement::ClusterGroup;
use hub::Hub;
use wire::ClusterGroupPut;

use super::GroupPath;
use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Creates or replaces a cluster group; workloads that refer to it are placed again. Without `exclusive` a group stays exclusive or not.
#[utoipa::path(
    put,
    path = "/api/v1/cluster-groups/{group}",
    tag = "groups",
    params(("If-Match" = Option<String>, Header, description = "The ETag that was read")),
    request_body = ClusterGroupPut,
    responses((status = 200, body = ClusterGroup, headers(("ETag"))))
)]
pub async fn put_group(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<GroupPath>,
    IfMatch(expected): IfMatch,
    Body(put): Body<ClusterGroupPut>,
) -> Result<(HeaderMap, Json<ClusterGroup>), ApiError> {
    let ClusterGroupPut { members, selector, exclusive, locked_values } = put;
    let name = path.group;
    let group = ClusterGroup { name, members, selector, locked_values, ..ClusterGroup::default() };
    let group = hub.put_group(&actor, group, exclusive, expected).await?;
    Ok((etag_header(group.revision), Json(group)))
}
