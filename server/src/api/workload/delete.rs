//! `DELETE …/workloads/{workload}`

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::workload::{DeletionPolicy, Workload};
use hub::{Hub, Removal};
use serde::Deserialize;
use utoipa::IntoParams;
use wire::Problem;

use crate::etag::etag;
use crate::input::{At, Caller, OfWorkload, Query};
use crate::problem::Refusal;

/// How it goes.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Params {
    /// `foreground` deletes the objects, `orphan` leaves them; left out, as the workload's own policy says.
    pub deletion: Option<DeletionPolicy>,
    /// Give clusters up that can't be reached; their objects stay there (S1-23).
    #[param(required = false)]
    pub force: bool,
}

/// Takes it back from every cluster and forgets it once it runs nowhere.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/workloads/{workload}",
    tag = "workloads",
    operation_id = "workloadDelete",
    params(("project" = String, Path, description = "`default`"), ("workload" = String, Path), Params),
    responses(
        (status = 202, body = Workload, description = "Under way; the status tells how far"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfWorkload>,
    Query(params): Query<Params>,
) -> Result<(StatusCode, HeaderMap, Json<Workload>), Refusal> {
    let removal = Removal { deletion: params.deletion, force: params.force };
    let workload = hub.workload_delete(&actor, &of.workload, removal).await?;
    Ok((StatusCode::ACCEPTED, etag(workload.revision), Json(workload)))
}
