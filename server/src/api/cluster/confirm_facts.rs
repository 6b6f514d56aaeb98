//! REST operation: confirm the facts of a cluster.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::cluster::{Cluster, ConfirmedFacts};
use hub::Hub;

use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// Confirms the facts that the cluster reports, so that placement uses them; rejected if it reports others by now.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/confirmFacts",
    tag = "clusters",
    params(("If-Match" = Option<String>, Header, description = "The ETag that was read")),
    request_body = ConfirmedFacts,
    responses((status = 200, body = Cluster, headers(("ETag"))))
)]
pub async fn confirm_facts(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
    IfMatch(revision): IfMatch,
    Body(facts): Body<ConfirmedFacts>,
) -> Result<(HeaderMap, Json<Cluster>), ApiError> {
    let cluster = hub.confirm_cluster_facts(&actor, &path.cluster, facts, revision).await?;
    Ok((etag_header(cluster.revision), Json(cluster)))
}
