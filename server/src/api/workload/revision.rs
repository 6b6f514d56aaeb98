//! `GET …/workloads/{workload}/revisions/{revision}`

use axum::Json;
use axum::extract::State;
use domain::plan::RevisionView;
use hub::Hub;
use wire::Problem;

use crate::input::{At, OfRevision};
use crate::problem::Refusal;

/// One revision, and what it changed against the one before it.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/revisions/{revision}",
    tag = "workloads",
    operation_id = "workloadRevision",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("revision" = u32, Path, description = "Its number")
    ),
    responses(
        (status = 200, body = RevisionView),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(State(hub): State<Hub>, At(of): At<OfRevision>) -> Result<Json<RevisionView>, Refusal> {
    Ok(Json(hub.workload_revision(&of.workload, of.revision).await?))
}
