//! `GET …/workloads/{workload}/releases/{cluster}`

use axum::Json;
use axum::extract::State;
use domain::release::ReleaseView;
use hub::Hub;
use serde::Deserialize;
use wire::Problem;

use crate::input::At;
use crate::problem::Refusal;

/// A workload on a cluster.
#[derive(Debug, Deserialize)]
pub struct OfRelease {
    /// The workload.
    workload: String,
    /// The cluster.
    cluster: String,
}

/// One release with its resources.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/releases/{cluster}",
    tag = "releases",
    operation_id = "releaseGet",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("cluster" = String, Path)
    ),
    responses(
        (status = 200, body = ReleaseView),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(State(hub): State<Hub>, At(of): At<OfRelease>) -> Result<Json<ReleaseView>, Refusal> {
    Ok(Json(hub.release_view(&of.workload, &of.cluster).await?))
}
