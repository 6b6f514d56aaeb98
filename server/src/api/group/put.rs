//! `PUT /cluster-groups/{group}`

use axum::Json;
use axum::extract::State;
use domain::placement::ClusterGroup;
use hub::Hub;
use wire::{GroupPut, Problem};

use super::OfGroup;
use crate::input::{At, Body, Caller};
use crate::problem::Refusal;

/// Makes a cluster group or replaces it; workloads that ask for it are placed anew.
#[utoipa::path(
    put,
    path = "/api/v1/cluster-groups/{group}",
    tag = "groups",
    operation_id = "groupPut",
    params(("group" = String, Path)),
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
    Body(put): Body<GroupPut>,
) -> Result<Json<ClusterGroup>, Refusal> {
    let group = ClusterGroup { name: of.group, members: put.members, selector: put.selector };
    Ok(Json(hub.group_save(&actor, group).await?))
}
