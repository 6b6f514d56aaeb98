//! `PUT …/workloads/{workload}/overrides/{name}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::{Hub, OverrideContent};
use wire::{OverridePut, Problem};

use super::{OfOverride, When};
use crate::etag::etag;
use crate::input::{At, Body, Caller, Query};
use crate::problem::Refusal;

/// Saves an override by its name.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
    tag = "overrides",
    operation_id = "overridePut",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("name" = String, Path),
        When
    ),
    request_body = OverridePut,
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
    Body(put): Body<OverridePut>,
) -> Result<(HeaderMap, Json<Workload>), Refusal> {
    let content = OverrideContent { target: put.target, priority: put.priority, patches: put.patches };
    let workload = hub.override_put(&actor, &of.workload, &of.name, (content, when.now)).await?;
    Ok((etag(workload.revision), Json(workload)))
}
