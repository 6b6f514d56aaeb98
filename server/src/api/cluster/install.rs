//! `POST /clusters/{cluster}:install`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::join::NewJoinToken;
use hub::Install;
use wire::{InstallManifest, InstallRequest, Problem};

use crate::input::{At, Body, Caller, OfCluster};
use crate::problem::Refusal;
use crate::site::Site;

/// Makes a token for a cluster that is to join under this name, and the manifests that install its agent. Like a token it
/// is shown this once.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/install",
    tag = "clusters",
    operation_id = "clusterInstall",
    params(("cluster" = String, Path)),
    request_body = InstallRequest,
    responses(
        (status = 201, body = InstallManifest),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(site): State<Site>,
    Caller(actor): Caller,
    At(of): At<OfCluster>,
    Body(asked): Body<InstallRequest>,
) -> Result<(StatusCode, Json<InstallManifest>), Refusal> {
    let access = site.agents()?;
    let usual = NewJoinToken::default();
    let token = NewJoinToken {
        labels: asked.labels,
        auto_accept: asked.auto_accept,
        minutes: asked.minutes.unwrap_or(usual.minutes),
        ..usual
    };
    let install = Install {
        cluster: of.cluster,
        hub: access.url.clone(),
        image: asked.image,
        namespaces: asked.namespaces,
        kinds: asked.kinds,
        cluster_wide: asked.cluster_wide,
        impersonate: asked.impersonate,
        token,
    };
    let (made, manifest) =
        site.hub().cluster_install(&actor, install, |made| access.token_text(made)).await?;
    Ok((StatusCode::CREATED, Json(InstallManifest { token: made.id, manifest })))
}
