//! `GET …/workloads/{workload}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::WorkloadView;
use hub::Hub;
use wire::Problem;

use crate::etag::etag;
use crate::input::{At, OfWorkload};
use crate::problem::Refusal;

/// One workload with its draft, its counts and what is published. The `ETag` is that of the draft.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}",
    tag = "workloads",
    operation_id = "workloadGet",
    params(("project" = String, Path, description = "`default`"), ("workload" = String, Path)),
    responses(
        (status = 200, body = WorkloadView),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(of): At<OfWorkload>,
) -> Result<(HeaderMap, Json<WorkloadView>), Refusal> {
    let view = hub.workload_view(&of.workload).await?;
    Ok((etag(view.workload.revision), Json(view)))
}
