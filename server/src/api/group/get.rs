//! `GET /cluster-groups/{group}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::placement::ClusterGroup;
use hub::Hub;
use wire::Problem;

use super::OfGroup;
use crate::etag::etag;
use crate::input::At;
use crate::problem::Refusal;

/// One cluster group.
#[utoipa::path(
    get,
    path = "/api/v1/cluster-groups/{group}",
    tag = "groups",
    operation_id = "groupGet",
    params(("group" = String, Path)),
    responses(
        (status = 200, body = ClusterGroup),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(of): At<OfGroup>,
) -> Result<(HeaderMap, Json<ClusterGroup>), Refusal> {
    let group = hub.group_view(&of.group).await?;
    Ok((etag(group.revision), Json(group)))
}
