//! REST operation: create install manifest.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::join::NewJoinToken;
use hub::InstallOptions;
use wire::{InstallManifest, InstallRequest};

use crate::input::{Body, Caller, ClusterPath, Path};
use crate::problem::ApiError;
use crate::site::Site;

/// Creates a join token bound to this cluster name, and the manifests that install its agent. The manifests contain the
/// token and are returned only once.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/install",
    tag = "clusters",
    request_body = InstallRequest,
    responses((status = 201, body = InstallManifest))
)]
pub async fn create_install_manifest(
    State(site): State<Site>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
    Body(request): Body<InstallRequest>,
) -> Result<(StatusCode, Json<InstallManifest>), ApiError> {
    let access = site.agent_endpoint()?;
    let defaults = NewJoinToken::default();
    let token = NewJoinToken {
        labels: request.labels,
        auto_accept: request.auto_accept,
        minutes: request.minutes.unwrap_or(defaults.minutes),
        ..defaults
    };
    let install = InstallOptions {
        cluster: path.cluster,
        hub: access.url.clone(),
        image: request.image,
        namespaces: request.namespaces,
        kinds: request.kinds,
        cluster_wide: request.cluster_wide,
        impersonate: request.impersonate,
        token,
    };
    let (token, manifest) =
        site.hub().create_install_manifest(&actor, install, |token| access.format_join_token(token)).await?;
    Ok((StatusCode::CREATED, Json(InstallManifest { token: token.id, manifest })))
}
