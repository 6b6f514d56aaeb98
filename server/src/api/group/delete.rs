//! `DELETE /cluster-groups/{group}`

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::Problem;

use super::OfGroup;
use crate::input::{At, Caller};
use crate::problem::Refusal;

/// Forgets a cluster group. Refused while a workload asks for it.
#[utoipa::path(
    delete,
    path = "/api/v1/cluster-groups/{group}",
    tag = "groups",
    operation_id = "groupDelete",
    params(("group" = String, Path)),
    responses(
        (status = 204, description = "It is forgotten"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfGroup>,
) -> Result<StatusCode, Refusal> {
    hub.group_delete(&actor, &of.group).await?;
    Ok(StatusCode::NO_CONTENT)
}
