//! `GET …/workloads/{workload}/rollout`

use axum::Json;
use axum::extract::State;
use domain::rollout::Rollout;
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::Problem;

use crate::input::{At, OfWorkload, Query};
use crate::problem::Refusal;

/// Whose rollout.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Of {
    /// Number of the revision; left out, the published one.
    revision: Option<u32>,
}

/// How a revision goes through its waves; none if it went everywhere at once.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/rollout",
    tag = "rollouts",
    operation_id = "rolloutGet",
    params(("project" = String, Path, description = "`default`"), ("workload" = String, Path), Of),
    responses(
        (status = 200, body = Rollout),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(of): At<OfWorkload>,
    Query(which): Query<Of>,
) -> Result<Json<Rollout>, Refusal> {
    let found = hub.rollout_view(&of.workload, which.revision).await?;
    let rollout = found.ok_or_else(|| hub::Error::not_found("rollout", format!("of {}", of.workload)))?;
    Ok(Json(rollout))
}
