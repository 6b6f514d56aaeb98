//! `DELETE …/workloads/{workload}/overrides/{name}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::Hub;
use wire::Problem;

use super::{OfOverride, When};
use crate::etag::etag;
use crate::input::{At, Caller, Query};
use crate::problem::Refusal;

/// Removes an override by its name.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
    tag = "overrides",
    operation_id = "overrideDelete",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("name" = String, Path),
        When
    ),
    responses(
        (status = 200, body = Workload),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfOverride>,
    Query(when): Query<When>,
) -> Result<(HeaderMap, Json<Workload>), Refusal> {
    let workload = hub.override_delete(&actor, &of.workload, &of.name, when.now).await?;
    Ok((etag(workload.revision), Json(workload)))
}
