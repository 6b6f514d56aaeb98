//! REST operation: render workload.

use axum::extract::State;
use domain::plan::RenderedManifests;
use hub::Hub;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::content_json::ContentJson;
use crate::input::{Path, Query, WorkloadPath};
use crate::problem::ApiError;

/// Selects what is rendered.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RenderParams {
    /// The cluster, which the placement selects.
    cluster: String,
    /// The revision; the draft if omitted.
    #[param(required = false)]
    revision: Option<u32>,
}

/// The manifests of a workload as they are rendered for one cluster, in the order in which they are applied. Values of Secrets
/// are hidden.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/manifests",
    tag = "workloads",
    params(RenderParams),
    responses((status = 200, body = RenderedManifests))
)]
pub async fn render_workload(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
    Query(RenderParams { cluster, revision }): Query<RenderParams>,
) -> Result<ContentJson<RenderedManifests>, ApiError> {
    Ok(ContentJson(hub.render_workload(&path.workload, &cluster, revision).await?))
}
