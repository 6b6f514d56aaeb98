//! REST operations: read and adopt a Helm release of a cluster.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use domain::helm_release::{HelmReleaseAdoption, HelmReleaseDetails};
use domain::workload::Workload;
use hub::Hub;
use serde::Deserialize;

use crate::api::workload::create::created_response;
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Path parameters of a Helm release.
#[derive(Debug, Deserialize)]
pub struct HelmReleasePath {
    cluster: String,
    namespace: String,
    release: String,
}

/// Reads the newest deployed revision of a Helm release: chart, version and values, which may contain secrets.
///
/// The agent of the cluster is asked now. A cluster that is not online or does not answer is answered with 409.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/helm-releases/{namespace}/{release}/-/read",
    tag = "clusters",
    responses((status = 200, body = HelmReleaseDetails))
)]
pub async fn read_helm_release(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<HelmReleasePath>,
) -> Result<Json<HelmReleaseDetails>, ApiError> {
    Ok(Json(hub.read_helm_release(&actor, &path.cluster, &path.namespace, &path.release).await?))
}

/// Creates a draft that continues a Helm release: its chart, version, values, namespace and name, placed on its cluster, with the policy
/// to adopt it. Nothing changes on the cluster until the draft is published.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/helm-releases/{namespace}/{release}/-/adopt",
    tag = "clusters",
    request_body = HelmReleaseAdoption,
    responses((status = 201, body = Workload, headers(("ETag"), ("Location")), description = "The workload with its draft"))
)]
pub async fn adopt_helm_release(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<HelmReleasePath>,
    Body(adoption): Body<HelmReleaseAdoption>,
) -> Result<Response, ApiError> {
    let release = (&*path.cluster, &*path.namespace, &*path.release);
    Ok(created_response(Box::pin(hub.adopt_helm_release(&actor, release, adoption)).await?))
}
