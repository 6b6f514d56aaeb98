//! REST operation: get values.

use axum::Json;
use axum::extract::State;
use domain::values::EffectiveValues;
use hub::Hub;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::input::{Caller, Path, Query, WorkloadPath};
use crate::problem::ApiError;

/// Selects the values of one cluster.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ValuesParams {
    /// The cluster.
    cluster: String,
    /// Whether each leaf is returned with the layers that set it.
    #[serde(default)]
    #[param(required = false)]
    source: bool,
    /// The revision; the draft if omitted.
    #[param(required = false)]
    revision: Option<u32>,
}

/// The values that the chart of a workload is rendered with for one cluster. Secrets are `(hidden)` for roles that may not write the
/// layer that sets them.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/values",
    tag = "workloads",
    params(ValuesParams),
    responses((status = 200, body = EffectiveValues))
)]
pub async fn get_values(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Query(params): Query<ValuesParams>,
) -> Result<Json<EffectiveValues>, ApiError> {
    let mut values = hub.read_values(&actor, &path.workload, &params.cluster, params.revision).await?;
    if !params.source {
        values.provenance.clear();
    }
    Ok(Json(values))
}
