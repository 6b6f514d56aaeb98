//! `DELETE /clusters/{cluster}`

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::Problem;

use crate::input::{At, Caller, OfCluster, Query};
use crate::problem::Refusal;

/// How it is forgotten.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Params {
    /// `true`: also if something is left on it; what runs there is left alone.
    #[param(required = false)]
    pub force: bool,
}

/// Forgets a cluster on which nothing is left; with `force`, any.
#[utoipa::path(
    delete,
    path = "/api/v1/clusters/{cluster}",
    tag = "clusters",
    operation_id = "clusterDelete",
    params(("cluster" = String, Path), Params),
    responses(
        (status = 204, description = "It is forgotten"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfCluster>,
    Query(params): Query<Params>,
) -> Result<StatusCode, Refusal> {
    hub.cluster_delete(&actor, &of.cluster, params.force).await?;
    Ok(StatusCode::NO_CONTENT)
}
