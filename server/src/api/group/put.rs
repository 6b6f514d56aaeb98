//! `PUT /cluster-groups/{group}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::placement::ClusterGroup;
use hub::Hub;
use wire::{GroupPut, Problem};

use super::OfGroup;
use crate::etag::{IfMatch, etag};
use crate::input::{At, Body, Caller};
use crate::problem::Refusal;

/// Makes a cluster group or replaces it; workloads that ask for it are placed anew.
#[utoipa::path(
    put,
    path = "/api/v1/cluster-groups/{group}",
    tag = "groups",
    operation_id = "groupPut",
    params(
        ("group" = String, Path),
        ("If-Match" = Option<String>, Header, description = "The ETag that was read")
    ),
    request_body = GroupPut,
    responses(
        (status = 200, body = ClusterGroup),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfGroup>,
    IfMatch(expected): IfMatch,
    Body(put): Body<GroupPut>,
) -> Result<(HeaderMap, Json<ClusterGroup>), Refusal> {
    let GroupPut { members, selector } = put;
    let group = ClusterGroup { name: of.group, members, selector, ..ClusterGroup::default() };
    let group = hub.group_save(&actor, group, expected).await?;
    Ok((etag(group.revision), Json(group)))
}
