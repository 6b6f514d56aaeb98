//! `PUT …/workloads/{workload}/overrides/{name}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::OverrideId;
use domain::overrides::Override;
use domain::workload::Workload;
use hub::Hub;
use rand::Rng as _;
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
    let before = hub.workload_view(&of.workload).await?.workload.draft.overrides;
    let id = before.into_iter().find(|known| known.name == of.name).map(|known| known.id);
    let change = Override {
        id: id.unwrap_or_else(|| fresh(&hub)),
        name: of.name,
        target: put.target,
        priority: put.priority,
        patches: put.patches,
    };
    let workload = hub.override_save(&actor, &of.workload, change, when.now).await?;
    Ok((etag(workload.revision), Json(workload)))
}

fn fresh(hub: &Hub) -> OverrideId {
    OverrideId::from_parts(
        u64::try_from(hub.clock().now().millis()).unwrap_or_default(),
        rand::rng().random(),
    )
}
